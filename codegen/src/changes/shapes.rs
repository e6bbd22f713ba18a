//! Changes within types: members, values of string sets, variants of unions.

use std::collections::BTreeSet;

use agentese_protocol::Index;
use agentese_protocol::index::{named, references};
use agentese_protocol::model::{Field, Shape, Ty, TypeDef};

use super::rules::{self, Rule, received, sent};
use super::{Change, ChangeKind};

/// The senders of a type.
#[derive(Debug, Clone, Copy)]
struct Senders {
    agents: bool,
    clients: bool,
}

impl Senders {
    const AGENTS: Senders = Senders { agents: true, clients: false };
    const CLIENTS: Senders = Senders { agents: false, clients: true };

    /// Returns the rule that applies to the senders of the type. If both sides send it and one of the two
    /// changes is incompatible, the rule of that change applies.
    fn rule(self, received: Rule, sent: Rule) -> Rule {
        match (self.agents, self.clients) {
            (true, true) if received.0 && !sent.0 => sent,
            (false, true) => sent,
            _ => received,
        }
    }
}

/// Adds the changes of a command's parameters.
pub(super) fn parameters(
    changes: &mut Vec<Change>,
    command: &str,
    old: Option<&TypeDef>,
    new: Option<&TypeDef>,
) {
    fields(changes, "parameter", command, members_of(old), members_of(new), Senders::CLIENTS);
}

/// Adds the changes of the members of an event or a dialog.
pub(super) fn members(changes: &mut Vec<Change>, owner: &str, old: Option<&TypeDef>, new: Option<&TypeDef>) {
    fields(changes, "member", owner, members_of(old), members_of(new), Senders::AGENTS);
}

fn members_of(def: Option<&TypeDef>) -> &'static [Field] {
    match def.map(|def| def.shape) {
        Some(Shape::Record { fields, .. }) => fields,
        _ => &[],
    }
}

/// Adds the changes of the types in both revisions. Omits types that belong to a single command, event or
/// dialog.
pub(super) fn types(changes: &mut Vec<Change>, old: &Index, new: &Index) {
    let own = own_types(old);
    let from_agents = reachable(old, &agents_send(old));
    let from_clients = reachable(old, &clients_send(old));
    for (name, before) in old.types.iter().filter(|(name, _)| !own.contains(*name)) {
        let Some(after) = new.type_def(name) else { continue };
        let clients = from_clients.contains(name);
        let senders = Senders { agents: from_agents.contains(name) || !clients, clients };
        match (before.shape, after.shape) {
            (Shape::Record { fields: was, .. }, Shape::Record { fields: is, .. }) => {
                fields(changes, "member", name, was, is, senders);
            }
            (Shape::Union { open, variants: was, .. }, Shape::Union { variants: is, .. }) => {
                listed(changes, "variant", name, was, is, (open, senders));
            }
            (Shape::Strings { open, values: was }, Shape::Strings { values: is, .. }) => {
                let strings = |values: &'static [agentese_protocol::model::StringValue]| {
                    values.iter().map(|value| value.value).collect::<Vec<_>>()
                };
                listed(changes, "value", name, &strings(was), &strings(is), (open, senders));
            }
            _ => {}
        }
    }
}

fn fields(
    changes: &mut Vec<Change>,
    what: &'static str,
    owner: &str,
    old: &[Field],
    new: &[Field],
    senders: Senders,
) {
    for field in new.iter().filter(|field| !old.iter().any(|before| before.name == field.name)) {
        let taken = if field.presence.is_required() { sent::REQUIRED_ADDED } else { sent::ADDED };
        let rule = senders.rule(received::ADDED, taken);
        changes.push(Change::new(ChangeKind::Added, what, format!("{owner}.{}", field.name), rule));
    }
    for before in old {
        let name = format!("{owner}.{}", before.name);
        let was = before.presence;
        let Some(after) = new.iter().find(|field| field.name == before.name) else {
            let missing = if was.is_required() { received::REMOVED } else { received::OPTIONAL_REMOVED };
            changes.push(Change::new(ChangeKind::Removed, what, name, senders.rule(missing, sent::REMOVED)));
            continue;
        };
        let is = after.presence;
        if was.is_required() && !is.is_required() {
            let rule = senders.rule(received::MADE_OPTIONAL, sent::MADE_OPTIONAL);
            changes.push(Change::new(ChangeKind::MadeOptional, what, &name, rule));
        }
        if !was.is_required() && is.is_required() {
            let rule = senders.rule(received::MADE_REQUIRED, sent::MADE_REQUIRED);
            changes.push(Change::new(ChangeKind::MadeRequired, what, &name, rule));
        }
        if was.is_nullable() != is.is_nullable() {
            let rule = match is.is_nullable() {
                true => senders.rule(rules::MAY_BE_NULL, rules::NULL_TAKEN),
                false => senders.rule(rules::NEVER_NULL, rules::NULL_REFUSED),
            };
            let word = |nullable: bool| if nullable { "may be null" } else { "never null" };
            let change = Change::new(ChangeKind::Changed, what, &name, rule);
            changes.push(change.between(word(was.is_nullable()), word(is.is_nullable())));
        }
        if before.ty != after.ty {
            let change = Change::new(ChangeKind::Changed, what, &name, rules::TYPE_CHANGED);
            changes.push(change.between(type_name(&before.ty), type_name(&after.ty)));
        }
    }
}

fn listed(
    changes: &mut Vec<Change>,
    what: &'static str,
    owner: &str,
    old: &[&str],
    new: &[&str],
    (open, senders): (bool, Senders),
) {
    for name in new.iter().filter(|name| !old.contains(name)) {
        let rule = if open { received::OPEN_ADDED } else { received::CLOSED_ADDED };
        let rule = senders.rule(rule, sent::LISTED_ADDED);
        changes.push(Change::new(ChangeKind::Added, what, format!("{owner}.{name}"), rule));
    }
    for name in old.iter().filter(|name| !new.contains(name)) {
        let rule = senders.rule(received::LISTED_REMOVED, sent::LISTED_REMOVED);
        changes.push(Change::new(ChangeKind::Removed, what, format!("{owner}.{name}"), rule));
    }
}

/// Returns the types that belong to a single command, event or dialog. Their changes are listed under its name.
fn own_types(index: &Index) -> BTreeSet<&'static str> {
    let commands = index.commands.iter().filter_map(|command| command.params);
    let events = index.events.iter().map(|event| event.payload.name);
    let dialogs = index.dialogs.iter().map(|dialog| dialog.params.name);
    commands.chain(events).chain(dialogs).collect()
}

fn agents_send(index: &Index) -> Vec<&'static str> {
    let results = index.commands.iter().filter_map(|command| command.result.as_ref().and_then(named));
    let events = index.events.iter().map(|event| event.payload.name);
    let dialogs = index.dialogs.iter().map(|dialog| dialog.params.name);
    results.chain(events).chain(dialogs).collect()
}

fn clients_send(index: &Index) -> Vec<&'static str> {
    let params = index.commands.iter().filter_map(|command| command.params);
    let answers = index.dialogs.iter().filter_map(|dialog| dialog.answer.as_ref().and_then(named));
    params.chain(answers).chain(index.dialog_answer()).collect()
}

fn reachable(index: &Index, roots: &[&'static str]) -> BTreeSet<&'static str> {
    let mut open = roots.to_vec();
    let mut reached = BTreeSet::new();
    while let Some(name) = open.pop() {
        if reached.insert(name) {
            open.extend(index.type_def(name).iter().flat_map(|def| references(def)));
        }
    }
    reached
}

/// Describes a type in words.
pub(super) fn type_name(ty: &Ty) -> String {
    match ty {
        Ty::String => "string".to_owned(),
        Ty::Boolean => "boolean".to_owned(),
        Ty::Integer => "integer".to_owned(),
        Ty::Count => "integer from 0".to_owned(),
        Ty::Number => "number".to_owned(),
        Ty::Any => "any value".to_owned(),
        Ty::Object => "object".to_owned(),
        Ty::List(item) => format!("array of {}", type_name(item)),
        Ty::Map(value) => format!("object of {}", type_name(value)),
        Ty::Named(name) => (*name).to_owned(),
    }
}
