//! A dialect with its inheritance and its revisions resolved, and lookups by name.

use std::collections::{BTreeMap, BTreeSet};

pub use crate::declared_types::declared_types;
use crate::dialect::{Chunks, Dialect, DialogFrames, Framing, Revision};
use crate::model::{Command, Dialog, ErrorText, Event, Field, Row, Setting, Shape, Span, Ty, TypeDef};
use crate::view::{self, View};

/// A dialect as generators read it: the rows of its parents, followed by its own rows.
#[derive(Debug)]
pub struct Index {
    /// The dialect of the rows.
    pub dialect: &'static Dialect,
    /// The revision; in the view of a client, the default revision.
    pub revision: &'static Revision,
    /// Commands of the dialect.
    pub commands: Vec<&'static Command>,
    /// Events of the dialect.
    pub events: Vec<&'static Event>,
    /// Dialogs of the dialect.
    pub dialogs: Vec<&'static Dialog>,
    /// Documented failures that do not belong to a single command.
    pub errors: &'static [ErrorText],
    /// Settings of the dialect's document.
    pub settings: Vec<&'static Setting>,
    /// Types that the rows use, by name.
    pub types: BTreeMap<&'static str, &'static TypeDef>,
}

/// The result of a dialog's handler.
#[derive(Debug, Clone, Copy)]
pub enum Reply {
    /// No result, as no answer is expected.
    Nothing,
    /// A single member of the answer: the user's choice or input.
    Member(&'static Field),
    /// All members of the answer: the record with the given name.
    All(&'static str),
}

impl Index {
    /// Creates the index of a single revision. Never fails: rustc and the const checks ensure consistency, and the
    /// tests of this crate check the references.
    pub fn exact(dialect: &'static Dialect, revision: &'static Revision) -> Self {
        Self::from_view(dialect, revision, &View::exact(dialect, revision))
    }

    /// Creates the index of all revisions, for clients.
    pub fn client(dialect: &'static Dialect) -> Self {
        Self::from_view(dialect, dialect.pinned(), &View::client(dialect))
    }

    fn from_view(dialect: &'static Dialect, revision: &'static Revision, view: &View) -> Self {
        let mut index = Index {
            dialect,
            revision,
            commands: Vec::new(),
            events: Vec::new(),
            dialogs: Vec::new(),
            errors: view.errors(dialect.errors),
            settings: Vec::new(),
            types: BTreeMap::new(),
        };
        index.collect(dialect, view);
        index.types = index.reachable(view);
        index
    }

    /// Collects the rows of a dialect, starting with its parents.
    fn collect(&mut self, dialect: &'static Dialect, view: &View) {
        if let Some(parent) = dialect.parent {
            self.collect(parent, view);
        }
        self.commands.retain(|command| !dialect.without.contains(&command.name));
        for row in dialect.rows.iter().copied().flatten() {
            match row {
                Row::Command(row) if view.has(row.span) => {
                    replace(&mut self.commands, view.command(row), |c| c.name);
                }
                Row::Event(row) if view.has(row.span) => {
                    // A row that replaces a parent's row also exists in older revisions.
                    let replaces = self.events.iter().any(|event| event.name == row.name);
                    let span = if replaces { Span::ALWAYS } else { row.span };
                    replace(
                        &mut self.events,
                        view.event(Box::leak(Box::new(Event { span, ..**row }))),
                        |e| e.name,
                    );
                }
                Row::Dialog(row) if view.has(row.span) => {
                    replace(&mut self.dialogs, view.dialog(row), |d| d.name);
                }
                Row::Type(_) | Row::Command(_) | Row::Event(_) | Row::Dialog(_) => {}
            }
        }
        self.settings.extend(dialect.settings);
    }

    /// Finds a dialect by name: `NAME` for its first revision, or `NAME@REVISION`. Returns `None` if there is no such
    /// dialect or revision.
    pub fn named(name: &str) -> Option<Self> {
        let (name, revision) = match name.split_once('@') {
            Some((name, revision)) => (name, Some(revision)),
            None => (name, None),
        };
        let dialect = crate::DIALECTS.iter().find(|dialect| dialect.name == name)?;
        let named = |known: &&Revision| revision.is_none_or(|revision| known.name == revision);
        dialect.revisions.iter().find(named).map(|revision| Index::exact(dialect, revision))
    }

    /// Returns every revision of every dialect.
    pub fn all() -> Vec<Self> {
        let of = |dialect: &&'static Dialect| {
            let dialect = *dialect;
            dialect.revisions.iter().map(move |revision| Index::exact(dialect, revision))
        };
        crate::DIALECTS.iter().flat_map(of).collect()
    }

    /// Returns the default revision of each dialect.
    pub fn pinned() -> Vec<Self> {
        crate::DIALECTS.iter().map(|dialect| Index::exact(dialect, dialect.pinned())).collect()
    }

    /// Returns every revision of the protocols that are served but are not dialects.
    pub fn protocols() -> Vec<Self> {
        let of = |dialect: &&'static Dialect| {
            let dialect = *dialect;
            dialect.revisions.iter().map(move |revision| Index::exact(dialect, revision))
        };
        crate::PROTOCOLS.iter().flat_map(of).collect()
    }

    /// Returns every dialect with all its revisions, for clients.
    pub fn clients() -> Vec<Self> {
        crate::DIALECTS.iter().map(|dialect| Index::client(dialect)).collect()
    }

    /// Returns the id `NAME@REVISION`.
    pub fn id(&self) -> String {
        format!("{}@{}", self.dialect.name, self.revision.name)
    }

    /// Finds a type of the dialect by name.
    pub fn type_def(&self, name: &str) -> Option<&'static TypeDef> {
        self.types.get(name).copied()
    }

    /// Returns the documented failures: first those of the commands, then those of the dialect. Each text occurs once.
    pub fn failures(&self) -> Vec<&'static ErrorText> {
        let mut failures: Vec<&'static ErrorText> = Vec::new();
        let rows = self.commands.iter().flat_map(|command| command.errors);
        for error in rows.chain(self.errors) {
            if !failures.iter().any(|known| known.code == error.code && known.text == error.text) {
                failures.push(error);
            }
        }
        failures
    }

    /// Returns the framing. An index for clients has the framing of the oldest revision; clients also accept events
    /// without an envelope.
    pub fn framing(&self) -> Framing {
        match self.dialect.framing {
            Framing::Enveloped if self.revision.edges.bare_events => Framing::Flat,
            framing => framing,
        }
    }

    /// Returns the frames of dialogs in flat dialects; `None` if there are no dialogs.
    pub fn dialog_frames(&self) -> Option<DialogFrames> {
        self.dialect.dialog_frames.filter(|_| !self.dialogs.is_empty())
    }

    /// Returns the command's parameters that have another name in some revisions, each with both names. An index of a
    /// single revision returns only the parameters that have the other name in that revision.
    pub fn renamed(&self, command: &Command) -> Vec<(&'static str, &'static str)> {
        let Some(name) = command.params else { return Vec::new() };
        let has = |member: &str| match self.type_def(name).map(|def| def.shape) {
            Some(Shape::Record { fields, .. }) => fields
                .iter()
                .any(|field| field.name == member || field.renamed.is_some_and(|(name, _)| name == member)),
            _ => false,
        };
        let Some(Shape::Record { fields, .. }) = declared_types().get(name).map(|def| def.shape) else {
            return Vec::new();
        };
        let both = fields.iter().filter_map(|field| Some((field.name, field.renamed?.0)));
        both.filter(|(_, later)| has(later)).collect()
    }

    /// Returns the name of the answer type for dialogs in flat dialects.
    pub fn dialog_answer(&self) -> Option<&'static str> {
        self.dialog_frames().map(|frames| frames.answer_type)
    }

    /// Returns the result of a dialog's handler.
    pub fn reply(&self, dialog: &Dialog) -> Reply {
        let Some(Ty::Named(name)) = dialog.answer else { return Reply::Nothing };
        if dialog.frames.is_some() {
            return Reply::All(name);
        }
        match self.type_def(name).map(|def| def.shape) {
            Some(Shape::Record { fields, .. }) => {
                fields.iter().find(|field| field.name != "id").map_or(Reply::Nothing, Reply::Member)
            }
            _ => Reply::Nothing,
        }
    }

    /// Returns the events for frames that are too long for one line; `None` if the dialect has no such events.
    pub fn chunks(&self) -> Option<Chunks> {
        self.dialect.chunks.filter(|chunks| self.events.iter().any(|event| event.name == chunks.event))
    }

    fn reachable(&self, view: &View) -> BTreeMap<&'static str, &'static TypeDef> {
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
            let progress = dialog.frames.and_then(|frames| frames.progress);
            names.extend(progress.iter().flat_map(|(_, ty)| named(ty)));
        }
        names.extend(self.dialog_answer());
        names.extend(self.settings.iter().flat_map(|setting| named(&setting.ty)));
        // Own types of a dialect that no frame carries (tool parameters, error objects) are included.
        let own = self.dialect.rows.iter().copied().flatten();
        if self.dialect.parent.is_some() || self.dialogs.is_empty() || self.dialect.dialog_frames.is_none() {
            names.extend(own.filter_map(|row| match row {
                Row::Type(def) if view.has(def.span) => Some(def.name),
                _ => None,
            }));
        }
        let mut types = BTreeMap::new();
        while let Some(name) = names.pop() {
            if types.contains_key(name) {
                continue;
            }
            let Some(def) = declared.get(name).map(|def| view.type_def(def)) else { continue };
            types.insert(def.name, def);
            names.extend(references(def));
        }
        types
    }
}

fn replace<T: ?Sized>(rows: &mut Vec<&'static T>, row: &'static T, name: impl Fn(&T) -> &'static str) {
    match rows.iter_mut().find(|old| name(old) == name(row)) {
        Some(old) => *old = row,
        None => rows.push(row),
    }
}

/// Returns the types that are reachable from the root type of a file format, as in the first revision of each dialect.
pub fn format_types(root: &str) -> BTreeMap<&'static str, &'static TypeDef> {
    let view = View::pinned();
    types_from(root, |def| view.type_def(def))
}

/// Returns the types that are reachable from the root type of a file format, with the members of all revisions. Clients
/// decode them in the same way as the types of frames.
pub fn shared_types(root: &str) -> BTreeMap<&'static str, &'static TypeDef> {
    types_from(root, view::merged_type)
}

fn types_from(
    root: &str,
    see: impl Fn(&'static TypeDef) -> &'static TypeDef,
) -> BTreeMap<&'static str, &'static TypeDef> {
    let declared = declared_types();
    let mut names: BTreeSet<&'static str> =
        declared.get_key_value(root).map(|(name, _)| *name).into_iter().collect();
    let mut types = BTreeMap::new();
    while let Some(name) = names.pop_first() {
        if types.contains_key(name) {
            continue;
        }
        let Some(def) = declared.get(name).map(|def| see(def)) else { continue };
        types.insert(def.name, def);
        names.extend(references(def));
    }
    types
}

/// Returns the declared types that a type refers to directly.
pub fn references(def: &TypeDef) -> Vec<&'static str> {
    match def.shape {
        Shape::Record { fields, .. } => fields.iter().flat_map(|field: &Field| named(&field.ty)).collect(),
        Shape::Union { variants, .. } => variants.to_vec(),
        Shape::Choice { alternatives } => alternatives.iter().flat_map(|a| named(&a.ty)).collect(),
        Shape::Strings { .. } => Vec::new(),
    }
}

/// Returns the declared type inside a type, if there is one.
pub fn named(ty: &Ty) -> Option<&'static str> {
    match ty {
        Ty::Named(name) => Some(name),
        Ty::List(item) | Ty::Map(item) => named(item),
        _ => None,
    }
}
