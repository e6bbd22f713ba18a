//! A dialect with its inheritance resolved, and look-ups by name.

use std::collections::{BTreeMap, BTreeSet};

use crate::dialect::Dialect;
use crate::extension;
use crate::model::{Command, Dialog, ErrorText, Event, Field, Row, Setting, Shape, Ty, TypeDef};
use crate::types::{driver, formats, model_log, profile, report, steps, suite};

/// A dialect as generators see it: its own rows and those of its parents, in order.
#[derive(Debug)]
pub struct Index {
    /// The dialect.
    pub dialect: &'static Dialect,
    /// Its commands.
    pub commands: Vec<&'static Command>,
    /// Its events.
    pub events: Vec<&'static Event>,
    /// Its dialogs.
    pub dialogs: Vec<&'static Dialog>,
    /// The settings that its document names.
    pub settings: Vec<&'static Setting>,
    /// The types that its rows use, by name.
    pub types: BTreeMap<&'static str, &'static TypeDef>,
}

impl Index {
    /// Resolves a dialect. Never fails: what rustc and the const checks let through is consistent,
    /// and the tests of this crate prove the references.
    pub fn new(dialect: &'static Dialect) -> Self {
        let mut index = match dialect.parent {
            Some(parent) => Index::new(parent),
            None => Index {
                dialect,
                commands: Vec::new(),
                events: Vec::new(),
                dialogs: Vec::new(),
                settings: Vec::new(),
                types: BTreeMap::new(),
            },
        };
        index.dialect = dialect;
        index.commands.retain(|command| !dialect.without.contains(&command.name));
        for row in dialect.rows.iter().copied().flatten() {
            match row {
                Row::Type(_) => {}
                // A published revision never changes: what is younger stays out of it.
                Row::Command(command) if !is_in(dialect, command) => {}
                Row::Command(command) => replace(&mut index.commands, command, |c| c.name),
                Row::Event(event) => replace(&mut index.events, event, |e| e.name),
                Row::Dialog(dialog) => replace(&mut index.dialogs, dialog, |d| d.name),
            }
        }
        index.settings.extend(dialect.settings);
        index.types = index.reachable();
        index
    }

    /// The dialect with that name, `NAME` or `NAME@REVISION`.
    pub fn named(name: &str) -> Option<Self> {
        let (name, revision) = match name.split_once('@') {
            Some((name, revision)) => (name, Some(revision)),
            None => (name, None),
        };
        crate::DIALECTS
            .iter()
            .find(|d| d.name == name && revision.is_none_or(|revision| d.revision == revision))
            .map(|dialect| Index::new(dialect))
    }

    /// All dialects.
    pub fn all() -> Vec<Self> {
        crate::DIALECTS.iter().map(|dialect| Index::new(dialect)).collect()
    }

    /// A type that the dialect uses.
    pub fn type_def(&self, name: &str) -> Option<&'static TypeDef> {
        self.types.get(name).copied()
    }

    /// The documented failures of the dialect and its commands, each text once, those of commands first.
    pub fn failures(&self) -> Vec<&'static ErrorText> {
        let mut failures: Vec<&'static ErrorText> = Vec::new();
        let rows = self.commands.iter().flat_map(|command| command.errors);
        for error in rows.chain(self.dialect.errors) {
            if !failures.iter().any(|known| known.code == error.code && known.text == error.text) {
                failures.push(error);
            }
        }
        failures
    }

    /// The type of the answer to a dialog, in flat dialects.
    pub fn dialog_answer(&self) -> Option<&'static str> {
        self.dialect.dialog_frames.map(|frames| frames.answer_type)
    }

    fn reachable(&self) -> BTreeMap<&'static str, &'static TypeDef> {
        let declared = declared_types();
        let mut names: Vec<&'static str> = Vec::new();
        for command in &self.commands {
            names.extend(command.params);
            names.extend(command.result.iter().flat_map(|ty| named(ty)));
        }
        names.extend(self.events.iter().map(|event| event.payload.name));
        for dialog in &self.dialogs {
            names.push(dialog.params.name);
            names.extend(dialog.answer.iter().flat_map(|ty| named(ty)));
        }
        names.extend(self.dialog_answer());
        names.extend(self.settings.iter().flat_map(|setting| named(&setting.ty)));
        // A dialect's own types that no frame carries (tool parameters, error objects) count too.
        let own = self.dialect.rows.iter().copied().flatten();
        if self.dialect.parent.is_some() || self.dialogs.is_empty() || self.dialect.dialog_frames.is_none() {
            names.extend(own.filter_map(|row| match row {
                Row::Type(def) => Some(def.name),
                _ => None,
            }));
        }
        let mut types = BTreeMap::new();
        while let Some(name) = names.pop() {
            let Some(def) = declared.get(name) else { continue };
            if types.insert(def.name, *def).is_none() {
                names.extend(references(def));
            }
        }
        types
    }
}

/// Whether a dialect's revision has reached the one that brought a command.
fn is_in(dialect: &Dialect, command: &Command) -> bool {
    let numbers =
        |revision: &str| -> Vec<u64> { revision.split('.').map_while(|part| part.parse().ok()).collect() };
    command.since.is_none_or(|since| numbers(dialect.revision) >= numbers(since))
}

fn replace<T: ?Sized>(rows: &mut Vec<&'static T>, row: &'static T, name: impl Fn(&T) -> &'static str) {
    match rows.iter_mut().find(|old| name(old) == name(row)) {
        Some(old) => *old = row,
        None => rows.push(row),
    }
}

/// Every type of every dialect, of the extensions and of the file formats, by name.
pub fn declared_types() -> BTreeMap<&'static str, &'static TypeDef> {
    let mut types = BTreeMap::new();
    let mut add = |row: &'static Row| match row {
        Row::Type(def) => {
            types.insert(def.name, *def);
        }
        Row::Command(command) => {
            if let Some(def) = command.params_def {
                types.insert(def.name, def);
            }
        }
        Row::Event(event) => {
            types.insert(event.payload.name, event.payload);
        }
        Row::Dialog(dialog) => {
            types.insert(dialog.params.name, dialog.params);
        }
    };
    crate::DIALECTS.iter().flat_map(|d| d.rows.iter().copied().flatten()).for_each(&mut add);
    let files =
        [formats::ROWS, suite::ROWS, steps::ROWS, profile::ROWS, report::ROWS, model_log::ROWS, driver::ROWS];
    for rows in files {
        rows.iter().for_each(&mut add);
    }
    extension::ROWS.iter().copied().flatten().for_each(&mut add);
    types
}

/// The types that a file format uses, from its root.
pub fn format_types(root: &str) -> BTreeMap<&'static str, &'static TypeDef> {
    let declared = declared_types();
    let mut names: BTreeSet<&'static str> =
        declared.get_key_value(root).map(|(name, _)| *name).into_iter().collect();
    let mut types = BTreeMap::new();
    while let Some(name) = names.pop_first() {
        let Some(def) = declared.get(name) else { continue };
        if types.insert(def.name, *def).is_none() {
            names.extend(references(def));
        }
    }
    types
}

/// The declared types that a type names directly.
pub fn references(def: &TypeDef) -> Vec<&'static str> {
    match def.shape {
        Shape::Record { fields, .. } => fields.iter().flat_map(|field: &Field| named(&field.ty)).collect(),
        Shape::Union { variants, .. } => variants.to_vec(),
        Shape::Choice { alternatives } => alternatives.iter().flat_map(|a| named(&a.ty)).collect(),
        Shape::Strings { .. } => Vec::new(),
    }
}

/// The declared type that a type is made of, if any.
pub fn named(ty: &Ty) -> Option<&'static str> {
    match ty {
        Ty::Named(name) => Some(name),
        Ty::List(item) | Ty::Map(item) => named(item),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialects::pi;

    static YOUNG: Command =
        Command { name: "young", wire: "young", since: Some("1.5"), ..pi::commands::get_state::ROW };
    static ROWS: &[Row] = &[Row::Command(&YOUNG)];
    static NEXT: Dialect = Dialect { revision: "1.5", parent: Some(&pi::PI), rows: &[ROWS], ..pi::PI };
    static PINNED: Dialect = Dialect { rows: &[ROWS], ..pi::PI };

    #[test]
    fn a_row_that_is_younger_than_a_revision_stays_out_of_it() {
        let has = |dialect: &'static Dialect| {
            Index::new(dialect).commands.iter().any(|command| command.name == "young")
        };
        assert!(has(&NEXT));
        assert!(!has(&PINNED));
    }
}
