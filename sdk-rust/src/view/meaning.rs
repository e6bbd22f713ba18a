//! The table of a dialect with the effects of its frames on a conversation, generated from the declaration.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::generated::meaning::TABLES;

/// Source of a value.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Source {
    /// The member at this path.
    At(String),
    /// The value at the path `of`, converted by the reader `read`.
    Read { read: String, of: String },
    /// Each item of the list at the path `of`, converted by the reader `each`.
    Each { each: String, of: String },
    /// The value to which the table `to` maps the value at the path `map`.
    Map { map: String, to: Map<String, Value> },
    /// The number at the path `of`, multiplied by `times`.
    Times { times: f64, of: String },
    /// The value at this path, as text.
    Text { text: String },
    /// The number of items in the list at this path.
    Count { count: String },
    /// The value of the first source that has one.
    First { first: Vec<Source> },
    /// The items of all lists that these sources give, in one list.
    Join { join: Vec<Source> },
    /// The value is a constant.
    Is { is: Value },
}

/// Sources of values, by the names of a reducer's bindings or of a record's members.
pub(crate) type Sources = HashMap<String, Source>;

/// A condition on a member of an event.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Condition {
    Is(String, String),
    Not(String, String),
    Has(String),
    Lacks(String),
}

/// Kind of change to a conversation.
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

/// A rule: the change that a row's frame makes to a conversation, and the conditions for it.
#[derive(Debug, Deserialize)]
pub(crate) struct Rule {
    pub act: Reducer,
    #[serde(default)]
    pub when: Vec<Condition>,
    /// The list if the rule applies to each of its items; `None` if it applies to the frame itself.
    pub over: Option<String>,
    pub slots: Sources,
}

/// A case of a reader: the neutral form of values with one tag.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    pub tag: String,
    #[serde(default)]
    pub when: Vec<Condition>,
    pub gives: Sources,
}

/// A reader: the conversion of a dialect's values to the neutral form.
#[derive(Debug, Deserialize)]
pub(crate) struct Reader {
    /// The member whose value selects the case; empty if there is only one kind of value.
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
