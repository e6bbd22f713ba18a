//! Mutators for ids of answers, and for ids by which events refer to each other.

use serde_json::{Value, json};

use super::{Effects, edit, put};
use crate::place::{Edit, Place};
use crate::site::Kind;
use crate::stream::{Role, Stream, envelope};
use crate::{Group, Mutator};

const fn ids(name: &'static str, description: &'static str, find: crate::EffectFinder) -> Mutator {
    Mutator::new(name, description, Group::Ids, find)
}

pub(super) const ALL: &[Mutator] = &[
    ids("wrong-id", "an answer has an id that nobody gave", |stream, at| {
        with_id(stream, at, |_, id| {
            Some(match id {
                Value::String(text) => json!(format!("{text}x")),
                Value::Number(number) => json!(number.as_i64().map_or(7_919, |number| number + 7_919)),
                _ => json!("x"),
            })
        })
    }),
    ids("missing-id", "an answer has no id", |stream, at| match id_of(stream, at) {
        Some((place, _)) => vec![edit(&place, Edit::Remove)],
        None => Vec::new(),
    }),
    ids("null-id", "an answer has null as its id", |stream, at| {
        with_id(stream, at, |_, id| (!id.is_null()).then_some(Value::Null))
    }),
    ids("other-id", "an answer has the id of another command", |stream, at| {
        with_id(stream, at, |stream, id| {
            let member = envelope(stream.spec).id;
            let others = stream.client_lines.iter().rev().filter_map(|asked| asked.get(member));
            others.into_iter().find(|other| *other != id).cloned()
        })
    }),
    ids(
        "retyped-id",
        "the id of an answer is a text in place of a number, or the other way round",
        |stream, at| {
            with_id(stream, at, |_, id| match id {
                Value::Number(number) => Some(json!(number.to_string())),
                Value::String(text) => {
                    Some(text.parse::<i64>().map_or_else(|_| json!(1), |number| json!(number)))
                }
                _ => None,
            })
        },
    ),
    ids("added-id", "an answer to a command without an id has one", |stream, at| {
        let member = envelope(stream.spec).id;
        let said = &stream.lines[at];
        // The id in an answer to a line that is not a command is not checked.
        if is_of_a_command(stream, at) && said.frame.get(member).is_none() {
            vec![edit(&Place::default(), Edit::Add(member.to_owned(), "\"x\"".to_owned()))]
        } else {
            Vec::new()
        }
    }),
    ids("wrong-reference", "a frame refers to something that there is not", |stream, at| {
        references(stream, at, |_, _, text| Some(format!("{text}x")))
    }),
    ids("other-reference", "a frame refers to something else", |stream, at| {
        references(stream, at, other_reference)
    }),
];

/// Returns `true` if the line answers a declared command.
pub(super) fn is_of_a_command(stream: &Stream, at: usize) -> bool {
    let Role::Answer { command: Some(command), .. } = &stream.lines[at].role else { return false };
    stream.spec.command(command).is_some()
}

/// Returns the id of an answer, if the answer has one.
fn id_of(stream: &Stream, at: usize) -> Option<(Place, &Value)> {
    let line = stream.lines[at].is_answer().then_some(&stream.lines[at])?;
    let member = envelope(stream.spec).id;
    Some((Place::default().member(member), line.frame.get(member)?))
}

fn with_id(stream: &Stream, at: usize, other: fn(&Stream, &Value) -> Option<Value>) -> Effects {
    let found = id_of(stream, at).and_then(|(place, id)| Some((place, other(stream, id)?)));
    found.map(|(place, id)| put(&place, id)).into_iter().collect()
}

/// Returns `true` if a member with this name holds an id, by the naming rules of the dialects.
fn is_id_name(name: &str) -> bool {
    name == "id" || name.ends_with("Id") || name.ends_with("_id")
}

/// Replaces ids in a line that the client or the model chose by the result of `other`.
fn references(stream: &Stream, at: usize, other: fn(&Stream, &str, &str) -> Option<String>) -> Effects {
    let line = &stream.lines[at];
    let sites = line.sites.iter().filter(|site| site.kind == Kind::Text);
    sites
        .filter_map(|site| {
            let name = site.place.name().filter(|name| is_id_name(name))?;
            let text = site.place.of(&line.frame)?.as_str()?;
            Some(put(&site.place, json!(other(stream, name, text)?)))
        })
        .collect()
}

/// Returns the most recent different text of a member with the same name.
fn other_reference(stream: &Stream, name: &str, text: &str) -> Option<String> {
    let texts = stream.lines.iter().rev().flat_map(|said| {
        let named =
            said.sites.iter().filter(|site| site.kind == Kind::Text && site.place.name() == Some(name));
        named.filter_map(|site| site.place.of(&said.frame)?.as_str())
    });
    texts.into_iter().find(|other| *other != text).map(str::to_owned)
}
