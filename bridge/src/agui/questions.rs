//! Questions of the agent as AG-UI interrupts: a question interrupts its run, and the request for the next run contains
//! the answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentese::any::{Answer, Question, QuestionHandler};
use agentese::types::{AguiInterrupt, AguiResume, AguiResumeStatus};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::{oneshot, watch};

/// The open questions of an agent.
#[derive(Clone)]
pub(super) struct Questions(Arc<QuestionsInner>);

struct QuestionsInner {
    /// The prefix of the ids of questions.
    prefix: String,
    state: Mutex<QuestionState>,
    count: watch::Sender<usize>,
}

#[derive(Default)]
struct QuestionState {
    last_number: u64,
    open: Vec<OpenQuestion>,
}

struct OpenQuestion {
    id: String,
    question: Question,
    answer: oneshot::Sender<Option<Answer>>,
}

impl Questions {
    pub fn new(prefix: String) -> Self {
        Self(Arc::new(QuestionsInner { prefix, state: Mutex::default(), count: watch::Sender::new(0) }))
    }

    fn state(&self) -> MutexGuard<'_, QuestionState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish_count(&self, state: &QuestionState) {
        self.0.count.send_replace(state.open.len());
    }

    /// Completes as soon as a question is open.
    pub async fn wait(&self) {
        let mut count = self.0.count.subscribe();
        let _ = count.wait_for(|count| *count > 0).await;
    }

    /// Returns the open questions as interrupts. They are sent with the end of a run.
    pub fn interrupts(&self) -> Vec<AguiInterrupt> {
        self.state().open.iter().map(|open| interrupt(&open.id, &open.question)).collect()
    }

    /// Passes answers to their questions. Fails without passing any answer if one of them does not fit its question.
    /// Returns the ids of answers whose question is no longer open.
    pub fn resolve(&self, answers: &[AguiResume]) -> Result<Vec<String>, String> {
        let mut state = self.state();
        let mut fitting = Vec::new();
        let mut late = Vec::new();
        for given in answers {
            match state.open.iter().find(|open| open.id == given.interrupt_id) {
                Some(open) => fitting.push((open.id.clone(), check_answer(&open.question, given)?)),
                None => late.push(given.interrupt_id.clone()),
            }
        }
        for (id, answer) in fitting {
            if let Some(place) = state.open.iter().position(|open| open.id == id) {
                let _ = state.open.remove(place).answer.send(answer);
            }
        }
        self.publish_count(&state);
        Ok(late)
    }

    /// Dismisses the open questions.
    pub fn dismiss(&self) {
        let mut state = self.state();
        state.open.clear();
        self.publish_count(&state);
    }

    /// Dismisses all open questions, and each further one, until the future is dropped.
    pub async fn dismiss_all(&self) {
        loop {
            self.dismiss();
            self.wait().await;
        }
    }
}

impl QuestionHandler for Questions {
    fn answer(&self, question: Question) -> BoxFuture<'static, Option<Answer>> {
        let (answer, given) = oneshot::channel();
        let mut state = self.state();
        state.last_number += 1;
        let id = format!("{}-question-{}", self.0.prefix, state.last_number);
        state.open.push(OpenQuestion { id: id.clone(), question, answer });
        self.publish_count(&state);
        drop(state);
        let guard = QuestionGuard { questions: self.clone(), id };
        async move {
            let answer = given.await.ok().flatten();
            drop(guard);
            answer
        }
        .boxed()
    }
}

/// Removes the question when dropped: after its answer, or when the agent withdraws it.
struct QuestionGuard {
    questions: Questions,
    id: String,
}

impl Drop for QuestionGuard {
    fn drop(&mut self) {
        let mut state = self.questions.state();
        state.open.retain(|open| open.id != self.id);
        self.questions.publish_count(&state);
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
    let texts = [Some(question.title.as_str()), question.text.as_deref()];
    let texts: Vec<&str> = texts.into_iter().flatten().filter(|words| !words.is_empty()).collect();
    interrupt.message = Some(texts.join("\n")).filter(|words| !words.is_empty());
    interrupt.response_schema = Some(schema);
    interrupt
}

/// Returns the answer to a question, or `None` if the client dismissed it. Fails if the answer does not fit the
/// question.
fn check_answer(question: &Question, given: &AguiResume) -> Result<Option<Answer>, String> {
    if given.status != AguiResumeStatus::Resolved {
        return Ok(None);
    }
    let wrong = |wanted: &str| Err(format!("invalid answer to {}: expected {wanted}", given.interrupt_id));
    match &given.payload {
        Some(Value::Bool(yes)) if is_yes_or_no(question) => Ok(Some(Answer::Confirmed(*yes))),
        _ if is_yes_or_no(question) => wrong("true or false"),
        Some(Value::String(text)) if question.options.is_empty() || question.options.contains(text) => {
            Ok(Some(Answer::Text(text.clone())))
        }
        _ if question.options.is_empty() => wrong("a string"),
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
    async fn invalid_answers_resolve_no_question() {
        let questions = Questions::new("t".to_owned());
        let choice =
            questions.answer(question(json!({"kind": "select", "title": "Which?", "options": ["a", "b"]})));
        let sure = questions
            .answer(question(json!({"kind": "confirm", "title": "Sure?", "text": "It is gone then."})));
        questions.wait().await;
        let interrupts = json!(questions.interrupts());
        assert_eq!(interrupts[0]["responseSchema"], json!({"type": "string", "enum": ["a", "b"]}));
        assert_eq!(interrupts[1]["message"], "Sure?\nIt is gone then.");
        let ids = ["t-question-1", "t-question-2"];
        for wrong in
            [resolved(ids[0], json!("c")), resolved(ids[0], json!(true)), resolved(ids[1], json!("yes"))]
        {
            assert!(questions.resolve(&[resolved(ids[1], json!(true)), wrong]).is_err());
        }
        assert_eq!(questions.interrupts().len(), 2);
        let late = questions.resolve(&[
            resolved(ids[0], json!("b")),
            AguiResume::new(ids[1], AguiResumeStatus::Cancelled),
            resolved("t-question-9", json!(1)),
        ]);
        assert_eq!(late.unwrap(), ["t-question-9"]);
        assert_eq!((choice.await, sure.await), (Some(Answer::Text("b".to_owned())), None));
    }

    #[tokio::test]
    async fn a_withdrawn_question_is_no_longer_open() {
        let questions = Questions::new("t".to_owned());
        drop(questions.answer(question(json!({"kind": "input"}))));
        assert!(questions.interrupts().is_empty());
        let dismissed = questions.answer(question(json!({"kind": "input"})));
        questions.dismiss();
        assert_eq!(dismissed.await, None);
    }
}
