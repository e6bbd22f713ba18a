//! Mutators for the content of answers.

use serde_json::{Value, json};

use super::ids::is_of_a_command;
use super::{Effects, edit, put, whole};
use crate::change::with_end;
use crate::place::{Edit, Place, edited};
use crate::stream::{Role, Stream, envelope};
use crate::{Effect, Group, Mutator};

const fn answers(name: &'static str, description: &'static str, find: crate::EffectFinder) -> Mutator {
    Mutator::new(name, description, Group::Answers, find)
}

pub(super) const ALL: &[Mutator] = &[
    answers(
        "success-flipped",
        "a success says that it is a failure, or the other way round",
        |stream, at| {
            let member = envelope(stream.spec).success.map(|name| Place::default().member(name));
            let found = member.and_then(|place| Some((answered(stream, at, &place)?.as_bool()?, place)));
            found.map(|(success, place)| put(&place, !success)).into_iter().collect()
        },
    ),
    answers("failure-for-success", "a command that succeeded is answered with a failure", failure),
    answers("error-empty", "a failure does not say why", |stream, at| {
        let place = Place::default().member(envelope(stream.spec).error);
        match answered(stream, at, &place) {
            Some(Value::String(text)) if !text.is_empty() => vec![put(&place, "\"\"")],
            Some(Value::Object(_)) => vec![put(&place, "{}")],
            _ => Vec::new(),
        }
    }),
    answers("error-missing", "a failure has no error", |stream, at| {
        let place = Place::default().member(envelope(stream.spec).error);
        answered(stream, at, &place).map(|_| edit(&place, Edit::Remove)).into_iter().collect()
    }),
    answers("data-missing", "an answer has no data", |stream, at| {
        let place = data(stream);
        // An empty object is equivalent to no data.
        let value = answered(stream, at, &place).filter(|value| **value != json!({}));
        value.map(|_| edit(&place, Edit::Remove)).into_iter().collect()
    }),
    answers("data-null", "the data of an answer is null", |stream, at| {
        let place = data(stream);
        let value = answered(stream, at, &place).filter(|value| !value.is_null() && **value != json!({}));
        value.map(|_| put(&place, Value::Null)).into_iter().collect()
    }),
    answers("data-empty", "the data of an answer is an empty object", |stream, at| {
        let place = data(stream);
        let members = answered(stream, at, &place).and_then(Value::as_object);
        members.filter(|members| !members.is_empty()).map(|_| put(&place, "{}")).into_iter().collect()
    }),
    answers("data-of-another", "an answer has the data of another command's", |stream, at| {
        let place = data(stream);
        // If the command declares no data, data of another command is only an addition, not a defect.
        let own = answered(stream, at, &place).filter(|own| **own != json!({}));
        let Some(own) = own else { return Vec::new() };
        let of = command(stream, at);
        let mut others = (0..stream.lines.len()).filter(|other| command(stream, *other) != of);
        let other = others.find_map(|other| answered(stream, other, &place).filter(|data| *data != own));
        other.map(|other| put(&place, other)).into_iter().collect()
    }),
    answers("other-command", "an answer names another command", |stream, at| {
        let Some(name) = named_command(stream, at) else { return Vec::new() };
        let other = stream.spec.commands.iter().find(|other| other.wire != name.1);
        other.map(|other| put(&name.0, json!(other.wire))).into_iter().collect()
    }),
    answers("unknown-command", "an answer names a command that there is not", |stream, at| {
        named_command(stream, at)
            .map(|(place, name)| put(&place, json!(format!("{name}_x"))))
            .into_iter()
            .collect()
    }),
];

fn data(stream: &Stream) -> Place {
    Place::default().member(envelope(stream.spec).data)
}

/// Returns the value at a place of the frame, if the line is an answer.
fn answered<'a>(stream: &'a Stream, at: usize, place: &Place) -> Option<&'a Value> {
    let line = &stream.lines[at];
    if !line.is_answer() {
        return None;
    }
    place.of(&line.frame)
}

/// Returns the name of the answered command, if the line is an answer.
fn command(stream: &Stream, at: usize) -> Option<&str> {
    match &stream.lines[at].role {
        Role::Answer { command, .. } => command.as_deref(),
        _ => None,
    }
}

/// Returns the place and value of the member that names the answered command, if the answer has such a
/// member.
fn named_command(stream: &Stream, at: usize) -> Option<(Place, &str)> {
    // The name in an answer to a line that is not a command is not checked.
    let name = command(stream, at).filter(|_| is_of_a_command(stream, at))?;
    let members = stream.lines[at].frame.as_object()?.iter();
    // The member of the envelope whose value is the name of the command, except for the type of the
    // frame.
    let mut members = members.filter(|(_, value)| value.as_str() == Some(name));
    let (member, _) = members.find(|(member, _)| *member != envelope(stream.spec).command)?;
    Some((Place::default().member(member), name))
}

/// Replaces a success by a failure.
fn failure(stream: &Stream, at: usize) -> Effects {
    let envelope = envelope(stream.spec);
    let said = &stream.lines[at];
    if !matches!(said.role, Role::Answer { success: true, .. }) {
        return Vec::new();
    }
    let root = Place::default();
    let data = root.member(envelope.data);
    let without = edited(&said.text, &data, &Edit::Remove).unwrap_or_else(|| said.text.clone());
    let (flipped, error) = match envelope.success {
        Some(success) => {
            (edited(&without, &root.member(success), &Edit::Put("false".into())), json!("failed"))
        }
        None => (Some(without), json!({"code": -32603, "message": "failed"})),
    };
    let add = Edit::Add(envelope.error.to_owned(), error.to_string());
    flipped
        .and_then(|line| edited(&line, &root, &add))
        .map_or_else(Vec::new, |line| whole(Effect::Bytes(with_end(&line))))
}
