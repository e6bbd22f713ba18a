//! The intents of a dialect with its inheritance resolved.

use super::{Beside, Carrier, Own};
use crate::index::Index;
use crate::meaning::Reader;

/// The mapping from intents to commands of a dialect, including the inherited part.
#[derive(Debug, Default)]
pub struct Resolved {
    /// Commands by intent, own ones before those of the parents.
    pub carriers: Vec<Carrier>,
    /// Commands that no intent covers.
    pub own: Vec<Own>,
    /// Parameters of other commands that no intent covers.
    pub beside: Vec<Beside>,
    /// Events that the adapter of the dialect generates.
    pub made: Vec<&'static str>,
    /// Dialogs that a tool of the dialect's agents sends, with the name of the tool.
    pub by_tool: Vec<(&'static str, &'static str)>,
    /// Readers of values that no frame of the meaning has.
    pub readers: Vec<Reader>,
}

/// Resolves the mapping from intents to commands of a dialect, for all its revisions.
pub fn resolve(index: &Index) -> Resolved {
    let mut resolved = Resolved::default();
    let mut dialect = Some(index.dialect);
    while let Some(known) = dialect {
        let table = known.intents;
        let told = |resolved: &Resolved, command: &str| {
            resolved.carriers.iter().any(|known| known.command == command)
                || resolved.own.iter().any(|known| known.command == command)
        };
        let carriers: Vec<Carrier> =
            table.carriers.iter().filter(|row| !told(&resolved, row.command)).copied().collect();
        let own: Vec<Own> = table.own.iter().filter(|row| !told(&resolved, row.command)).copied().collect();
        resolved.carriers.extend(carriers);
        resolved.own.extend(own);
        resolved.beside.extend(table.beside);
        resolved.made.extend(table.made);
        resolved.by_tool.extend(table.by_tool);
        resolved.readers.extend(table.readers);
        dialect = known.parent;
    }
    let has = |command: &str| index.commands.iter().any(|row| row.wire == command);
    resolved.carriers.retain(|row| has(row.command));
    resolved.own.retain(|row| has(row.command));
    resolved.beside.retain(|row| has(row.command));
    resolved.made.retain(|name| index.events.iter().any(|row| row.name == *name));
    resolved.by_tool.retain(|(dialog, _)| index.dialogs.iter().any(|row| row.wire == *dialog));
    resolved
}
