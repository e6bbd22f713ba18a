//! The tables of intents cover all declared commands, and no others.

use std::collections::BTreeSet;

use agentese_protocol::index::declared_types;
use agentese_protocol::intent::{
    ANSWERS, CALLS, EVENTS, Fallback, GOES_ON, HISTORY, INTENTS, Intent, ORDER, ParamSource, SHELLS, STOPPED,
    intent_spec, resolve,
};
use agentese_protocol::meaning::Source;
use agentese_protocol::model::{Command, Shape, Ty};
use agentese_protocol::{DIALECTS, Index};

fn command<'a>(index: &'a Index, wire: &str) -> Option<&'a Command> {
    index.commands.iter().copied().find(|row| row.wire == wire)
}

/// Each command carries an intent, or is listed with a reason.
#[test]
fn every_command_has_an_intent_or_is_dialect_specific() {
    for index in Index::clients() {
        let resolved = resolve(&index);
        for row in &index.commands {
            let carries = resolved.mappings.iter().any(|mapping| mapping.command == row.wire);
            let own = resolved.dialect_only.iter().any(|own| own.command == row.wire);
            assert!(carries != own, "{}: `{}` carries {carries}, own {own}", index.dialect.name, row.wire);
        }
    }
}

/// A table names commands, events, parameters and members that its dialect has.
#[test]
fn every_name_of_a_table_is_declared() {
    let mut looked_at = 0;
    for dialect in DIALECTS {
        let index = Index::client(dialect);
        let name = dialect.name;
        for own in dialect.intents.dialect_only {
            assert!(command(&index, own.command).is_some(), "{name}: no command `{}`", own.command);
        }
        for (dialog, _) in dialect.intents.by_tool {
            assert!(index.dialogs.iter().any(|row| row.wire == *dialog), "{name}: no dialog `{dialog}`");
        }
        for made in dialect.intents.derived_events {
            assert!(index.events.iter().any(|row| row.name == *made), "{name}: no event `{made}`");
        }
        for mapping in dialect.intents.mappings {
            let row = command(&index, mapping.command);
            let row = row.unwrap_or_else(|| panic!("{name}: no command `{}`", mapping.command));
            let intent = intent_spec(mapping.intent).unwrap();
            for param in mapping.divergences.iter().chain(mapping.bridge_divergences).flat_map(|one| one.with)
            {
                assert!(
                    member(row.params.map(Ty::Named), &[param]),
                    "{name}: `{}` takes no `{param}`",
                    row.wire
                );
            }
            for (param, source) in mapping.params {
                assert!(
                    member(row.params.map(Ty::Named), &[param]),
                    "{name}: `{}` takes no `{param}`",
                    row.wire
                );
                let of: &[&str] = match source {
                    ParamSource::From(param) => &[param],
                    ParamSource::Is(_) => &[],
                    ParamSource::Joined(params, _) => params,
                };
                for param in of {
                    let known = intent.params.iter().any(|known| known.name == *param);
                    assert!(known, "{}: {:?} has no parameter `{param}`", row.wire, mapping.intent);
                }
            }
            for (slot, source) in mapping.results {
                let known = intent.results.iter().any(|known| known.name == *slot);
                assert!(known, "{}: {:?} has no result `{slot}`", row.wire, mapping.intent);
                for path in paths(source) {
                    let names: Vec<&str> = path.split('.').filter(|name| !name.is_empty()).collect();
                    let found = match names.split_first() {
                        Some((&"data", rest)) => member(row.result, rest),
                        Some((&"params", rest)) => member(row.params.map(Ty::Named), rest),
                        _ => false,
                    };
                    assert!(found, "{name}: the answer to `{}` has no `{path}`", row.wire);
                    looked_at += 1;
                }
            }
        }
    }
    assert!(looked_at > 60, "{looked_at}");
}

/// Required parameters of a command come from a required neutral parameter, or name the session.
#[test]
fn required_parameters_are_sent() {
    for index in Index::clients() {
        let session = index.dialect.event_members.first().map(|member| member.name);
        for mapping in resolve(&index).mappings {
            let row = command(&index, mapping.command).unwrap();
            let Some(Shape::Record { fields, .. }) =
                row.params.and_then(|name| index.type_def(name)).map(|def| def.shape)
            else {
                continue;
            };
            let intent = intent_spec(mapping.intent).unwrap();
            let required =
                |param: &str| intent.params.iter().any(|known| known.name == param && known.required);
            for field in fields.iter().filter(|field| field.presence.is_required()) {
                let sent = mapping.params.iter().find(|(name, _)| *name == field.name);
                let is_there = match sent {
                    None => session == Some(field.name),
                    Some((_, ParamSource::From(param))) => required(param),
                    Some((_, ParamSource::Is(_))) => true,
                    Some((_, ParamSource::Joined(params, _))) => params.iter().any(|param| required(param)),
                };
                assert!(is_there, "{}: no value for `{}` of `{}`", index.dialect.name, field.name, row.wire);
            }
        }
    }
}

/// A parameter belongs to an intent, names the session, or is listed with its handling.
#[test]
fn every_parameter_of_a_command_is_mapped() {
    for index in Index::clients() {
        let session = index.dialect.event_members.first().map(|member| member.name);
        let resolved = resolve(&index);
        for mapping in &resolved.mappings {
            let row = command(&index, mapping.command).unwrap();
            let Some(Shape::Record { fields, .. }) =
                row.params.and_then(|name| index.type_def(name)).map(|def| def.shape)
            else {
                continue;
            };
            let companions = || resolved.companions.iter().filter(|companion| companion.command == row.wire);
            let sent = |param: &str| {
                let mut of = resolved.mappings.iter().filter(|known| known.command == row.wire);
                of.any(|known| known.params.iter().any(|(name, _)| *name == param))
            };
            let named = companions().flat_map(|companion| companion.params);
            assert!(
                named.clone().all(|param| fields.iter().any(|field| field.name == *param)),
                "{}",
                row.wire
            );
            for field in fields {
                let named = named.clone().filter(|param| **param == field.name).count();
                let elsewhere = sent(field.name) || session == Some(field.name);
                let name = index.dialect.name;
                assert_eq!(named, usize::from(!elsewhere), "{name}: `{}` of `{}`", field.name, row.wire);
            }
        }
    }
}

/// Divergences name declared results, messages, or one of the constants.
#[test]
fn divergences_name_declared_items() {
    let own = DIALECTS.iter().flat_map(|dialect| dialect.intents.mappings);
    let carried = own.flat_map(|mapping| mapping.divergences.iter().chain(mapping.bridge_divergences));
    let through = INTENTS.iter().filter_map(|row| match &row.without {
        Fallback::Through(_, how) => Some(how),
        Fallback::Lost(_) | Fallback::Seen(_) => None,
    });
    let given = |place: &str| {
        let mut all =
            INTENTS.iter().flat_map(|row| row.results.iter().map(move |give| (row.name, give.name)));
        all.any(|(intent, give)| give == place || format!("{intent}.{give}") == place)
    };
    let mut looked_at = 0;
    for differs in carried.chain(through) {
        assert!(!differs.description.is_empty());
        for of in differs.of {
            let mut known = DIALECTS.iter().flat_map(|dialect| {
                dialect.revisions.iter().map(|one| format!("{}@{}", dialect.name, one.name))
            });
            assert!(known.any(|id| id == *of), "{of}: {}", differs.description);
        }
        for place in differs.changes {
            let is_message = place.strip_prefix("message<").is_some_and(|role| role.ends_with('>'));
            assert!(
                [ORDER, ANSWERS, CALLS, STOPPED, SHELLS, EVENTS, GOES_ON, HISTORY].contains(place)
                    || is_message
                    || given(place),
                "{place}: {}",
                differs.description
            );
            looked_at += 1;
        }
    }
    assert!(looked_at > 10, "{looked_at}");
}

/// Each intent is listed once, and a dialect carries it and the intents that may replace it.
#[test]
fn every_intent_is_carried_by_a_dialect() {
    let carried: BTreeSet<Intent> =
        Index::clients().iter().flat_map(|index| resolve(index).mappings).map(|row| row.intent).collect();
    let names: BTreeSet<&str> = INTENTS.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), INTENTS.len());
    for row in INTENTS {
        assert!(carried.contains(&row.intent), "no dialect carries {:?}", row.intent);
        if let Fallback::Through(intents, _) = row.without {
            assert!(!intents.is_empty() && intents.iter().all(|intent| carried.contains(intent)));
        }
    }
}

/// The commands of a child dialect precede those of its parent.
#[test]
fn a_child_dialect_uses_its_own_commands() {
    let omp = resolve(&Index::named("omp").unwrap());
    let of = |intent| omp.mappings.iter().find(|row| row.intent == intent).map(|row| row.command);
    assert_eq!(of(Intent::Fork), Some("branch"));
    assert_eq!(of(Intent::Prompt), Some("prompt"));
    assert_eq!(of(Intent::Commands), None);
    let today = resolve(&Index::named("omp@18.2").unwrap());
    assert!(today.mappings.iter().any(|row| row.command == "get_available_commands"));
    assert!(resolve(&Index::named("pi@0.55").unwrap()).mappings.iter().all(|row| row.command != "get_tree"));
}

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

fn member(ty: Option<Ty>, names: &[&str]) -> bool {
    let Some(ty) = ty else { return false };
    let Some((first, rest)) = names.split_first() else { return true };
    match ty {
        Ty::Any | Ty::Object => true,
        Ty::Map(value) => member(Some(*value), rest),
        Ty::Named(name) => match declared_types().get(name).map(|def| def.shape) {
            Some(Shape::Record { fields, .. }) => {
                fields.iter().any(|known| known.name == *first && member(Some(known.ty), rest))
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
