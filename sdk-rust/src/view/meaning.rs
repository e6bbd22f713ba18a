//! The table of a dialect's meanings for a conversation, generated from the declaration.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::generated::meaning::TABLES;

/// Source of a value.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Source {
    /// The member at that path.
    At(String),
    /// The value at that path, converted by the reader.
    Read { read: String, of: String },
    /// Each item of the list at that path, converted by the reader.
    Each { each: String, of: String },
    /// The value at that path, mapped by a table.
    Map { map: String, to: Map<String, Value> },
    /// The number at that path, multiplied by a constant.
    Times { times: f64, of: String },
    /// The value at that path as text.
    Text { text: String },
    /// The number of items in the list at that path.
    Count { count: String },
    /// The first of these that has a value.
    First { first: Vec<Source> },
    /// The items of all of these lists.
    Join { join: Vec<Source> },
    /// A constant.
    Is { is: Value },
}

/// Names of slots or members, with the sources of their values.
pub(crate) type Sources = HashMap<String, Source>;

/// A condition.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Condition {
    Is(String, String),
    Not(String, String),
    Has(String),
    Lacks(String),
}

/// A change to a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Reducer {
    Work,
    Outcome,
    Abort,
    Begin,
    Snapshot,
    Piece,
    Block,
    Message,
    End,
    Tool,
    History,
    Count,
    Replace,
    Set,
    Keep,
    Usage,
    Arrive,
    Wait,
    Waited,
    Queue,
    Compacting,
    Compacted,
    Retry,
    Retried,
    Ask,
    Withdraw,
    Notice,
    Entry,
    Draft,
    Shell,
    ShellOutput,
    ShellDone,
    Task,
    Child,
}

/// A rule of a row.
#[derive(Debug, Deserialize)]
pub(crate) struct Rule {
    pub act: Reducer,
    #[serde(default)]
    pub when: Vec<Condition>,
    /// The list to whose items the rule applies, one by one.
    pub over: Option<String>,
    pub slots: Sources,
}

/// A case of a reader, for one kind of value.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    pub tag: String,
    #[serde(default)]
    pub when: Vec<Condition>,
    pub gives: Sources,
}

/// Conversion of values of a dialect into the neutral form.
#[derive(Debug, Deserialize)]
pub(crate) struct Reader {
    /// The member that distinguishes kinds; empty if there is only one kind.
    pub tag: String,
    pub cases: Vec<Case>,
}

/// The names of the frames that carry dialogs.
#[derive(Debug, Deserialize)]
pub(crate) struct DialogFrames {
    pub request: String,
    pub answer: String,
}

/// Framing of a dialect.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Framing {
    Flat,
    Enveloped,
    JsonRpc,
}

/// The rules of rows, by the name of the row.
pub(crate) type Rules = HashMap<String, Vec<Rule>>;

/// Meanings of the frames of a dialect.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Meaning {
    pub framing: Framing,
    pub notification: Option<String>,
    pub session: Option<String>,
    pub dialog_frames: Option<DialogFrames>,
    pub asks: Vec<String>,
    pub readers: HashMap<String, Reader>,
    pub events: Rules,
    pub sent: Rules,
    pub answers: Rules,
    pub refused: Rules,
    pub dialogs: Rules,
}

/// Returns the table of a dialect, or `None` if its feature is off.
pub(crate) fn meaning_of(dialect: &str) -> Option<&'static Meaning> {
    // Tables are parsed on demand: most programs need one of them.
    static READ: [OnceLock<Option<Meaning>>; TABLES.len()] = [const { OnceLock::new() }; TABLES.len()];
    let place = TABLES.iter().position(|(name, _)| *name == dialect)?;
    READ[place].get_or_init(|| serde_json::from_str(TABLES[place].1).ok()).as_ref()
}
