//! The agent's questions and notices, in the words of the front's dialect.

use std::sync::{Arc, Mutex};

use agentese::any::{Agent, Answer, Asked, Event, Question};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Pair, soon};

/// A person who answers what is asked, and remembers it.
#[derive(Clone, Default)]
struct Person(Arc<Mutex<Vec<Question>>>);

impl Asked for Person {
    fn ask(&self, question: Question) -> BoxFuture<'static, Option<Answer>> {
        let answer = match question.kind.as_str() {
            "select" if question.options.iter().any(|option| option == "green") => {
                Some(Answer::Text("green".to_owned()))
            }
            // Yes or no, in a dialect that has only choices.
            "select" => question.options.first().cloned().map(Answer::Text),
            "confirm" => Some(Answer::Confirmed(true)),
            "input" => Some(Answer::Text("moss".to_owned())),
            _ => None,
        };
        self.0.lock().unwrap().push(question);
        async { answer }.boxed()
    }
}

impl Person {
    /// The titles and texts of what was asked.
    fn heard(&self) -> Vec<String> {
        let asked = self.0.lock().unwrap();
        let words =
            |question: &Question| format!("{} {}", question.title, question.text.clone().unwrap_or_default());
        asked.iter().map(words).collect()
    }
}

/// An agent whose extension shows every dialog, behind a front of that dialect.
async fn asking(front: &'static str, person: &Person) -> (Agent, Pair) {
    let extension = concat!(env!("CARGO_MANIFEST_DIR"), "/../extensions/examples/python/dialogs.py");
    let mut pair = Pair::new(front, "pi");
    pair.more = vec!["--extension".to_owned(), extension.to_owned()];
    (pair.connect(person.clone()).await, pair)
}

/// Has the extension ask, until it says that that is all.
async fn ask(agent: &Agent) {
    let mut events = agent.events();
    let run = soon("the command", agent.prompt("/dialogs")).await;
    loop {
        let event = soon("a notice", events.next()).await.unwrap().unwrap();
        if matches!(&event, Event::Notice { notice } if notice.text.contains("That is all.")) {
            break;
        }
    }
    drop(run);
}

#[tokio::test]
async fn what_extensions_ask_is_asked_and_answered_in_the_words_of_the_front() {
    for front in ["omp", "pi@1.5"] {
        let person = Person::default();
        let (agent, _pair) = asking(front, &person).await;
        ask(&agent).await;
        let heard = person.heard();
        let [colour, sure, name, text] = &heard[..] else { panic!("{front}: {heard:?}") };
        assert!(colour.contains("Which colour?"), "{front}: {heard:?}");
        // Its words have what was chosen before.
        assert!(sure.contains("Sure?") && sure.contains("It will be green."), "{front}: {heard:?}");
        assert!(name.contains("What is it called?"), "{front}: {heard:?}");
        assert!(text.contains("Describe it"), "{front}: {heard:?}");
        soon("the end", agent.close()).await;
    }
}

#[tokio::test]
async fn a_dialog_that_the_front_lacks_is_dismissed() {
    let person = Person::default();
    let (agent, _pair) = asking("operator", &person).await;
    // Nobody is asked, and the extension goes on: its command is over, and the agent takes a prompt.
    if let Ok(run) = soon("the command", agent.prompt("/dialogs")).await {
        let _ = soon("its end", run.result()).await;
    }
    let (text, _) = super::said(&agent, "hello").await;
    assert_eq!(text, "Hello there");
    assert!(person.heard().is_empty(), "{:?}", person.heard());
    soon("the end", agent.close()).await;
}
