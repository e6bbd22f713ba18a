//! The intents of a dialect with its inheritance resolved.

use super::{CommandMapping, Companion, DialectOnly};
use crate::index::Index;
use crate::meaning::Reader;

/// The mapping from intents to commands of a dialect, including the inherited part.
#[derive(Debug, Default)]
pub struct ResolvedIntents {
    /// Commands by intent, own ones before those of the parents.
    pub mappings: Vec<CommandMapping>,
    /// Commands that no intent covers.
    pub dialect_only: Vec<DialectOnly>,
    /// Command parameters that do not belong to the intent of the command.
    pub companions: Vec<Companion>,
    /// Events that the adapter of the dialect in a bridge generates from other events.
    pub derived_events: Vec<&'static str>,
    /// Dialogs that a tool sends, each with the name of the tool.
    pub by_tool: Vec<(&'static str, &'static str)>,
    /// Additional readers, for values that only the answers to intents contain.
    pub readers: Vec<Reader>,
}

/// Resolves the mapping from intents to commands of a dialect, for all its revisions.
pub fn resolve(index: &Index) -> ResolvedIntents {
    let mut resolved = ResolvedIntents::default();
    let mut dialect = Some(index.dialect);
    while let Some(known) = dialect {
        let table = known.intents;
        let is_known = |resolved: &ResolvedIntents, command: &str| {
            resolved.mappings.iter().any(|known| known.command == command)
                || resolved.dialect_only.iter().any(|known| known.command == command)
        };
        let mappings: Vec<CommandMapping> =
            table.mappings.iter().filter(|row| !is_known(&resolved, row.command)).copied().collect();
        let dialect_only: Vec<DialectOnly> =
            table.dialect_only.iter().filter(|row| !is_known(&resolved, row.command)).copied().collect();
        resolved.mappings.extend(mappings);
        resolved.dialect_only.extend(dialect_only);
        resolved.companions.extend(table.companions);
        resolved.derived_events.extend(table.derived_events);
        resolved.by_tool.extend(table.by_tool);
        resolved.readers.extend(table.readers);
        dialect = known.parent;
    }
    let has = |command: &str| index.commands.iter().any(|row| row.wire == command);
    resolved.mappings.retain(|row| has(row.command));
    resolved.dialect_only.retain(|row| has(row.command));
    resolved.companions.retain(|row| has(row.command));
    resolved.derived_events.retain(|name| index.events.iter().any(|row| row.name == *name));
    resolved.by_tool.retain(|(dialog, _)| index.dialogs.iter().any(|row| row.wire == *dialog));
    resolved
}
