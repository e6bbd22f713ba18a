//! Fidelity of a front end of one dialect with an agent of another, for each row, computed from the declared
//! tables.

mod differences;

use std::collections::BTreeSet;

use serde::Serialize;

use super::effects::{Effect, TOOL_OUTPUT, effects, fallback_reducers, of_command};
use super::members::{self, Member, MemberPartition, RowRef};
use super::table::{CommandMapping, Fallback, IntentTable, ParamSource, intent_spec, table_of};
use crate::error::Error;
use crate::generated::intents::Intent;
use crate::spec::{RunRole, Spec};
use crate::view::meaning::{Reducer, Rule, Rules};

pub use differences::Difference;

/// Kind of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RowKind {
    /// A command, which the front end sends.
    Command,
    /// An event, which the front end receives.
    Event,
    /// A question or a notification for the front end.
    Dialog,
}

/// Fidelity of the translation of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Fidelity {
    /// The agent has an equivalent.
    Carried,
    /// The translator derives the row from earlier frames, or the agent supports only a part of the row.
    Approximated,
    /// The agent has no equivalent.
    Lost,
}

/// Result of the translation of one row (command, event or dialog) of the front end's dialect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RowFidelity {
    /// Kind of the row.
    pub kind: RowKind,
    /// Wire name of the row.
    pub row: String,
    /// Fidelity of the translation.
    #[serde(rename = "fate")]
    pub fidelity: Fidelity,
    /// Reason for a loss, or method of an approximation; empty if the row is carried completely.
    pub reason: String,
    /// The intents of a command; empty for events and dialogs.
    pub intents: Vec<&'static str>,
    /// Wire names of the command parameters that do not reach the agent; empty if the command is lost.
    #[serde(rename = "untaken")]
    pub unsupported_params: Vec<String>,
    /// Differences in the effects or the response of the command, compared to an agent of the front end's
    /// dialect.
    #[serde(rename = "differs", skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// The members of the row's responses or frames whose values come from the agent; empty if the row is lost.
    pub members: Vec<Member>,
    /// Members that the agent does not send. The translator derives them from earlier frames or omits them.
    /// Members that are neither here nor in `members`, such as repetitions of other frames, do not come from
    /// the agent either.
    #[serde(rename = "untold")]
    pub missing_members: Vec<Member>,
    /// Changes to the conversation that a lost command would have caused, as neutral paths. A path includes
    /// everything inside its value. The command has no other effects.
    pub changes: Vec<String>,
}

/// Returns the result of the translation for each row of the front end's dialect, with an agent of another
/// dialect behind it. Each argument is the tables of one revision, or the tables of a client, which contain
/// all revisions.
///
/// # Errors
/// [`Error::UnknownDialect`] if the feature of one of the dialects is off.
///
/// ```
/// use agentese::any::{Fidelity, RowKind, explain};
/// use agentese::dynamic::spec;
///
/// let rows = explain(spec("pi")?, spec("opal")?)?;
/// let export = rows.iter().find(|row| row.kind == RowKind::Command && row.row == "export_html").unwrap();
/// assert_eq!(export.fidelity, Fidelity::Lost);
/// # Ok::<(), agentese::Error>(())
/// ```
pub fn explain(front: &Spec, agent: &Spec) -> Result<Vec<RowFidelity>, Error> {
    let pair = DialectPair { front: dialect_tables(front)?, agent: dialect_tables(agent)? };
    let commands = front.commands.iter().map(|row| (pair.command(row.wire), RowRef::Command(row.wire)));
    let events = front.events.iter().map(|row| (pair.event(row.name), RowRef::Event(row.name)));
    let dialogs = front.dialogs.iter().map(|row| (pair.dialog(row.wire), RowRef::Dialog(row.wire)));
    let sides = ((front, pair.front.table), (agent, pair.agent.table));
    let with_members = |(mut fate, row): (RowFidelity, RowRef<'_>)| {
        match (fate.fidelity, row) {
            (Fidelity::Lost, RowRef::Command(wire)) => {
                fate.changes = members::changed(sides.0, wire).into_iter().collect();
            }
            (Fidelity::Lost, _) => {}
            (_, row) => {
                MemberPartition { provided: fate.members, missing: fate.missing_members } =
                    members::members(sides.0, sides.1, &row);
                if let RowRef::Command(wire) = row {
                    fate.unsupported_params = pair.unsupported_params(wire);
                    fate.differences = pair.differences(wire);
                }
            }
        }
        fate
    };
    Ok(commands.chain(events).chain(dialogs).map(with_members).collect())
}

fn dialect_tables(spec: &Spec) -> Result<DialectTables<'_>, Error> {
    let known = || Error::UnknownDialect { dialect: spec.name.to_owned(), known: crate::dynamic::known() };
    Ok(DialectTables { spec, table: table_of(spec.name).ok_or_else(known)? })
}

struct DialectTables<'a> {
    spec: &'a Spec,
    table: &'static IntentTable,
}

impl DialectTables<'_> {
    /// Returns all effects that the dialect's frames have on a conversation.
    fn all_effects(&self) -> BTreeSet<Effect> {
        let meaning = &self.table.meaning;
        let events = meaning.events.iter().filter(|(name, _)| self.spec.event(name).is_some());
        let dialogs = meaning.dialogs.iter().filter(|(name, _)| self.spec.dialog(name).is_some());
        let own = |rules: &'static Rules| rules.iter().filter(|(name, _)| self.spec.command(name).is_some());
        let commands = own(&meaning.sent).chain(own(&meaning.answers)).chain(own(&meaning.refused));
        let asked = commands.flat_map(|(_, rules)| rules).flat_map(effects).map(of_command);
        events.chain(dialogs).flat_map(|(_, rules)| rules).flat_map(effects).chain(asked).collect()
    }
}

/// Combines the fidelities of a command with several intents. If they differ, the command is approximated. The
/// reason lists every reason with its intents.
fn combine_fidelities(fates: impl Iterator<Item = (Intent, (Fidelity, String))>) -> (Fidelity, String) {
    let fates: Vec<_> = fates.collect();
    let fate = match &fates[..] {
        [] => Fidelity::Lost,
        [(_, (first, _)), rest @ ..] if rest.iter().all(|(_, (fate, _))| fate == first) => *first,
        _ => Fidelity::Approximated,
    };
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for (intent, (_, reason)) in fates.iter().filter(|(_, (_, reason))| !reason.is_empty()) {
        let name = format!("`{}`", intent.name());
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, names)) => names.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    let text = match &reasons[..] {
        // The reason applies to the whole command.
        [(reason, names)] if names.len() == fates.len() => (*reason).to_owned(),
        reasons => {
            let each = reasons.iter().map(|(reason, names)| format!("{}: {reason}", names.join(", ")));
            each.collect::<Vec<_>>().join("; ")
        }
    };
    (fate, text)
}

/// Returns the row of an event or a dialog.
fn frame_row(kind: RowKind, name: &str, fate: Fidelity, reason: &str) -> RowFidelity {
    let (row, reason) = (name.to_owned(), reason.to_owned());
    let (intents, untaken, differs, changes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (members, untold) = (Vec::new(), Vec::new());
    RowFidelity {
        kind,
        row,
        fidelity: fate,
        reason,
        intents,
        unsupported_params: untaken,
        differences: differs,
        members,
        missing_members: untold,
        changes,
    }
}

/// Members of a conversation whose changes the translator stores but does not forward to the front end.
const STORED_MEMBERS: &[&str] = &["todos"];

struct DialectPair<'a> {
    front: DialectTables<'a>,
    agent: DialectTables<'a>,
}

impl DialectPair<'_> {
    fn is_same_dialect(&self) -> bool {
        self.front.spec.name == self.agent.spec.name
    }

    /// Returns the intents of a command of the front end.
    fn intents_of(&self, wire: &str) -> impl Iterator<Item = (Intent, &'static CommandMapping)> {
        let table = self.front.table;
        let mappings = Intent::ALL
            .iter()
            .flat_map(|intent| table.mappings(*intent).iter().map(|mapping| (*intent, mapping)));
        mappings.filter(move |(_, mapping)| mapping.command == wire)
    }

    /// Returns the parameters of a command that do not reach the agent for at least one of its intents.
    fn unsupported_params(&self, wire: &str) -> Vec<String> {
        let beside = self.front.table.companions.get(wire).filter(|_| !self.is_same_dialect());
        let mut names: BTreeSet<&String> = beside.into_iter().flatten().collect();
        for (intent, front) in self.intents_of(wire) {
            let untaken = self.unsupported_slots(intent, front);
            let is_untaken = |send: &ParamSource| send.params().iter().any(|param| untaken.contains(&param));
            names.extend(front.sends.iter().filter(|(_, send)| is_untaken(send)).map(|(name, _)| name));
        }
        names.into_iter().cloned().collect()
    }

    fn command(&self, wire: &str) -> RowFidelity {
        let table = self.front.table;
        let stands_for: Vec<(Intent, &'static CommandMapping)> = self.intents_of(wire).collect();
        let intents = stands_for.iter().map(|(intent, _)| intent.name()).collect();
        let row = |(fate, reason): (Fidelity, String)| RowFidelity {
            kind: RowKind::Command,
            row: wire.to_owned(),
            fidelity: fate,
            reason,
            intents,
            ..frame_row(RowKind::Command, wire, fate, "")
        };
        if self.is_same_dialect() && self.agent.spec.command(wire).is_some() {
            let untaken =
                stands_for.iter().find_map(|(intent, front)| self.describe_unsupported(*intent, front));
            return row(
                untaken.map_or((Fidelity::Carried, String::new()), |why| (Fidelity::Approximated, why))
            );
        }
        if stands_for.is_empty() {
            let own = table.dialect_only.get(wire);
            let is_own =
                self.agent.table.dialect_only.contains_key(wire) && self.agent.spec.command(wire).is_some();
            return row(match own {
                _ if is_own => (Fidelity::Carried, String::new()),
                Some(own) if own.by_front => (Fidelity::Approximated, own.reason.clone()),
                Some(own) => (Fidelity::Lost, own.reason.clone()),
                None => (Fidelity::Lost, "no mapping is declared for it".to_owned()),
            });
        }
        let fate = combine_fidelities(
            stands_for.iter().map(|(intent, front)| (*intent, self.intent_fidelity(wire, *intent, front))),
        );
        row(self.adjust_for_companions(wire, fate))
    }

    /// Reduces the fidelity of a command if it has parameters that only agents of its own dialect support.
    fn adjust_for_companions(&self, wire: &str, (fate, reason): (Fidelity, String)) -> (Fidelity, String) {
        let beside = self.front.table.companions.get(wire).filter(|_| fate != Fidelity::Lost);
        let Some(beside) = beside else { return (fate, reason) };
        let names: Vec<String> = beside.iter().map(|param| format!("`{param}`")).collect();
        let mut reasons = vec![reason];
        reasons.retain(|reason| !reason.is_empty());
        reasons.push(format!("not forwarded: {}", names.join(", ")));
        (Fidelity::Approximated, reasons.join("; "))
    }

    fn intent_fidelity(
        &self,
        wire: &str,
        intent: Intent,
        front: &'static CommandMapping,
    ) -> (Fidelity, String) {
        let Some(mapping) = self.agent.table.mapping(self.agent.spec, intent) else {
            return self.fidelity_without_command(intent, front);
        };
        let missing: Vec<String> = front
            .gives
            .keys()
            .filter(|slot| !mapping.gives.contains_key(*slot))
            .map(|slot| format!("`{slot}`"))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let mut reasons: Vec<String> =
            self.divergences(intent, front).into_iter().map(|differs| differs.says.clone()).collect();
        let several = |side: &DialectTables<'_>| side.spec.session_member.is_some();
        let begins = matches!(intent, Intent::NewSession | Intent::OpenSession);
        if begins && several(&self.front) && !several(&self.agent) {
            reasons.push("the agent has one session at a time".to_owned());
        }
        reasons.extend(self.describe_unsupported(intent, front));
        if !missing.is_empty() {
            reasons.push(format!("the answer to `{}` has no {}", mapping.command, missing.join(", ")));
        }
        // A response at the end of the work must be derived from the events of the work.
        let role = |side: &DialectTables<'_>, wire: &str| side.spec.command(wire).map(|row| row.run);
        let ends = |side: &DialectTables<'_>| side.spec.run_end.answer_ends;
        if role(&self.front, wire) == Some(RunRole::Starts) && ends(&self.front) != ends(&self.agent) {
            reasons.push("the answer arrives at the end of the run in only one of the dialects".to_owned());
        }
        match reasons.is_empty() {
            true => (Fidelity::Carried, String::new()),
            false => (Fidelity::Approximated, reasons.join("; ")),
        }
    }

    /// Returns the neutral parameters that the front end's command has and the agent's command does not accept.
    /// Returns an empty list if the agent has no command for the intent.
    fn unsupported_slots<'b>(&self, intent: Intent, front: &'b CommandMapping) -> Vec<&'b String> {
        let Some(mapping) = self.agent.table.mapping(self.agent.spec, intent) else { return Vec::new() };
        let taken: BTreeSet<&String> = mapping.params(self.agent.spec).collect();
        front.params(self.front.spec).filter(|param| !taken.contains(param)).collect()
    }

    /// Returns a sentence that names the unsupported parameters, or `None` if all are supported.
    fn describe_unsupported(&self, intent: Intent, front: &CommandMapping) -> Option<String> {
        let (side, spec) = (&self.agent, self.agent.spec);
        let mapping = side.table.mapping(spec, intent)?;
        let untaken = self.unsupported_slots(intent, front);
        let some = |revision: &&Spec| mapping.params(revision).any(|param| untaken.contains(&param));
        let partly = if spec.revisions.iter().any(some) { " in all revisions" } else { "" };
        let names: Vec<String> = untaken.iter().map(|param| format!("`{param}`")).collect();
        (!names.is_empty())
            .then(|| format!("`{}` does not take {}{partly}", mapping.command, names.join(", ")))
    }

    /// Returns the fidelity of an intent for which the agent has no command.
    fn fidelity_without_command(&self, intent: Intent, front: &CommandMapping) -> (Fidelity, String) {
        let also = |how: &str| {
            let also = front.alone.iter().map(|differs| differs.says.as_str());
            (Fidelity::Approximated, std::iter::once(how).chain(also).collect::<Vec<_>>().join("; "))
        };
        match intent_spec(intent).map(|row| &row.without) {
            Some(Fallback::Lost { lost }) => (Fidelity::Lost, lost.clone()),
            Some(Fallback::Seen { seen }) => also(seen),
            Some(Fallback::Through { through, how }) => {
                let has = |name: &String| {
                    let intent = Intent::ALL.iter().find(|intent| intent.name() == name);
                    intent.is_some_and(|intent| self.agent.table.mapping(self.agent.spec, *intent).is_some())
                };
                match through.iter().find(|name| !has(name)) {
                    None => also(&how.says),
                    Some(name) => (Fidelity::Lost, format!("the agent has no command for `{name}`")),
                }
            }
            None => (Fidelity::Lost, "no mapping is declared for it".to_owned()),
        }
    }

    fn event(&self, name: &str) -> RowFidelity {
        let rules = self.front.table.meaning.events.get(name);
        let own_effects: BTreeSet<Effect> = rules.into_iter().flatten().flat_map(effects).collect();
        let is_kept =
            |(act, member): &Effect| *act == Reducer::Set && STORED_MEMBERS.contains(&member.as_str());
        if !self.is_same_dialect() && !own_effects.is_empty() && own_effects.iter().all(is_kept) {
            return frame_row(
                RowKind::Event,
                name,
                Fidelity::Lost,
                "the to-do list of the agent is not forwarded",
            );
        }
        let same = self.agent.spec.event(name).is_some() && self.is_same_family();
        let is_made = self.front.table.derived_events.iter().any(|made| made == name);
        self.frame_fidelity(RowKind::Event, name, rules, same, is_made)
    }

    fn dialog(&self, wire: &str) -> RowFidelity {
        let rules = self.front.table.meaning.dialogs.get(wire);
        let same = self.agent.spec.dialog(wire).is_some() && self.is_same_family();
        let row = self.frame_fidelity(RowKind::Dialog, wire, rules, same, false);
        match self.front.table.by_tool.get(wire).filter(|_| !same && row.fidelity == Fidelity::Carried) {
            Some(tool) => RowFidelity {
                fidelity: Fidelity::Approximated,
                reason: format!("the agent has no tool `{tool}`: only its other questions have this form"),
                ..row
            },
            None => row,
        }
    }

    /// Returns `true` if both dialects belong to one family. Within a family, rows with the same name have the
    /// same meaning.
    fn is_same_family(&self) -> bool {
        self.front.spec.framing == self.agent.spec.framing
    }

    fn frame_fidelity(
        &self,
        kind: RowKind,
        name: &str,
        rules: Option<&Vec<Rule>>,
        same: bool,
        made: bool,
    ) -> RowFidelity {
        let row = |fate, reason: &str| frame_row(kind, name, fate, reason);
        if same {
            return row(Fidelity::Carried, "");
        }
        if made {
            return row(Fidelity::Approximated, "derived from other frames");
        }
        let wanted: BTreeSet<Effect> = rules.into_iter().flatten().flat_map(effects).collect();
        if wanted.is_empty() {
            return row(Fidelity::Lost, "the agent reports nothing equivalent");
        }
        let agent_effects = self.agent.all_effects();
        let is_reported = |effect: &&Effect| agent_effects.contains(*effect);
        let reported = wanted.iter().filter(is_reported).count();
        let is_near = |(act, kind): &Effect| {
            // No other effect replaces the output of a running tool.
            if kind == TOOL_OUTPUT {
                return false;
            }
            let acts = fallback_reducers(*act);
            agent_effects.iter().any(|(other, _)| {
                other == act && !matches!(act, Reducer::Ask | Reducer::Entry | Reducer::Set)
            }) || agent_effects.iter().any(|(other, _)| acts.contains(other))
        };
        match () {
            () if reported == wanted.len() => row(Fidelity::Carried, ""),
            () if reported > 0 => row(Fidelity::Approximated, "the agent reports a part of it"),
            () if wanted.iter().any(is_near) => {
                row(Fidelity::Approximated, "derived from other frames of the agent")
            }
            () if kind == RowKind::Dialog => row(Fidelity::Lost, "the agent sends no such dialog"),
            () => row(Fidelity::Lost, "the agent reports nothing equivalent"),
        }
    }
}

#[cfg(test)]
mod tests;
