//! Decoding of messages that other programs wrote in a shape that differs from the declared one.
//!
//! The file keeps the original text. The decoded message has the declared shape. For example, a negative count becomes
//! 0, a text in place of blocks becomes a block, and a missing member gets a neutral value. A message that fits no
//! declared shape gets an unknown role and stays otherwise unchanged.

use agentese::types::AgentMessage;
use serde_json::{Map, Value, json};

use super::members::decode;
use super::time;

/// The declared shape of a member.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    Text,
    OptionalText,
    /// A count. A negative number becomes 0.
    Count,
    OptionalCount,
    OptionalInteger,
    /// Any finite number.
    Number,
    /// Milliseconds since the epoch.
    Time,
    Flag,
    OptionalFlag,
    /// The member is a text or a list of blocks.
    Content,
    Blocks,
    Arguments,
    StopReason,
    OptionalList,
    Of(&'static [(&'static str, Shape)]),
}

use Shape::{
    Arguments, Blocks, Content, Count, Flag, Number, Of, OptionalCount, OptionalFlag, OptionalInteger,
    OptionalList, OptionalText, StopReason, Text, Time,
};

/// The members of an object, with the shape of each.
pub(super) type MemberShapes = &'static [(&'static str, Shape)];

impl Shape {
    /// Returns true if a member of this shape may be absent.
    pub fn is_optional(self) -> bool {
        matches!(self, OptionalText | OptionalCount | OptionalInteger | OptionalFlag | OptionalList)
    }
}

/// Further optional members of messages, as role, name and shape. A member with another shape is dropped; `None`
/// permits any shape.
pub(super) const EXTRA_MEMBERS: &[(&str, &str, Option<Shape>)] = &[
    ("toolResult", "details", None),
    ("assistant", "responseId", Some(Text)),
    ("assistant", "responseModel", Some(Text)),
    ("assistant", "rawStopReason", Some(Text)),
    ("assistant", "durationMs", Some(Number)),
    ("assistant", "duration", Some(Number)),
    ("assistant", "ttft", Some(Number)),
    ("assistant", "completedAt", Some(Number)),
    ("toolResult", "durationMs", Some(Number)),
];

const COST: MemberShapes = &[
    ("input", Number),
    ("output", Number),
    ("cacheRead", Number),
    ("cacheWrite", Number),
    ("total", Number),
];
const USAGE: MemberShapes = &[
    ("input", Count),
    ("output", Count),
    ("cacheRead", Count),
    ("cacheWrite", Count),
    ("totalTokens", OptionalCount),
    ("cost", Of(COST)),
];

/// The members of messages, by role.
const MESSAGES: &[(&str, MemberShapes)] = &[
    ("user", &[("content", Content), ("timestamp", Time), ("attachments", OptionalList)]),
    (
        "assistant",
        &[
            ("content", Blocks),
            ("api", Text),
            ("provider", Text),
            ("model", Text),
            ("usage", Of(USAGE)),
            ("stopReason", StopReason),
            ("timestamp", Time),
            ("errorMessage", OptionalText),
        ],
    ),
    (
        "toolResult",
        &[
            ("toolCallId", Text),
            ("toolName", Text),
            ("content", Blocks),
            ("isError", Flag),
            ("timestamp", Time),
        ],
    ),
    (
        "bashExecution",
        &[
            ("command", Text),
            ("output", Text),
            ("exitCode", OptionalInteger),
            ("cancelled", Flag),
            ("truncated", Flag),
            ("fullOutputPath", OptionalText),
            ("timestamp", Time),
            ("excludeFromContext", OptionalFlag),
        ],
    ),
    ("custom", &[("customType", Text), ("content", Content), ("display", Flag), ("timestamp", Time)]),
    ("branchSummary", &[("summary", Text), ("fromId", Text), ("timestamp", Time)]),
    ("compactionSummary", &[("summary", Text), ("tokensBefore", Count), ("timestamp", Time)]),
];

/// The members of blocks, as type, identifying members and all members. A block without a type gets the first type
/// whose identifying members it has.
const BLOCKS: &[(&str, &[&str], MemberShapes)] = &[
    (
        "toolCall",
        &["name", "arguments"],
        &[("id", Text), ("name", Text), ("arguments", Arguments), ("thoughtSignature", OptionalText)],
    ),
    ("image", &["data", "mimeType"], &[("data", Text), ("mimeType", Text)]),
    (
        "thinking",
        &["thinking"],
        &[("thinking", Text), ("thinkingSignature", OptionalText), ("redacted", OptionalFlag)],
    ),
    ("text", &["text"], &[("text", Text), ("textSignature", OptionalText)]),
];

/// Members that only messages of one role have. They identify a message without a role.
const ROLE_HINTS: &[(&str, &str)] = &[
    ("toolCallId", "toolResult"),
    ("stopReason", "assistant"),
    ("usage", "assistant"),
    ("provider", "assistant"),
    ("customType", "custom"),
];

/// Declared stop reasons, each with the names that other programs use for it.
const STOP_REASONS: &[(&str, &[&str])] = &[
    ("stop", &["stop", "end_turn", "stop_sequence", "end", "completed", "pause_turn"]),
    ("length", &["length", "max_tokens", "max_output_tokens", "incomplete"]),
    ("toolUse", &["toolUse", "tool_use", "tool_calls", "function_call"]),
    ("error", &["error", "failed", "refusal"]),
    ("aborted", &["aborted", "abort", "cancelled", "canceled"]),
];

/// The role of a message whose members identify no role.
const UNKNOWN_ROLE: &str = "unknown";

/// Returns the members of messages with a role. Returns `None` if the role is not declared.
pub(super) fn members_of_message(role: &str) -> Option<MemberShapes> {
    MESSAGES.iter().find(|(known, _)| *known == role).map(|(_, members)| *members)
}

/// Returns the members of blocks of a type. Returns `None` if the type is not declared.
pub(super) fn members_of_block(kind: &str) -> Option<MemberShapes> {
    BLOCKS.iter().find(|(known, ..)| *known == kind).map(|(_, _, members)| *members)
}

/// Returns true if the text is the name of a declared stop reason.
pub(super) fn is_stop_reason(reason: &str) -> bool {
    STOP_REASONS.iter().any(|(known, _)| *known == reason)
}

/// Returns the role of a message. Without a role, its members decide.
pub(super) fn role(message: &Map<String, Value>) -> &str {
    if let Some(role) = message.get("role").and_then(Value::as_str).filter(|role| !role.is_empty()) {
        return role;
    }
    ROLE_HINTS.iter().find(|(member, _)| message.contains_key(*member)).map_or(UNKNOWN_ROLE, |(_, role)| role)
}

/// Converts any value to a message. A message without a time gets `time`, the time of its entry in milliseconds since
/// the epoch.
pub(super) fn message(value: Value, time: i64) -> AgentMessage {
    let mut members = match value {
        Value::Object(members) => members,
        other => Map::from_iter([("content".to_owned(), other)]),
    };
    let role = role(&members).to_owned();
    members.insert("role".to_owned(), role.clone().into());
    if let Some((_, shape)) = MESSAGES.iter().find(|(known, _)| *known == role) {
        convert_members(&mut members, shape, time);
    }
    decode(&Value::Object(members.clone()).to_string()).unwrap_or_else(|error| {
        tracing::warn!(%error, "a message of a session cannot be read; it stays in the file");
        members.insert("role".to_owned(), UNKNOWN_ROLE.into());
        AgentMessage::Unknown(agentese::wire::UnknownVariant { tag: UNKNOWN_ROLE.to_owned(), members })
    })
}

/// Converts a value to content, which is a text or blocks.
pub(super) fn content(value: Value) -> Value {
    convert(Content, Some(value), &Map::new(), 0).unwrap_or_default()
}

/// Converts a value to a count, which is 0 if the value is not a number.
pub(super) fn count(value: &Value) -> u64 {
    // A number that is too large becomes the maximum, a negative one becomes 0.
    value.as_u64().unwrap_or_else(|| parse_number(value).unwrap_or_default() as u64)
}

fn parse_number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

fn convert_members(members: &mut Map<String, Value>, shapes: MemberShapes, time: i64) {
    for (name, wanted) in shapes {
        match convert(*wanted, members.get(*name).cloned(), members, time) {
            Some(value) => drop(members.insert((*name).to_owned(), value)),
            None => drop(members.shift_remove(*name)),
        }
    }
}

/// Converts a member to a shape. `all` has the other members. Returns `None` if an optional member is absent or cannot
/// be converted.
fn convert(wanted: Shape, value: Option<Value>, all: &Map<String, Value>, time: i64) -> Option<Value> {
    let value = value.unwrap_or_default();
    let word = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Array(_) | Value::Object(_) => Some(value.to_string()),
        Value::Null => None,
    };
    Some(match wanted {
        Text => word(&value).unwrap_or_default().into(),
        OptionalText => return value.as_str().map(Value::from),
        Count => count(&value).into(),
        OptionalCount => return parse_number(&value).map(|_| count(&value).into()),
        OptionalInteger => match value {
            Value::Null => return None,
            value => value.as_i64().or_else(|| parse_number(&value).map(|number| number as i64))?.into(),
        },
        Number => match value {
            Value::Number(_) => value,
            value => match parse_number(&value).unwrap_or_default() {
                // An integer is written as one.
                whole if whole.fract() == 0.0 => (whole as i64).into(),
                part => part.into(),
            },
        },
        Time => parse_time(&value).unwrap_or(time).into(),
        Flag => parse_bool(&value).unwrap_or_default().into(),
        OptionalFlag => return parse_bool(&value).map(Value::from),
        Content => match value {
            Value::String(_) => value,
            value => blocks(value),
        },
        Blocks => blocks(value),
        Arguments => match value {
            Value::Object(_) => value,
            Value::String(text) => decode::<Map<String, Value>>(&text).unwrap_or_default().into(),
            _ => json!({}),
        },
        StopReason => stop_reason(&value, all).into(),
        OptionalList => return Some(value).filter(all_are_objects),
        Of(shapes) => {
            let mut members = match value {
                Value::Object(members) => members,
                _ => Map::new(),
            };
            convert_members(&mut members, shapes, time);
            members.into()
        }
    })
}

fn all_are_objects(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(Value::is_object))
}

/// Converts a value to a time in milliseconds since the epoch.
pub(super) fn parse_time(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => {
            time::milliseconds(text).or_else(|| parse_number(value).map(|number| number as i64))
        }
        value => value.as_i64().or_else(|| parse_number(value).map(|number| number as i64)),
    }
}

fn parse_bool(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => Some(number.as_f64() != Some(0.0)),
        _ => None,
    }
}

fn blocks(value: Value) -> Value {
    let blocks = match value {
        Value::Null => Vec::new(),
        Value::Array(blocks) => blocks,
        one => vec![one],
    };
    blocks.into_iter().filter(|block| !block.is_null()).map(block).collect()
}

fn block(value: Value) -> Value {
    let Value::Object(mut members) = value else {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        return json!({"type": "text", "text": text});
    };
    let named = members.get("type").and_then(Value::as_str).map(str::to_owned);
    let known = BLOCKS.iter().find(|(kind, telling, _)| match &named {
        Some(named) => named == kind,
        None => telling.iter().all(|member| members.contains_key(*member)),
    });
    match known {
        Some((kind, _, shapes)) => {
            members.insert("type".to_owned(), (*kind).into());
            convert_members(&mut members, shapes, 0);
        }
        None if named.is_none() => drop(members.insert("type".to_owned(), UNKNOWN_ROLE.into())),
        None => {}
    }
    members.into()
}

fn stop_reason(value: &Value, message: &Map<String, Value>) -> &'static str {
    let named = value.as_str().and_then(|reason| {
        let known = STOP_REASONS.iter().find(|(_, names)| names.contains(&reason));
        known.map(|(reason, _)| *reason)
    });
    let is_call = |block: &Value| block["type"] == "toolCall";
    match named {
        Some(reason) => reason,
        None if message.get("errorMessage").is_some_and(Value::is_string) => "error",
        // Members are converted in their order, so the content has its shape already.
        None if message
            .get("content")
            .and_then(Value::as_array)
            .is_some_and(|all| all.iter().any(is_call)) =>
        {
            "toolUse"
        }
        None => "stop",
    }
}

#[cfg(test)]
mod tests;
