//! Tests of questions and notices of the agent, in the client's dialect.

use std::sync::{Arc, Mutex};

use agentese::any::{Agent, Answer, Event, Question, QuestionHandler};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Pair, soon};

/// Simulated user, who answers every question. All questions are recorded.
#[derive(Clone, Default)]
struct FakeUser(Arc<Mutex<Vec<Question>>>);

impl QuestionHandler for FakeUser {
    fn answer(&self, question: Question) -> BoxFuture<'static, Option<Answer>> {
        let answer = match question.kind.as_str() {
            "select" if question.options.iter().any(|option| option == "green") => {
                Some(Answer::Text("green".to_owned()))
            }
            // In a dialect that has only choices, yes and no are options.
            "select" => question.options.first().cloned().map(Answer::Text),
            "confirm" => Some(Answer::Confirmed(true)),
            "input" => Some(Answer::Text("moss".to_owned())),
            _ => None,
        };
        self.0.lock().unwrap().push(question);
        async { answer }.boxed()
    }
}

impl FakeUser {
    /// Returns the titles and texts of the questions.
    fn questions(&self) -> Vec<String> {
        let asked = self.0.lock().unwrap();
        let words =
            |question: &Question| format!("{} {}", question.title, question.text.clone().unwrap_or_default());
        asked.iter().map(words).collect()
    }
}

/// Connects a client of the dialect `front` to an agent with an extension that opens every kind of dialog.
async fn connect_with_dialogs(front: &'static str, user: &FakeUser) -> (Agent, Pair) {
    let extension = concat!(env!("CARGO_MANIFEST_DIR"), "/../extensions/examples/python/dialogs.py");
    let mut pair = Pair::new(front, "pi");
    pair.agent_arguments = vec!["--extension".to_owned(), extension.to_owned()];
    (pair.connect(user.clone()).await, pair)
}

/// Runs the extension's command that opens the dialogs. Waits for its last notice.
async fn run_dialogs(agent: &Agent) {
    let mut events = agent.events();
    let run = soon("the command", agent.prompt("/dialogs")).await;
    loop {
        let event = soon("a notice", events.next()).await.unwrap().unwrap();
        if matches!(&event, Event::NoticeAdded { notice } if notice.text.contains("That is all.")) {
            break;
        }
    }
    drop(run);
}

#[tokio::test]
async fn extension_questions_use_the_dialect_of_the_front() {
    for front in ["omp", "pi@1.5"] {
        let user = FakeUser::default();
        let (agent, _pair) = connect_with_dialogs(front, &user).await;
        run_dialogs(&agent).await;
        let questions = user.questions();
        let [colour, sure, name, text] = &questions[..] else { panic!("{front}: {questions:?}") };
        assert!(colour.contains("Which colour?"), "{front}: {questions:?}");
        // The text of the question contains the previous choices.
        assert!(sure.contains("Sure?") && sure.contains("It will be green."), "{front}: {questions:?}");
        assert!(name.contains("What is it called?"), "{front}: {questions:?}");
        assert!(text.contains("Describe it"), "{front}: {questions:?}");
        soon("the end", agent.close()).await;
    }
}

#[tokio::test]
async fn a_dialog_that_the_front_lacks_is_dismissed() {
    let user = FakeUser::default();
    let (agent, _pair) = connect_with_dialogs("operator", &user).await;
    // No user is prompted, and the extension continues. Its command ends, and the agent accepts another
    // prompt.
    if let Ok(run) = soon("the command", agent.prompt("/dialogs")).await {
        let _ = soon("its end", run.result()).await;
    }
    let (text, _) = super::run_prompt(&agent, "hello").await;
    assert_eq!(text, "Hello there");
    assert!(user.questions().is_empty(), "{:?}", user.questions());
    soon("the end", agent.close()).await;
}
