//! The intents of a dialect with its inheritance resolved.

use super::{Beside, Carrier, Own};
use crate::index::Index;
use crate::meaning::Reader;

/// What the commands of a dialect are for, with what it takes over from its parents.
#[derive(Debug, Default)]
pub struct Resolved {
    /// Which command carries which intent, a dialect's own before its parents'.
    pub carriers: Vec<Carrier>,
    /// The commands that carry none.
    pub own: Vec<Own>,
    /// The parameters of the others that are no part of their intents.
    pub beside: Vec<Beside>,
    /// The events that who speaks the dialect makes.
    pub made: Vec<&'static str>,
    /// The dialogs that a tool of its agents asks, with the tool.
    pub by_tool: Vec<(&'static str, &'static str)>,
    /// How values are read that no frame of the meaning has.
    pub readers: Vec<Reader>,
}

/// What the commands of a dialect are for, all its revisions together.
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
