//! The agent's questions in neutral form, and how answers to them are written.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::table::Table;
use crate::dialog::Members;
use crate::dynamic::Dialogs;
use crate::view::meaning::Act;
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
    /// The question.
    #[serde(default)]
    pub title: String,
    /// What it is about.
    pub text: Option<String>,
    /// What can be chosen.
    #[serde(default)]
    pub options: Vec<String>,
    /// Grey text in the empty field.
    pub placeholder: Option<String>,
    /// The text to begin with.
    pub prefill: Option<String>,
    /// Whether the answer is a secret.
    #[serde(default)]
    pub secret: bool,
    /// After how many milliseconds the agent answers for itself.
    pub timeout_ms: Option<f64>,
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// What was chosen, entered or edited.
    Text(String),
    /// Yes or no.
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

/// Answers the questions of an agent, whatever its dialect.
pub trait Asked: Send + Sync + 'static {
    /// Asks for an answer; `None` in the end dismisses the question. Called on the connection's own tasks: it must not
    /// block. The future is dropped when the agent takes its question back or the connection ends.
    fn ask(&self, question: Question) -> BoxFuture<'static, Option<Answer>>;
}

impl<F> Asked for F
where
    F: Fn(Question) -> BoxFuture<'static, Option<Answer>> + Send + Sync + 'static,
{
    fn ask(&self, question: Question) -> BoxFuture<'static, Option<Answer>> {
        self(question)
    }
}

/// A neutral handler behind the dialogs of a dialect.
pub(super) struct Neutral {
    pub table: &'static Table,
    pub handler: Arc<dyn Asked>,
}

impl Dialogs for Neutral {
    fn ask(&self, method: &str, params: &str) -> BoxFuture<'static, Option<Members>> {
        let question = question(self.table, method, params);
        let (Some(question), Some(member)) = (question, self.table.answers.get(method)) else {
            return async { None }.boxed();
        };
        let answer = self.handler.ask(question);
        async move { Some(Map::from_iter([(member.clone(), answer.await?.into())])) }.boxed()
    }
}

/// A dialog as a question; none where it is none.
fn question(table: &Table, method: &str, params: &str) -> Option<Question> {
    let params: Value = crate::wire::decode(params).ok()?;
    let rules = table.meaning.dialogs.get(method)?;
    let rule = rules.iter().find(|rule| rule.act == Act::Ask && holds(&rule.when, &params))?;
    let mut slots = read_all(&table.meaning, &rule.slots, &params);
    slots.insert("method".into(), method.into());
    serde_json::from_value(Value::Object(slots)).ok()
}
