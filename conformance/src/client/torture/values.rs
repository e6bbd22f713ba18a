//! Names and values that are valid but often break programs.

use agentese::framing::FrameText;
use agentese::route::{RoutedFrame, route};
use agentese::spec::Spec;
use serde_json::{Map, Value, json};

use super::super::client_only_cases::event_body;

/// Types of undeclared events. Some have a special meaning in a programming language.
const EVENTS: &[&str] = &[
    "x_later_event",
    "constructor",
    "__proto__",
    "hasOwnProperty",
    "toString",
    "__init__",
    "None",
    "(unknown)",
    "Ereignis über \"alles\"\n",
    "",
];

/// Names of undeclared members.
const MEMBERS: &[&str] =
    &["x_later", "constructor", "__proto__", "toJSON", "then", "__class__", "self", "extra", "x y\"\n", ""];

/// Returns a value for an undeclared member.
fn value(without: &[String], rng: &mut fastrand::Rng) -> Value {
    let may = |trick: &str| !without.iter().any(|name| name == trick);
    match rng.u8(0..10) {
        0 if may("separators") => {
            json!("a\u{2028}b\u{2029}c\u{85}d\re\u{feff}f\u{1f642}g\u{0}h\u{1f}i\u{7f}j\u{10ffff}")
        }
        1 if may("halves") => json!("\u{fffd}half a pair\u{fffd}"),
        2 => json!({"a": [null, {}, [], ""], "": false, "type": "response", "id": "1", "success": true}),
        3 => (0..60).fold(json!(1), |inner, _| json!([inner])),
        4 => Value::Object((0..300).map(|at| (format!("m{at}"), json!(at))).collect()),
        5 => json!("x".repeat(rng.usize(1..70_000))),
        6 => json!("{\"type\":\"response\"}\n{\"id\":1}\r\n"),
        7 => Value::Null,
        _ => number(rng),
    }
}

/// Returns a number at the limits of common types. The first three cannot be represented exactly as a double.
fn number(rng: &mut fastrand::Rng) -> Value {
    let numbers = [
        json!(9_007_199_254_740_993_u64),
        json!(u64::MAX),
        json!(i64::MIN + 1),
        json!(i64::MIN),
        json!(1e308),
        json!(5e-324),
        json!(-0.0),
        json!(1e21),
        json!(0.1),
        json!(4_294_967_296_u64),
        json!(-1),
    ];
    numbers[rng.usize(..numbers.len())].clone()
}

/// Adds an undeclared member, unless the object already has a member with this name.
fn add(members: &mut Map<String, Value>, without: &[String], rng: &mut fastrand::Rng) {
    let name = MEMBERS[rng.usize(..MEMBERS.len())];
    if !members.contains_key(name) {
        let place = rng.usize(0..=members.len());
        members.shift_insert(place, name.to_owned(), value(without, rng));
    }
}

/// Creates an undeclared event, which belongs to the session of a known event.
pub(super) fn event(
    spec: &Spec,
    known: &FrameText,
    without: &[String],
    rng: &mut fastrand::Rng,
) -> Option<FrameText> {
    let mut frame: Value = agentese::wire::decode(known.as_str()).ok()?;
    let body = event_body(spec, &mut frame)?;
    let session = spec.session_member.and_then(|name| Some((name, body.get(name)?.clone())));
    *body = json!({"type": EVENTS[rng.usize(..EVENTS.len())]});
    let members = body.as_object_mut()?;
    members.extend(session.map(|(name, value)| (name.to_owned(), value)));
    for _ in 0..rng.usize(0..3) {
        add(members, without, rng);
    }
    let frame = FrameText::from(frame.to_string());
    matches!(route(spec, &frame), Ok(RoutedFrame::Event { .. })).then_some(frame)
}

/// Creates an undeclared event whose line has the given length in bytes.
pub(super) fn long_event(spec: &Spec, known: &FrameText, length: usize) -> Option<FrameText> {
    let mut frame: Value = agentese::wire::decode(known.as_str()).ok()?;
    let inner = event_body(spec, &mut frame)?;
    let session = spec.session_member.and_then(|name| Some((name, inner.get(name)?.clone())));
    *inner = json!({"type": "x_later_event", "text": ""});
    inner.as_object_mut()?.extend(session.map(|(name, value)| (name.to_owned(), value)));
    let empty = frame.to_string().len();
    event_body(spec, &mut frame)?["text"] = Value::from("x".repeat(length.saturating_sub(empty)));
    Some(FrameText::from(frame.to_string()))
}

/// Adds undeclared members to an event, to the data of an answer, or to a question.
pub(super) fn with_members(
    spec: &Spec,
    line: &FrameText,
    without: &[String],
    rng: &mut fastrand::Rng,
) -> FrameText {
    let Ok(mut frame) = agentese::wire::decode::<Value>(line.as_str()) else { return line.clone() };
    let members = match route(spec, line) {
        Ok(RoutedFrame::Event { .. }) => event_body(spec, &mut frame).and_then(Value::as_object_mut),
        Ok(RoutedFrame::Answer { success: true, .. }) => {
            let name = if spec.framing_is_flat() { "data" } else { "result" };
            // If the answer has no data, no member is added.
            frame.get_mut(name).and_then(Value::as_object_mut).filter(|data| !data.is_empty())
        }
        _ => None,
    };
    let Some(members) = members else { return line.clone() };
    for _ in 0..rng.usize(1..3) {
        add(members, without, rng);
    }
    FrameText::from(frame.to_string())
}
