//! The agent's questions in neutral form, and the encoding of answers.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::table::IntentTable;
use crate::dialog::AnswerMembers;
use crate::dynamic::Dialogs;
use crate::view::meaning::Reducer;
use crate::view::read::{holds, read_all};

/// A question of the agent.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Question {
    /// The dialog's wire name.
    #[serde(default)]
    pub method: String,
    /// `select`, `confirm`, `input` or `editor`.
    pub kind: String,
    /// Text of the question.
    #[serde(default)]
    pub title: String,
    /// Explanation that is shown below the question.
    pub text: Option<String>,
    /// The options to choose from.
    #[serde(default)]
    pub options: Vec<String>,
    /// Placeholder text for the empty field.
    pub placeholder: Option<String>,
    /// Initial text of the field.
    pub prefill: Option<String>,
    /// `true` if the answer is a secret.
    #[serde(default)]
    pub secret: bool,
    /// Time in milliseconds after which the agent continues without an answer.
    pub timeout_ms: Option<f64>,
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The answer is the chosen option, or the entered or edited text.
    Text(String),
    /// The answer to a yes-or-no question is `true` for yes and `false` for no.
    Confirmed(bool),
}

impl From<Answer> for Value {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Text(text) => text.into(),
            Answer::Confirmed(yes) => yes.into(),
        }
    }
}

/// Handler for the questions of an agent of any dialect.
pub trait QuestionHandler: Send + Sync + 'static {
    /// Returns the answer to a question; `None` dismisses the question. The connection calls this on its own
    /// tasks, so the method must not block. The future is dropped if the agent withdraws its question or the
    /// connection ends.
    fn answer(&self, question: Question) -> BoxFuture<'static, Option<Answer>>;
}

impl<F> QuestionHandler for F
where
    F: Fn(Question) -> BoxFuture<'static, Option<Answer>> + Send + Sync + 'static,
{
    fn answer(&self, question: Question) -> BoxFuture<'static, Option<Answer>> {
        self(question)
    }
}

/// Adapter that passes the dialogs of a dialect to a neutral handler.
pub(super) struct QuestionAdapter {
    pub table: &'static IntentTable,
    pub handler: Arc<dyn QuestionHandler>,
}

impl Dialogs for QuestionAdapter {
    fn answer(&self, method: &str, params: &str) -> BoxFuture<'static, Option<AnswerMembers>> {
        let question = question(self.table, method, params);
        let (Some(question), Some(member)) = (question, self.table.answers.get(method)) else {
            return async { None }.boxed();
        };
        let answer = self.handler.answer(question);
        async move { Some(Map::from_iter([(member.clone(), answer.await?.into())])) }.boxed()
    }
}

/// Converts a dialog to a question. Returns `None` for a dialog without an answer.
fn question(table: &IntentTable, method: &str, params: &str) -> Option<Question> {
    let params: Value = crate::wire::decode(params).ok()?;
    let rules = table.meaning.dialogs.get(method)?;
    let rule = rules.iter().find(|rule| rule.act == Reducer::Ask && holds(&rule.when, &params))?;
    let mut slots = read_all(&table.meaning, &rule.slots, &params);
    slots.insert("method".into(), method.into());
    serde_json::from_value(Value::Object(slots)).ok()
}
