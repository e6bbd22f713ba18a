//! What a line from a client asks for, and the answers of the dialect's edges.

use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use super::Refusal;
use crate::frame::{client_line, command_envelope, failure_line};
use crate::scan::{self, ScanError};
use crate::spec::{CommandSpec, Dialect, HandlerFailure, Spec};
use crate::wire::{NONE_OF, Named, replace_lone_surrogates};

/// JSON-RPC codes.
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const INTERNAL_ERROR: i64 = -32603;

/// What is to be done about a line.
pub(super) enum Line<D: Dialect> {
    /// Nothing.
    Ignored,
    /// This line goes back.
    Answer(String),
    /// It answers a question.
    Question {
        /// The question's id.
        id: String,
        /// The answer's members.
        members: Map<String, Value>,
    },
    /// It is a command.
    Command {
        /// Its raw id.
        id: Option<String>,
        /// What is known of it.
        spec: &'static CommandSpec,
        /// The command.
        command: D::Command,
        /// The session that it names, where commands of the dialect do.
        session: Option<String>,
    },
}

/// The answer to bytes that are no line.
pub(super) fn unreadable(spec: &Spec, reason: &str) -> String {
    if !spec.framing_is_flat() {
        return failure_line(
            spec,
            None,
            None,
            &json!({"code": PARSE_ERROR, "message": "Parse error", "data": reason}),
        );
    }
    let text = format!("{}{reason}", spec.edges.parse_prefix);
    failure_line(spec, None, Some(spec.edges.parse_command), &Value::from(text))
}

/// Where a command failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// In its handler.
    Handler,
    /// Its parameters cannot be read.
    Parameters,
    /// One of its values is outside a closed set, which keeps its command and id in every dialect.
    OutsideSet,
}

/// The answer to a command that was refused.
pub(super) fn refused(
    spec: &Spec,
    id: Option<&str>,
    command: &str,
    refusal: &Refusal,
    fault: Fault,
) -> String {
    match spec.edges.handler_failure {
        HandlerFailure::JsonRpcError => {
            let mut error =
                json!({"code": refusal.code.unwrap_or(INTERNAL_ERROR), "message": refusal.message});
            if let Some(data) = &refusal.data {
                error["data"] = data.clone();
            }
            failure_line(spec, id, None, &error)
        }
        HandlerFailure::ParseWithoutId { except, invalid } => {
            let named = match fault {
                Fault::Handler => except.contains(&command),
                Fault::Parameters => invalid.contains(&command),
                Fault::OutsideSet => true,
            };
            match named {
                true => failure_line(spec, id, Some(command), &Value::from(refusal.message.as_str())),
                false => unreadable(spec, &refusal.message),
            }
        }
        HandlerFailure::OwnCommandAndId => {
            failure_line(spec, id, Some(command), &Value::from(refusal.message.as_str()))
        }
    }
}

/// Looks at a line.
pub(super) fn read<D: Dialect>(text: &str) -> Line<D> {
    let spec = D::SPEC;
    // Lone surrogates are not sent back, not in an id either.
    let replaced = replace_lone_surrogates(text);
    let text = replaced.as_deref().unwrap_or(text);
    let found = match client_line(spec, text) {
        Ok(found) => found,
        Err(ScanError::Blank) if !spec.edges.blank_line_is_error => return Line::Ignored,
        Err(error @ ScanError::NotAnObject { .. }) if !spec.framing_is_flat() => {
            return Line::Answer(match serde_json::from_str::<IgnoredAny>(text) {
                Ok(_) => invalid_request(spec, &error.to_string()),
                Err(error) => unreadable(spec, &error.to_string()),
            });
        }
        Err(error) => return Line::Answer(unreadable(spec, &reason(text, &error))),
    };
    // The scan looks at structure only: a value that is not JSON shows here.
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        return Line::Answer(unreadable(spec, &error.to_string()));
    }
    let id = found.id;
    if found.is_answer {
        let Ok(Value::Object(members)) = serde_json::from_str(text) else { return Line::Ignored };
        return match id.and_then(scan::string) {
            Some(id) => Line::Question { id: id.into_owned(), members },
            None => Line::Ignored,
        };
    }
    let Some(raw_name) = found.name else {
        return match (spec.framing_is_flat(), id) {
            (false, _) => Line::Answer(invalid_request(spec, "it has no `method`")),
            (true, id) => Line::Answer(nameless(spec, id, "`type` is missing")),
        };
    };
    let Some(name) = scan::string(raw_name) else {
        return Line::Answer(if spec.framing_is_flat() {
            nameless(spec, id, &format!("`type` is {raw_name}, expected a string"))
        } else {
            unknown(spec, id, raw_name)
        });
    };
    let Some(command_spec) = spec.command(&name) else {
        // A JSON-RPC notification is never answered.
        return match (&id, spec.framing_is_flat()) {
            (None, false) => Line::Ignored,
            _ => Line::Answer(unknown(spec, id, &name)),
        };
    };
    if id.is_none() && !spec.framing_is_flat() {
        return Line::Ignored;
    }
    match D::Command::decode(&name, found.params, command_envelope(spec)) {
        Some(Ok(command)) => {
            let session = spec.session_member.and_then(|member| session(found.params, member));
            Line::Command { id: id.map(str::to_owned), spec: command_spec, command, session }
        }
        Some(Err(error)) => {
            let reason = without_position(&error.to_string());
            let refusal =
                Refusal::with_code(format!("Invalid parameters of `{name}`: {reason}"), INVALID_PARAMS);
            let fault = if reason.contains(NONE_OF) { Fault::OutsideSet } else { Fault::Parameters };
            Line::Answer(refused(spec, id, &name, &refusal, fault))
        }
        None => Line::Answer(unknown(spec, id, &name)),
    }
}

/// The session that parameters name; of two members with one name the last one counts.
fn session(params: &str, member: &str) -> Option<String> {
    let mut named = None;
    let read = scan::members(params, |name, value| {
        if scan::is_named(name, member) {
            named = scan::string(value).map(|id| id.into_owned());
        }
    });
    read.ok().and(named)
}

fn unknown(spec: &Spec, id: Option<&str>, name: &str) -> String {
    let text = spec.edges.unknown_command_text.replace("{command}", name);
    let id = id.filter(|_| spec.edges.unknown_command_echoes_id);
    if spec.framing_is_flat() {
        failure_line(spec, id, Some(name), &Value::from(text))
    } else {
        failure_line(spec, id, None, &json!({"code": METHOD_NOT_FOUND, "message": text}))
    }
}

/// The answer to an object that names no command.
fn nameless(spec: &Spec, id: Option<&str>, reason: &str) -> String {
    let id = id.filter(|_| spec.edges.unknown_command_echoes_id);
    let text = format!("{}{reason}", spec.edges.parse_prefix);
    failure_line(spec, id, Some(spec.edges.parse_command), &Value::from(text))
}

fn invalid_request(spec: &Spec, reason: &str) -> String {
    failure_line(
        spec,
        None,
        None,
        &json!({"code": INVALID_REQUEST, "message": "Invalid request", "data": reason}),
    )
}

/// What is wrong with a line that the scan refused: the parser's words where it refuses it too.
fn reason(text: &str, error: &ScanError) -> String {
    match error {
        ScanError::Blank | ScanError::NotAnObject { .. } | ScanError::TooDeep { .. } => error.to_string(),
        _ => serde_json::from_str::<IgnoredAny>(text)
            .err()
            .map_or_else(|| error.to_string(), |error| error.to_string()),
    }
}

/// Positions are of no use where the member is named.
fn without_position(reason: &str) -> String {
    match reason.rfind(" at line ") {
        Some(at) => reason[..at].to_owned(),
        None => reason.to_owned(),
    }
}
