//! The agent's questions: interrupts of a run, which the next run answers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentese::any::{Answer, Asked, Question};
use agentese::types::{AguiInterrupt, AguiResume, AguiResumeStatus};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::{oneshot, watch};

/// The open questions of an agent.
#[derive(Clone)]
pub(super) struct Questions(Arc<Desk>);

struct Desk {
    /// The prefix of the ids of questions.
    tag: String,
    state: Mutex<State>,
    count: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    asked: u64,
    open: Vec<Open>,
}

struct Open {
    id: String,
    question: Question,
    answer: oneshot::Sender<Option<Answer>>,
}

impl Questions {
    pub fn new(tag: String) -> Self {
        Self(Arc::new(Desk { tag, state: Mutex::default(), count: watch::Sender::new(0) }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn counted(&self, state: &State) {
        self.0.count.send_replace(state.open.len());
    }

    /// Completes when a question is open.
    pub async fn wait(&self) {
        let mut count = self.0.count.subscribe();
        let _ = count.wait_for(|count| *count > 0).await;
    }

    /// Returns the open questions as interrupts, for the end of a run.
    pub fn interrupts(&self) -> Vec<AguiInterrupt> {
        self.state().open.iter().map(|open| interrupt(&open.id, &open.question)).collect()
    }

    /// Passes answers to the waiting questions, or no answer at all if one of them does not fit its question. Returns
    /// the ids of answers whose question is no longer open.
    pub fn answer(&self, answers: &[AguiResume]) -> Result<Vec<String>, String> {
        let mut state = self.state();
        let mut fitting = Vec::new();
        let mut late = Vec::new();
        for given in answers {
            match state.open.iter().find(|open| open.id == given.interrupt_id) {
                Some(open) => fitting.push((open.id.clone(), fits(&open.question, given)?)),
                None => late.push(given.interrupt_id.clone()),
            }
        }
        for (id, answer) in fitting {
            if let Some(place) = state.open.iter().position(|open| open.id == id) {
                let _ = state.open.remove(place).answer.send(answer);
            }
        }
        self.counted(&state);
        Ok(late)
    }

    /// Dismisses the open questions.
    pub fn dismiss(&self) {
        let mut state = self.state();
        state.open.clear();
        self.counted(&state);
    }

    /// Dismisses all questions while the future is polled.
    pub async fn dismiss_all(&self) {
        loop {
            self.dismiss();
            self.wait().await;
        }
    }
}

impl Asked for Questions {
    fn ask(&self, question: Question) -> BoxFuture<'static, Option<Answer>> {
        let (answer, given) = oneshot::channel();
        let mut state = self.state();
        state.asked += 1;
        let id = format!("{}-question-{}", self.0.tag, state.asked);
        state.open.push(Open { id: id.clone(), question, answer });
        self.counted(&state);
        drop(state);
        let waiting = Waiting { questions: self.clone(), id };
        async move {
            let answer = given.await.ok().flatten();
            drop(waiting);
            answer
        }
        .boxed()
    }
}

/// A question with a waiting caller. Dropped when the agent withdraws the question.
struct Waiting {
    questions: Questions,
    id: String,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut state = self.questions.state();
        state.open.retain(|open| open.id != self.id);
        self.questions.counted(&state);
    }
}

fn is_yes_or_no(question: &Question) -> bool {
    question.kind == "confirm"
}

fn interrupt(id: &str, question: &Question) -> AguiInterrupt {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), if is_yes_or_no(question) { "boolean" } else { "string" }.into());
    if !question.options.is_empty() {
        schema.insert("enum".to_owned(), question.options.clone().into());
    }
    if let Some(prefill) = &question.prefill {
        schema.insert("default".to_owned(), prefill.as_str().into());
    }
    if question.secret {
        schema.insert("writeOnly".to_owned(), true.into());
    }
    let mut interrupt = AguiInterrupt::new(id, &question.kind);
    let words = [Some(question.title.as_str()), question.text.as_deref()];
    let words: Vec<&str> = words.into_iter().flatten().filter(|words| !words.is_empty()).collect();
    interrupt.message = Some(words.join("\n")).filter(|words| !words.is_empty());
    interrupt.response_schema = Some(schema);
    interrupt
}

/// Returns the answer, or `None` for a dismissed question. Fails if the answer does not fit the question.
fn fits(question: &Question, given: &AguiResume) -> Result<Option<Answer>, String> {
    if given.status != AguiResumeStatus::Resolved {
        return Ok(None);
    }
    let wrong = |wanted: &str| Err(format!("the answer to {} has to be {wanted}", given.interrupt_id));
    match &given.payload {
        Some(Value::Bool(yes)) if is_yes_or_no(question) => Ok(Some(Answer::Confirmed(*yes))),
        _ if is_yes_or_no(question) => wrong("true or false"),
        Some(Value::String(text)) if question.options.is_empty() || question.options.contains(text) => {
            Ok(Some(Answer::Text(text.clone())))
        }
        _ if question.options.is_empty() => wrong("a text"),
        _ => wrong(&format!("one of {}", json!(question.options))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(members: Value) -> Question {
        serde_json::from_value(members).unwrap()
    }

    fn resolved(id: &str, payload: Value) -> AguiResume {
        let mut given = AguiResume::new(id, AguiResumeStatus::Resolved);
        given.payload = Some(payload);
        given
    }

    #[tokio::test]
    async fn answers_reach_who_has_asked_and_wrong_ones_nobody() {
        let questions = Questions::new("t".to_owned());
        let choice =
            questions.ask(question(json!({"kind": "select", "title": "Which?", "options": ["a", "b"]})));
        let sure =
            questions.ask(question(json!({"kind": "confirm", "title": "Sure?", "text": "It is gone then."})));
        questions.wait().await;
        let interrupts = json!(questions.interrupts());
        assert_eq!(interrupts[0]["responseSchema"], json!({"type": "string", "enum": ["a", "b"]}));
        assert_eq!(interrupts[1]["message"], "Sure?\nIt is gone then.");
        let ids = ["t-question-1", "t-question-2"];
        for wrong in
            [resolved(ids[0], json!("c")), resolved(ids[0], json!(true)), resolved(ids[1], json!("yes"))]
        {
            assert!(questions.answer(&[resolved(ids[1], json!(true)), wrong]).is_err());
        }
        assert_eq!(questions.interrupts().len(), 2);
        let late = questions.answer(&[
            resolved(ids[0], json!("b")),
            AguiResume::new(ids[1], AguiResumeStatus::Cancelled),
            resolved("t-question-9", json!(1)),
        ]);
        assert_eq!(late.unwrap(), ["t-question-9"]);
        assert_eq!((choice.await, sure.await), (Some(Answer::Text("b".to_owned())), None));
    }

    #[tokio::test]
    async fn a_question_that_is_taken_back_is_open_no_more() {
        let questions = Questions::new("t".to_owned());
        drop(questions.ask(question(json!({"kind": "input"}))));
        assert!(questions.interrupts().is_empty());
        let dismissed = questions.ask(question(json!({"kind": "input"})));
        questions.dismiss();
        assert_eq!(dismissed.await, None);
    }
}
