//! What changes from one revision of a dialect to a later one, and whether a client of the older one survives it.
//!
//! Both are looked at through their exact views. [`artefacts`] gives one JSON file per pair, `sdk-rust/schema/changes`.

mod rules;
mod shapes;

use agentese_protocol::dialect::Edges;
use agentese_protocol::model::{Command, Event, RunEffect};
use agentese_protocol::{DIALECTS, Index};
use serde::Serialize;

use crate::Artefact;
use crate::names::words;

/// The folder of the JSON files, from the root of the repository.
pub const FOLDER: &str = "sdk-rust/schema/changes";

/// All changes from one revision to a later one.
#[derive(Debug, Serialize)]
pub struct Changes {
    /// The older revision, as in `pi@0.55`.
    pub from: String,
    /// The later one.
    pub to: String,
    /// Whether a client of the older revision survives all of them.
    pub survives: bool,
    /// The changes.
    pub changes: Vec<Change>,
}

/// How something changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It was not there.
    Added,
    /// It is not there any more.
    Removed,
    /// It has another name.
    Renamed,
    /// A member that was always there may be left out.
    MadeOptional,
    /// A member that could be left out is always there.
    MadeRequired,
    /// It is still there, and different.
    Changed,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// How it changed.
    pub change: How,
    /// What it is: `command`, `parameter`, `result`, `event`, `dialog`, `member`, `value`, `variant`, `failure`,
    /// `edge`, `run`.
    pub what: &'static str,
    /// Its name; a member's, value's or variant's with the name of what it belongs to, as in `prompt.images`.
    pub name: String,
    /// The old name or value, where there is one to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The new value, where there is one to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Whether a client of the older revision survives it.
    pub survives: bool,
    /// What such a client sees of it.
    pub because: &'static str,
}

impl Change {
    fn new(change: How, what: &'static str, name: impl Into<String>, rule: rules::Rule) -> Self {
        let (survives, because) = rule;
        Self { change, what, name: name.into(), before: None, after: None, survives, because }
    }

    fn between(mut self, before: impl Into<String>, after: impl Into<String>) -> Self {
        self.before = Some(before.into());
        self.after = Some(after.into());
        self
    }
}

/// Every pair of an older and a later revision of one dialect.
pub fn all() -> Vec<Changes> {
    let mut pairs = Vec::new();
    for dialect in DIALECTS {
        for (position, later) in dialect.revisions.iter().enumerate() {
            for older in &dialect.revisions[..position] {
                pairs.push(between(&Index::exact(dialect, older), &Index::exact(dialect, later)));
            }
        }
    }
    pairs
}

/// The path of the file of a pair, from [`FOLDER`].
pub fn file_name(changes: &Changes) -> String {
    format!("{}..{}.json", changes.from, changes.to)
}

/// One JSON file per pair of revisions.
pub fn artefacts() -> Vec<Artefact> {
    let file = |changes: &Changes| {
        let text = serde_json::to_string_pretty(changes).unwrap_or_default();
        Artefact::new(format!("{FOLDER}/{}", file_name(changes)), format!("{text}\n"))
    };
    all().iter().map(file).collect()
}

/// What changes between two revisions.
pub fn between(old: &Index, new: &Index) -> Changes {
    let mut changes = Vec::new();
    commands(&mut changes, old, new);
    events(&mut changes, old, new);
    dialogs(&mut changes, old, new);
    shapes::types(&mut changes, old, new);
    failures(&mut changes, old, new);
    edges(&mut changes, &old.revision.edges, &new.revision.edges);
    run_end(&mut changes, old, new);
    renames(&mut changes);
    changes.sort_by_key(|change| change.change);
    let survives = changes.iter().all(|change| change.survives);
    Changes { from: old.id(), to: new.id(), survives, changes }
}

fn commands(changes: &mut Vec<Change>, old: &Index, new: &Index) {
    let named = |index: &Index, wire: &str| -> Option<&'static Command> {
        index.commands.iter().copied().find(|command| command.wire == wire)
    };
    for row in new.commands.iter().filter(|row| named(old, row.wire).is_none()) {
        changes.push(Change::new(How::Added, "command", row.wire, rules::COMMAND_ADDED));
    }
    for before in &old.commands {
        let Some(after) = named(new, before.wire) else {
            changes.push(Change::new(How::Removed, "command", before.wire, rules::COMMAND_REMOVED));
            continue;
        };
        let params = |index: &Index, row: &Command| row.params.and_then(|name| index.type_def(name));
        shapes::parameters(changes, before.wire, params(old, before), params(new, after));
        match (before.result, after.result) {
            (None, Some(_)) => {
                changes.push(Change::new(How::Added, "result", before.wire, rules::RESULT_ADDED));
            }
            (Some(_), None) => {
                changes.push(Change::new(How::Removed, "result", before.wire, rules::RESULT_REMOVED));
            }
            (Some(was), Some(is)) if was != is => {
                let change = Change::new(How::Changed, "result", before.wire, rules::TYPE_CHANGED);
                changes.push(change.between(shapes::type_name(&was), shapes::type_name(&is)));
            }
            _ => {}
        }
        if before.result.is_some() && !before.result_nullable && after.result_nullable {
            changes.push(Change::new(How::Changed, "result", before.wire, rules::MAY_BE_NULL));
        }
    }
}

fn events(changes: &mut Vec<Change>, old: &Index, new: &Index) {
    let named = |index: &Index, name: &str| -> Option<&'static Event> {
        index.events.iter().copied().find(|event| event.name == name)
    };
    for row in new.events.iter().filter(|row| named(old, row.name).is_none()) {
        let rule = if old.dialect.events_open { rules::EVENT_ADDED } else { rules::EVENT_ADDED_CLOSED };
        changes.push(Change::new(How::Added, "event", row.name, rule));
    }
    for before in &old.events {
        let Some(after) = named(new, before.name) else {
            changes.push(Change::new(How::Removed, "event", before.name, rules::EVENT_REMOVED));
            continue;
        };
        shapes::members(changes, before.name, Some(before.payload), Some(after.payload));
        if before.run != after.run {
            let ends =
                |run: RunEffect| !matches!(run, RunEffect::None | RunEffect::Begins | RunEffect::Holds);
            let rule =
                if ends(before.run) && !ends(after.run) { rules::END_LOST } else { rules::RUN_CHANGED };
            let change = Change::new(How::Changed, "run", before.name, rule);
            changes.push(change.between(effect(before.run), effect(after.run)));
        }
    }
}

/// What an event says about the run, in words.
fn effect(run: RunEffect) -> String {
    match run {
        RunEffect::None => "says nothing about the run".to_owned(),
        RunEffect::Begins => "work goes on".to_owned(),
        RunEffect::MayEnd => "the run is over unless something follows".to_owned(),
        RunEffect::Holds => "the run is not over".to_owned(),
        RunEffect::MayEndUnless(member) => {
            format!("the run is over unless something follows or {member} is true")
        }
        RunEffect::HoldsIf(member) => format!("the run is not over, except where {member} is false"),
        RunEffect::Ends => "the run is over".to_owned(),
    }
}

fn dialogs(changes: &mut Vec<Change>, old: &Index, new: &Index) {
    for row in &new.dialogs {
        if !old.dialogs.iter().any(|before| before.wire == row.wire) {
            let rule = if row.answer.is_some() { rules::QUESTION_ADDED } else { rules::NOTICE_ADDED };
            changes.push(Change::new(How::Added, "dialog", row.wire, rule));
        }
    }
    for before in &old.dialogs {
        match new.dialogs.iter().find(|row| row.wire == before.wire) {
            None => changes.push(Change::new(How::Removed, "dialog", before.wire, rules::DIALOG_REMOVED)),
            Some(after) => {
                shapes::members(changes, before.wire, Some(before.params), Some(after.params));
                if before.answer != after.answer {
                    changes.push(Change::new(How::Changed, "dialog", before.wire, rules::ANSWER_CHANGED));
                }
            }
        }
    }
}

fn failures(changes: &mut Vec<Change>, old: &Index, new: &Index) {
    let (before, after) = (old.failures(), new.failures());
    let has = |known: &[&agentese_protocol::model::ErrorText], text: &str, code: Option<i32>| {
        known.iter().any(|error| error.text == text && error.code == code)
    };
    for error in after.iter().filter(|error| !has(&before, error.text, error.code)) {
        changes.push(Change::new(How::Added, "failure", error.text, rules::FAILURE_ADDED));
    }
    for error in before.iter().filter(|error| !has(&after, error.text, error.code)) {
        changes.push(Change::new(How::Removed, "failure", error.text, rules::FAILURE_REMOVED));
    }
}

/// The rules at the edges, each by its name in the declaration.
fn edges(changes: &mut Vec<Change>, old: &Edges, new: &Edges) {
    let debug = |value: &dyn std::fmt::Debug| format!("{value:?}");
    macro_rules! compare {
        ($($edge:ident: $rule:expr,)*) => {$(
            let (before, after) = (debug(&old.$edge), debug(&new.$edge));
            if before != after {
                changes.push(Change::new(How::Changed, "edge", stringify!($edge), $rule).between(before, after));
            }
        )*};
    }
    let less = |had: bool, has: bool| if had && !has { rules::EDGE_MATTERS } else { rules::EDGE_HARMLESS };
    compare! {
        unknown_command_echoes_id: less(old.unknown_command_echoes_id, new.unknown_command_echoes_id),
        unknown_command_text: rules::EDGE_TEXT,
        handler_failure: rules::EDGE_MATTERS,
        parse_prefix: rules::EDGE_TEXT,
        parse_command: rules::EDGE_MATTERS,
        blank_line_is_error: rules::EDGE_HARMLESS,
        unfinished_line_counts: less(old.unfinished_line_counts, new.unfinished_line_counts),
        empty_data: less(old.empty_data, new.empty_data),
        response_order: rules::EDGE_HARMLESS,
        end_of_input: rules::EDGE_END_OF_INPUT,
    }
}

/// How a run ends.
fn run_end(changes: &mut Vec<Change>, old: &Index, new: &Index) {
    let (before, after) = (&old.revision.run_end, &new.revision.run_end);
    if before.answer_ends != after.answer_ends {
        let rule = if before.answer_ends { rules::END_LOST } else { rules::RUN_CHANGED };
        let change = Change::new(How::Changed, "run", "the answer of a prompt ends the run", rule);
        changes.push(change.between(before.answer_ends.to_string(), after.answer_ends.to_string()));
    }
    let command = |barrier: Option<agentese_protocol::dialect::Barrier>| {
        barrier.map_or_else(|| "not needed".to_owned(), |barrier| barrier.command.to_owned())
    };
    let (was, is) = (command(before.barrier), command(after.barrier));
    if was != is {
        let there = before
            .barrier
            .is_none_or(|barrier| new.commands.iter().any(|command| command.wire == barrier.command));
        let rule = if there && before.barrier.is_some() { rules::RUN_CHANGED } else { rules::END_LOST };
        changes
            .push(Change::new(How::Changed, "run", "the command that proves its end", rule).between(was, is));
    }
}

/// Joins a removal and an addition of the same kind to one change of name where the words of one name end with those of
/// the other, and exactly one addition fits.
fn renames(changes: &mut Vec<Change>) {
    let removed: Vec<Change> =
        changes.iter().filter(|change| change.change == How::Removed).cloned().collect();
    for old in removed.iter().filter(|change| !matches!(change.what, "failure" | "result")) {
        let fits = |new: &Change| {
            let ((old_owner, old_name), (new_owner, new_name)) = (owner(&old.name), owner(&new.name));
            let (was, is) = (words(old_name), words(new_name));
            new.change == How::Added
                && new.what == old.what
                && old_owner == new_owner
                && (was.ends_with(&is) || is.ends_with(&was))
        };
        let mut fitting = changes.iter().enumerate().filter(|(_, change)| fits(change));
        let (Some((position, _)), None) = (fitting.next(), fitting.next()) else { continue };
        let new = changes.remove(position);
        changes.retain(|change| change != old);
        let survives = old.survives && new.survives;
        let because = if old.survives { new.because } else { old.because };
        let rename = Change::new(How::Renamed, old.what, new.name.clone(), (survives, because));
        changes.push(rename.between(old.name.clone(), new.name));
    }
}

/// What a member, value or variant belongs to, and its own name.
fn owner(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or(("", name))
}
