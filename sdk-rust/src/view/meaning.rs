//! The table that says what frames of a dialect mean for a conversation, as it was generated from the declaration.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::generated::meaning::TABLES;

/// Where a value is found.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Source {
    /// The member at that path.
    At(String),
    /// What the reader makes of the value at that path.
    Read { read: String, of: String },
    /// What the reader makes of each item of the list at that path.
    Each { each: String, of: String },
    /// What stands beside the value at that path.
    Map { map: String, to: Map<String, Value> },
    /// A number, that many times.
    Times { times: f64, of: String },
    /// The value at that path as text.
    Text { text: String },
    /// How many items the list at that path has.
    Count { count: String },
    /// The first of these that has a value.
    First { first: Vec<Source> },
    /// The items of all of these lists.
    Join { join: Vec<Source> },
    /// Always that.
    Is { is: Value },
}

/// Names of slots or members, and where their values are found.
pub(crate) type Sources = HashMap<String, Source>;

/// A condition.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Test {
    Is(String, String),
    Not(String, String),
    Has(String),
    Lacks(String),
}

/// What is done to a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Act {
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

/// What a row does.
#[derive(Debug, Deserialize)]
pub(crate) struct Rule {
    pub act: Act,
    #[serde(default)]
    pub when: Vec<Test>,
    /// The list for each of whose items it is done.
    pub over: Option<String>,
    pub slots: Sources,
}

/// One kind of value of a reader.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    pub tag: String,
    #[serde(default)]
    pub when: Vec<Test>,
    pub gives: Sources,
}

/// How values of a dialect are written in the neutral form.
#[derive(Debug, Deserialize)]
pub(crate) struct Reader {
    /// The member that tells kinds apart; empty where there is one kind.
    pub tag: String,
    pub cases: Vec<Case>,
}

/// The names of the frames that carry dialogs.
#[derive(Debug, Deserialize)]
pub(crate) struct DialogFrames {
    pub request: String,
    pub answer: String,
}

/// How frames are wrapped.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Framing {
    Flat,
    Enveloped,
    JsonRpc,
}

/// The rules of rows, by the name of the row.
pub(crate) type Rules = HashMap<String, Vec<Rule>>;

/// What the frames of a dialect mean.
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

/// The table of a dialect, where its feature is on.
pub(crate) fn meaning_of(dialect: &str) -> Option<&'static Meaning> {
    // Each is read when it is needed: most programs need one of them.
    static READ: [OnceLock<Option<Meaning>>; TABLES.len()] = [const { OnceLock::new() }; TABLES.len()];
    let place = TABLES.iter().position(|(name, _)| *name == dialect)?;
    READ[place].get_or_init(|| serde_json::from_str(TABLES[place].1).ok()).as_ref()
}
