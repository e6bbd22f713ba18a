//! The tables of meaning cover all declared rows, and no others.

use agentese_protocol::dialect::Dialect;
use agentese_protocol::index::declared_types;
use agentese_protocol::meaning::{Condition, RuleTarget, Source, resolve};
use agentese_protocol::measure::{MEASURES, Measures};
use agentese_protocol::model::{Event, Field, Shape, Ty};
use agentese_protocol::{DIALECTS, Index};

/// Every row of a dialect has a rule or is listed as silent.
#[test]
fn every_row_has_a_meaning_or_is_silent() {
    for index in Index::clients() {
        let meaning = resolve(&index);
        let is_covered =
            |on: RuleTarget| meaning.rules.iter().any(|rule| rule.on == on) || meaning.silent.contains(&on);
        let name = index.dialect.name;
        for event in &index.events {
            assert!(is_covered(RuleTarget::Event(event.name)), "{name}: no rule for `{}`", event.name);
        }
        for command in &index.commands {
            let wire = command.wire;
            let any = [RuleTarget::Sent(wire), RuleTarget::Answer(wire), RuleTarget::Refused(wire)]
                .into_iter()
                .any(is_covered);
            assert!(any, "{name}: no rule for `{wire}`");
        }
        for dialog in &index.dialogs {
            assert!(is_covered(RuleTarget::Dialog(dialog.wire)), "{name}: no rule for `{}`", dialog.wire);
        }
    }
}

/// A table names rows of its own dialect or of dialects that inherit them; no silent row has a rule.
#[test]
fn every_rule_is_about_a_row() {
    for dialect in DIALECTS {
        let index = Index::client(dialect);
        let rules = dialect.meaning.rules.iter().map(|rule| rule.on);
        for on in rules.clone().chain(dialect.meaning.silent.iter().copied()) {
            assert!(row(&index, on).is_some(), "{}: {on:?} is no row", dialect.name);
        }
        for on in dialect.meaning.silent {
            assert!(!rules.clone().any(|row| row == *on), "{}: silent {on:?} has a rule", dialect.name);
        }
    }
}

/// The members that rules read are declared.
#[test]
fn every_path_of_a_rule_is_declared() {
    let mut looked_at = 0;
    for dialect in DIALECTS {
        let index = Index::client(dialect);
        for rule in dialect.meaning.rules {
            let sources = rule.bindings.iter().flat_map(|(_, source)| paths(source));
            let tests = rule.when.iter().map(|test| match test {
                Condition::Is(path, _)
                | Condition::Not(path, _)
                | Condition::Has(path)
                | Condition::Lacks(path) => *path,
            });
            for path in sources.chain(tests) {
                let whole = match rule.over {
                    Some(list) => format!("{list}.0.{path}"),
                    None => path.to_owned(),
                };
                let found = leads(dialect, &index, rule.on, &whole);
                assert!(found, "{}: {:?} has no `{whole}`", dialect.name, rule.on);
                looked_at += 1;
            }
        }
    }
    assert!(looked_at > 200, "{looked_at}");
    let pi = Index::client(DIALECTS[0]);
    assert!(!leads(DIALECTS[0], &pi, RuleTarget::Event("message_start"), "message.never"));
}

/// The members by which clients measure runs are declared, in every dialect.
#[test]
fn every_path_of_a_measure_is_declared() {
    for dialect in DIALECTS {
        let index = Index::client(dialect);
        let found = MEASURES.iter().find(|measures| measures.dialect == dialect.name);
        let Measures { turn, cost, call, result, .. } = found.unwrap();
        let cost = cost.iter().map(|cost| (cost.event, cost.path));
        let call = [call.id, call.tool, call.arguments].map(|path| (call.event, path));
        let result = [result.id, result.failed.0, result.output].map(|path| (result.event, path));
        for (event, path) in cost.chain(call).chain(result).chain([(*turn, "")]) {
            assert!(
                leads(dialect, &index, RuleTarget::Event(event), path),
                "{}: {event} {path}",
                dialect.name
            );
        }
    }
}

/// Returns the paths that a source reads in the frame itself.
fn paths(source: &Source) -> Vec<&'static str> {
    match source {
        Source::Is(_) => Vec::new(),
        Source::At(path)
        | Source::Read(_, path)
        | Source::Each(_, path)
        | Source::Map(path, _)
        | Source::Times(path, _)
        | Source::Text(path)
        | Source::Count(path) => vec![path],
        Source::First(sources) | Source::Join(sources) => sources.iter().flat_map(paths).collect(),
    }
}

/// The members of a row: the types of `params` and `data`, or that of the frame itself.
struct RowMembers {
    body: Option<Ty>,
    params: Option<Ty>,
    data: Option<Ty>,
}

fn row(index: &Index, on: RuleTarget) -> Option<RowMembers> {
    let body = |ty: Option<Ty>| RowMembers { body: ty, params: None, data: None };
    let event = |known: &&&'static Event| RuleTarget::Event(known.name) == on;
    match on {
        RuleTarget::Event(_) => {
            index.events.iter().find(event).map(|row| body(Some(Ty::Named(row.payload.name))))
        }
        RuleTarget::Dialog(name) => {
            let row = index.dialogs.iter().find(|row| row.wire == name)?;
            Some(body(Some(Ty::Named(row.params.name))))
        }
        RuleTarget::Sent(name) | RuleTarget::Answer(name) | RuleTarget::Refused(name) => {
            let row = index.commands.iter().find(|row| row.wire == name)?;
            let params = row.params.map(Ty::Named);
            Some(match on {
                RuleTarget::Sent(_) => body(params),
                _ => RowMembers { body: None, params, data: row.result },
            })
        }
    }
}

/// Returns `true` if a path leads to a declared member.
fn leads(dialect: &Dialect, index: &Index, on: RuleTarget, path: &str) -> bool {
    let Some(carried) = row(index, on) else { return false };
    let mut names = path.split('.').filter(|name| !name.is_empty());
    let Some(first) = names.next() else { return true };
    let rest: Vec<&str> = names.collect();
    // Every event of some dialects has additional members.
    let common = dialect.event_members.iter().any(|field| field.name == first);
    match (on, first) {
        (RuleTarget::Answer(_) | RuleTarget::Refused(_), "params") => member(carried.params, &rest),
        // Rules also read `data` of answers without data, to check its presence.
        (RuleTarget::Answer(_), "data") => rest.is_empty() || member(carried.data, &rest),
        (RuleTarget::Refused(_), "error") => rest.is_empty(),
        (RuleTarget::Answer(_) | RuleTarget::Refused(_), _) => false,
        _ => common || member(carried.body, &[&[first], rest.as_slice()].concat()),
    }
}

fn member(ty: Option<Ty>, names: &[&str]) -> bool {
    let Some(ty) = ty else { return false };
    let Some((first, rest)) = names.split_first() else { return true };
    match ty {
        Ty::Any | Ty::Object => true,
        Ty::List(item) => first.parse::<usize>().is_ok() && member(Some(*item), rest),
        Ty::Map(value) => member(Some(*value), rest),
        Ty::Named(name) => match declared_types().get(name).map(|def| def.shape) {
            Some(Shape::Record { constants, fields }) => {
                let constant = constants.iter().any(|known| known.member == *first);
                let is_called = |known: &Field| {
                    known.name == *first || known.renamed.is_some_and(|(name, _)| name == *first)
                };
                constant || fields.iter().any(|known| is_called(known) && member(Some(known.ty), rest))
            }
            Some(Shape::Union { variants, .. }) => {
                variants.iter().any(|variant| member(Some(Ty::Named(variant)), names))
            }
            Some(Shape::Choice { alternatives }) => {
                alternatives.iter().any(|alternative| member(Some(alternative.ty), names))
            }
            _ => false,
        },
        _ => false,
    }
}
