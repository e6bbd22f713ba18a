//! Mapping from intents to the commands of a dialect, generated from the declaration.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::generated::intents::{Intent, NEUTRAL, TABLES};
use crate::generated::meaning::TABLES as MEANINGS;
use crate::spec::Spec;
use crate::view::meaning::{Meaning, Reader, Sources};

/// Source of a command parameter.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum ParamSource {
    /// The value is that of the neutral parameter with this name.
    From(String),
    /// The value is a constant.
    Is { is: Value },
    /// The value consists of the neutral parameters in `join` that are present, joined by the separator
    /// `with`.
    Joined { join: Vec<String>, with: String },
}

impl ParamSource {
    /// Returns the neutral parameters that this source reads.
    pub fn params(&self) -> &[String] {
        match self {
            ParamSource::From(param) => std::slice::from_ref(param),
            ParamSource::Is { .. } => &[],
            ParamSource::Joined { join, .. } => join,
        }
    }
}

/// Mapping from an intent to a command.
#[derive(Debug, Deserialize)]
pub(super) struct CommandMapping {
    /// Wire name of the command.
    pub command: String,
    pub sends: BTreeMap<String, ParamSource>,
    /// Parameters that some revisions lack, with the revisions that have them.
    #[serde(default)]
    only: BTreeMap<String, Vec<String>>,
    pub gives: Sources,
    /// Differences of the command from the intent.
    #[serde(default)]
    pub differs: Vec<Divergence>,
    /// Features that the dialect's own agents have, and that a translator cannot offer with an agent of another
    /// dialect.
    #[serde(default)]
    pub alone: Vec<Divergence>,
}

/// A difference of a command from its intent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Divergence {
    /// Description of the difference.
    pub says: String,
    /// Neutral paths whose changes differ from those of the intent.
    #[serde(default)]
    pub changes: Vec<String>,
    /// `true` if the difference exists only for a command that is sent during a run.
    #[serde(default)]
    pub busy: bool,
    /// `true` if the agent rejects the command under conditions of its own.
    #[serde(default)]
    pub refuses: bool,
    /// The command parameters that trigger the difference; any of them suffices. Empty if the difference
    /// applies without them.
    #[serde(default)]
    pub with: Vec<String>,
    /// The revisions of the agent that have the difference; empty for all revisions.
    #[serde(default)]
    pub of: Vec<String>,
}

impl Divergence {
    /// Returns `true` if the difference applies to an agent of the given revision. `agent` may also be the
    /// tables of a client, which cover all revisions. In that case, returns `true` if it applies in any
    /// revision.
    pub fn applies_to(&self, agent: &Spec) -> bool {
        self.of.is_empty() || !agent.revisions.is_empty() || self.of.contains(&agent.id())
    }
}

impl CommandMapping {
    /// Returns the neutral parameters that the command accepts. `spec` may also be the tables of a client,
    /// which cover all revisions. In that case, returns the parameters that all revisions accept.
    pub fn params<'a>(&'a self, spec: &Spec) -> impl Iterator<Item = &'a String> {
        let id = spec.revisions.is_empty().then(|| spec.id());
        let has = move |name: &String| match (self.only.get(name), &id) {
            (None, _) => true,
            (Some(having), Some(id)) => having.contains(id),
            (Some(_), None) => false,
        };
        self.sends.iter().filter(move |(name, _)| has(name)).flat_map(|(_, send)| send.params())
    }
}

/// Explanation of a command that has no intent.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DialectOnly {
    pub reason: String,
    /// `true` if the dialect's adapter answers the command itself, without the agent.
    pub by_front: bool,
}

/// The table of a dialect in the form of the generated JSON text.
#[derive(Debug, Deserialize)]
struct TableFile {
    readers: HashMap<String, Reader>,
    carriers: HashMap<String, Vec<CommandMapping>>,
    own: HashMap<String, DialectOnly>,
    made: Vec<String>,
    answers: HashMap<String, String>,
    beside: HashMap<String, Vec<String>>,
    #[serde(rename = "byTool")]
    by_tool: HashMap<String, String>,
}

/// Tables of a dialect, for the client that works with every dialect.
#[derive(Debug)]
pub(super) struct IntentTable {
    /// Meanings of the frames, and the readers that convert values.
    pub meaning: Meaning,
    /// The commands for each intent, by its name.
    mappings: HashMap<String, Vec<CommandMapping>>,
    /// Commands without an intent.
    pub dialect_only: HashMap<String, DialectOnly>,
    /// Events that the dialect's adapter derives from other frames.
    pub derived_events: Vec<String>,
    /// For each dialog, the member of its answer that contains the chosen or entered value.
    pub answers: HashMap<String, String>,
    /// Command parameters that only agents of the dialect support, by the wire name of the command.
    pub companions: HashMap<String, Vec<String>>,
    /// Dialogs that only a tool of the dialect's agents sends, each with the name of the tool.
    pub by_tool: HashMap<String, String>,
}

impl IntentTable {
    /// Returns the command of an intent in a revision. If several commands are declared, returns the first one
    /// that the revision has.
    pub fn mapping(&self, spec: &Spec, intent: Intent) -> Option<&CommandMapping> {
        self.mappings(intent).iter().find(|mapping| spec.command(&mapping.command).is_some())
    }

    /// Returns all commands of an intent.
    pub fn mappings(&self, intent: Intent) -> &[CommandMapping] {
        self.mappings.get(intent.name()).map_or(&[], Vec::as_slice)
    }
}

/// Returns the table of a dialect, or `None` if its feature is off.
pub(super) fn table_of(dialect: &str) -> Option<&'static IntentTable> {
    // Tables are parsed on demand: most programs need one of them.
    static READ: [OnceLock<Option<IntentTable>>; TABLES.len()] = [const { OnceLock::new() }; TABLES.len()];
    let place = TABLES.iter().position(|(name, _)| *name == dialect)?;
    let read = || {
        let (name, text) = TABLES[place];
        let written: TableFile = serde_json::from_str(text).ok()?;
        let (_, meaning) = MEANINGS.iter().find(|(dialect, _)| *dialect == name)?;
        let mut meaning: Meaning = serde_json::from_str(meaning).ok()?;
        meaning.readers.extend(written.readers);
        let TableFile { carriers, own, made, answers, beside, by_tool, .. } = written;
        Some(IntentTable {
            meaning,
            mappings: carriers,
            dialect_only: own,
            derived_events: made,
            answers,
            companions: beside,
            by_tool,
        })
    };
    READ[place].get_or_init(read).as_ref()
}

/// Returns a command without parameters that the dialect's agents always answer, or `None` if the dialect's
/// feature is off. Parses the table without keeping it.
pub(super) fn probe_of(dialect: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Probe {
        probe: String,
    }
    let (_, text) = TABLES.iter().find(|(name, _)| *name == dialect)?;
    serde_json::from_str(text).ok().map(|Probe { probe }| probe)
}

/// Returns `true` if a dialect has a command for an intent. With the tables of a client, the command may be in
/// any revision.
#[must_use]
pub fn supports(spec: &Spec, intent: Intent) -> bool {
    table_of(spec.name).is_some_and(|table| table.mapping(spec, intent).is_some())
}

/// Returns `true` if a dialect's command for an intent accepts that neutral parameter. With the tables of a
/// client, every revision must accept it.
#[must_use]
pub fn accepts_param(spec: &Spec, intent: Intent, param: &str) -> bool {
    let mapping = table_of(spec.name).and_then(|table| table.mapping(spec, intent));
    mapping.is_some_and(|mapping| mapping.params(spec).any(|taken| taken == param))
}

/// Replacement for an intent if the agent has no command for it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Fallback {
    Lost { lost: String },
    Seen { seen: String },
    Through { through: Vec<String>, how: Divergence },
}

/// The neutral form of an intent.
#[derive(Debug, Deserialize)]
pub(super) struct IntentSpec {
    params: Vec<Param>,
    pub without: Fallback,
}

#[derive(Debug, Deserialize)]
struct Param {
    name: String,
    #[serde(default)]
    hint: bool,
}

impl IntentSpec {
    /// Returns `true` if a parameter may be omitted when a command does not accept it. Otherwise, such a
    /// command causes an error.
    pub fn is_hint(&self, param: &str) -> bool {
        self.params.iter().any(|known| known.hint && known.name == param)
    }
}

/// Returns the neutral form of an intent.
pub(super) fn intent_spec(intent: Intent) -> Option<&'static IntentSpec> {
    static READ: OnceLock<HashMap<String, IntentSpec>> = OnceLock::new();
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
            assert!(table.mapping(client, Intent::Prompt).is_some());
        }
        assert!(Intent::ALL.iter().all(|intent| intent_spec(*intent).is_some()));
    }

    #[test]
    #[cfg(all(feature = "pi", feature = "omp"))]
    fn a_revision_has_its_own_parameters() {
        let hidden = |spec: &Spec| accepts_param(spec, Intent::Bash, "hidden");
        let revisions = crate::pi::CLIENT.revisions;
        assert!(!hidden(revisions[0]) && hidden(revisions[1]));
        assert!(!hidden(&crate::pi::CLIENT), "an agent of an unknown revision may not accept it");
        assert!(!hidden(&crate::omp::CLIENT), "omp has the command from pi without that parameter");
        assert!(accepts_param(&crate::omp::CLIENT, Intent::Bash, "command"));
    }

    #[test]
    #[cfg(feature = "operator")]
    fn a_renamed_parameter_is_accepted() {
        let client = &crate::operator::CLIENT;
        for spec in client.revisions.iter().copied().chain([client]) {
            assert!(
                accepts_param(spec, Intent::Prompt, "text")
                    && accepts_param(spec, Intent::OpenSession, "session"),
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
        assert!(table.mapping(revisions[0], Intent::Tree).is_none());
        assert_eq!(table.mapping(revisions[1], Intent::Tree).unwrap().command, "get_tree");
    }
}
