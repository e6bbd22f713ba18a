//! The tables that say which command of a dialect carries an intent, as they were generated from the declaration.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::generated::intents::{Intent, NEUTRAL, TABLES};
use crate::generated::meaning::TABLES as MEANINGS;
use crate::spec::Spec;
use crate::view::meaning::{Meaning, Reader, Sources};

/// How a parameter of a command is made of neutral ones.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Send {
    /// The neutral parameter of that name.
    From(String),
    /// Always that.
    Is { is: Value },
    /// The neutral parameters that are there, with that text between them.
    Joined { join: Vec<String>, with: String },
}

impl Send {
    /// The neutral parameters that it reads.
    pub fn params(&self) -> &[String] {
        match self {
            Send::From(param) => std::slice::from_ref(param),
            Send::Is { .. } => &[],
            Send::Joined { join, .. } => join,
        }
    }
}

/// Which command carries an intent.
#[derive(Debug, Deserialize)]
pub(super) struct Carrier {
    /// Its wire name.
    pub command: String,
    pub sends: BTreeMap<String, Send>,
    /// Those of its parameters that some revisions lack, with the revisions that have them.
    #[serde(default)]
    only: BTreeMap<String, Vec<String>>,
    pub gives: Sources,
    /// What is other than the intent says.
    #[serde(default)]
    pub differs: Vec<Differs>,
    /// What only agents of the dialect do, and nobody who stands between one of another dialect and a front end.
    #[serde(default)]
    pub alone: Vec<Differs>,
}

/// What is other than an intent says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Differs {
    /// In words.
    pub says: String,
    /// What is other behind such a command.
    #[serde(default)]
    pub changes: Vec<String>,
    /// Whether that is so only of a command that comes while a run is going on.
    #[serde(default)]
    pub busy: bool,
    /// Whether the agent has rules of its own for what it refuses.
    #[serde(default)]
    pub refuses: bool,
    /// The parameters of the command with one of which that is so; none where it is so without them.
    #[serde(default)]
    pub with: Vec<String>,
    /// The revisions of the agent of which that is true; none for all of them.
    #[serde(default)]
    pub of: Vec<String>,
}

impl Differs {
    /// Whether that is true of an agent of that revision; of a client, which has all of them, where it is of one.
    pub fn is_of(&self, agent: &Spec) -> bool {
        self.of.is_empty() || !agent.revisions.is_empty() || self.of.contains(&agent.id())
    }
}

impl Carrier {
    /// The neutral parameters that the command takes. Of a client's tables, which have all revisions, those that each of
    /// them takes.
    pub fn taken<'a>(&'a self, spec: &Spec) -> impl Iterator<Item = &'a String> {
        let id = spec.revisions.is_empty().then(|| spec.id());
        let has = move |name: &String| match (self.only.get(name), &id) {
            (None, _) => true,
            (Some(having), Some(id)) => having.contains(id),
            (Some(_), None) => false,
        };
        self.sends.iter().filter(move |(name, _)| has(name)).flat_map(|(_, send)| send.params())
    }
}

/// Why a command carries no intent.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Own {
    pub reason: String,
    /// Whether who speaks the dialect with a front end answers it.
    pub by_front: bool,
}

/// What a dialect's commands are for.
#[derive(Debug, Deserialize)]
struct Written {
    readers: HashMap<String, Reader>,
    carriers: HashMap<String, Vec<Carrier>>,
    own: HashMap<String, Own>,
    made: Vec<String>,
    answers: HashMap<String, String>,
    beside: HashMap<String, Vec<String>>,
    #[serde(rename = "byTool")]
    by_tool: HashMap<String, String>,
}

/// What a client of any agent knows of a dialect.
#[derive(Debug)]
pub(super) struct Table {
    /// What its frames mean, and how its values are read.
    pub meaning: Meaning,
    /// By the name of the intent.
    carriers: HashMap<String, Vec<Carrier>>,
    /// Commands that carry no intent.
    pub own: HashMap<String, Own>,
    /// Events that who speaks the dialect makes from what others tell.
    pub made: Vec<String>,
    /// The member of the answer to a dialog that carries what was chosen or entered.
    pub answers: HashMap<String, String>,
    /// Parameters of commands that carry intents with which only agents of the dialect can do something.
    pub beside: HashMap<String, Vec<String>>,
    /// Dialogs that a tool of the dialect's agents asks, with the tool.
    pub by_tool: HashMap<String, String>,
}

impl Table {
    /// The command that carries an intent in a revision: the first one that it has.
    pub fn carrier(&self, spec: &Spec, intent: Intent) -> Option<&Carrier> {
        self.carriers(intent).iter().find(|carrier| spec.command(&carrier.command).is_some())
    }

    /// All commands that carry an intent.
    pub fn carriers(&self, intent: Intent) -> &[Carrier] {
        self.carriers.get(intent.name()).map_or(&[], Vec::as_slice)
    }
}

/// The table of a dialect, where its feature is on.
pub(super) fn table_of(dialect: &str) -> Option<&'static Table> {
    // Each is read when it is needed: most programs need one of them.
    static READ: [OnceLock<Option<Table>>; TABLES.len()] = [const { OnceLock::new() }; TABLES.len()];
    let place = TABLES.iter().position(|(name, _)| *name == dialect)?;
    let read = || {
        let (name, text) = TABLES[place];
        let written: Written = serde_json::from_str(text).ok()?;
        let (_, meaning) = MEANINGS.iter().find(|(dialect, _)| *dialect == name)?;
        let mut meaning: Meaning = serde_json::from_str(meaning).ok()?;
        meaning.readers.extend(written.readers);
        let Written { carriers, own, made, answers, beside, by_tool, .. } = written;
        Some(Table { meaning, carriers, own, made, answers, beside, by_tool })
    };
    READ[place].get_or_init(read).as_ref()
}

/// A command of a dialect without parameters that is answered at any time; none where its feature is off. Nothing else of
/// its table is kept.
pub(super) fn probe_of(dialect: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Probe {
        probe: String,
    }
    let (_, text) = TABLES.iter().find(|(name, _)| *name == dialect)?;
    serde_json::from_str(text).ok().map(|Probe { probe }| probe)
}

/// Whether a dialect has a command for an intent: in that revision, or in any of them where it is what a client knows.
#[must_use]
pub fn carries(spec: &Spec, intent: Intent) -> bool {
    table_of(spec.name).is_some_and(|table| table.carrier(spec, intent).is_some())
}

/// Whether a dialect's command for an intent takes that neutral parameter: in that revision, or in all of them where it is
/// what a client knows.
#[must_use]
pub fn takes(spec: &Spec, intent: Intent, param: &str) -> bool {
    let carrier = table_of(spec.name).and_then(|table| table.carrier(spec, intent));
    carrier.is_some_and(|carrier| carrier.taken(spec).any(|taken| taken == param))
}

/// What becomes of an intent with an agent whose dialect has no command for it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Without {
    Lost { lost: String },
    Seen { seen: String },
    Through { through: Vec<String>, how: Differs },
}

/// The neutral form of an intent.
#[derive(Debug, Deserialize)]
pub(super) struct Neutral {
    params: Vec<Param>,
    pub without: Without,
}

#[derive(Debug, Deserialize)]
struct Param {
    name: String,
    #[serde(default)]
    hint: bool,
}

impl Neutral {
    /// Whether a parameter is left out where a command does not take it; every other one is refused there.
    pub fn is_hint(&self, param: &str) -> bool {
        self.params.iter().any(|known| known.hint && known.name == param)
    }
}

/// The neutral form of an intent.
pub(super) fn neutral(intent: Intent) -> Option<&'static Neutral> {
    static READ: OnceLock<HashMap<String, Neutral>> = OnceLock::new();
    let rows = READ.get_or_init(|| {
        let rows: Map<String, Value> = serde_json::from_str(NEUTRAL).unwrap_or_default();
        rows.into_iter().filter_map(|(name, row)| Some((name, serde_json::from_value(row).ok()?))).collect()
    });
    rows.get(intent.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamic::CLIENTS;

    #[test]
    fn all_tables_are_read() {
        for client in CLIENTS {
            let table = table_of(client.name).unwrap();
            assert!(client.command(&probe_of(client.name).unwrap()).is_some());
            assert!(table.carrier(client, Intent::Prompt).is_some());
        }
        assert!(Intent::ALL.iter().all(|intent| neutral(*intent).is_some()));
    }

    #[test]
    #[cfg(all(feature = "pi", feature = "omp"))]
    fn a_revision_has_its_own_parameters() {
        let hidden = |spec: &Spec| takes(spec, Intent::Bash, "hidden");
        let revisions = crate::pi::CLIENT.revisions;
        assert!(!hidden(revisions[0]) && hidden(revisions[1]));
        assert!(!hidden(&crate::pi::CLIENT), "an agent of a revision that is not known may not take it");
        assert!(!hidden(&crate::omp::CLIENT), "omp has the command from pi without that parameter");
        assert!(takes(&crate::omp::CLIENT, Intent::Bash, "command"));
    }

    #[test]
    #[cfg(feature = "operator")]
    fn a_parameter_with_another_name_is_taken_all_the_same() {
        let client = &crate::operator::CLIENT;
        for spec in client.revisions.iter().copied().chain([client]) {
            assert!(
                takes(spec, Intent::Prompt, "text") && takes(spec, Intent::OpenSession, "session"),
                "{}",
                spec.id()
            );
        }
    }

    #[test]
    #[cfg(feature = "pi")]
    fn a_revision_has_its_own_commands() {
        let table = table_of("pi").unwrap();
        let revisions = crate::pi::CLIENT.revisions;
        assert!(table.carrier(revisions[0], Intent::Tree).is_none());
        assert_eq!(table.carrier(revisions[1], Intent::Tree).unwrap().command, "get_tree");
    }
}
