//! Interpretation of a client's line, and answers to invalid input in the form that the dialect requires.

use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use super::command_error::CommandError;
use crate::frame::{client_line, command_envelope, failure_line};
use crate::scan::{self, ScanError};
use crate::spec::{AnswerTiming, CommandSpec, Dialect, HandlerFailure, Spec};
use crate::strict;
use crate::wire::{NONE_OF, NamedUnion, replace_lone_surrogates};

/// Kinds of failure that JSON-RPC dialects declare for invalid requests. This one is for lines that are not
/// JSON.
const INVALID_LINE: &str = "invalid_line";
const INVALID_REQUEST: &str = "invalid_request";
const UNKNOWN_COMMAND: &str = "unknown_command";
const MISSING_PARAMETERS: &str = "missing_parameters";
const INVALID_PARAMETERS: &str = "invalid_parameters";
const SESSION_NOT_FOUND: &str = "session_not_found";
const INTERNAL_ERROR: &str = "internal_error";

/// Interpretation of a line.
pub(super) enum InterpretedLine<D: Dialect> {
    /// A line that has no effect, such as a blank one.
    Ignored,
    /// A line that needs no work, with the response to it.
    Answer(String),
    /// A line that cannot be read, with the response to it. The line may have been the answer to a question.
    Unreadable(String),
    /// An answer to a question.
    Question {
        /// The question's id.
        id: String,
        /// The answer's members.
        members: Map<String, Value>,
    },
    /// The line is a command.
    Command {
        /// Raw id of the command.
        id: Option<String>,
        /// Row of the command in the tables.
        spec: &'static CommandSpec,
        /// The command with its parameters.
        command: D::Command,
        /// The session of the command, in dialects whose commands contain one.
        session: Option<String>,
    },
}

/// Returns the answer to input that cannot be read as a line.
pub(super) fn parse_failure(spec: &Spec, reason: &str) -> String {
    if !spec.framing_is_flat() {
        return rpc_error(spec, None, &CommandError::declared(spec, INVALID_LINE, &[]).with_data(reason));
    }
    let text = format!("{}{reason}", spec.edges.parse_prefix);
    failure_line(spec, None, Some(spec.edges.parse_command), &Value::from(text))
}

/// Text in place of an absent parameter in a failure, as agents of flat dialects write it.
const ABSENT_PARAM: &str = "undefined";

/// Part of a command in which the failure occurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailedPart {
    /// The failure occurred in the handler.
    Handler,
    /// The parameters cannot be read.
    Parameters,
    /// The value of a parameter is not one of the permitted values. The failure response has the command's
    /// name and id in every dialect.
    OutsideSet,
}

/// Returns the answer to a rejected command.
pub(super) fn rejection(
    spec: &Spec,
    id: Option<&str>,
    command: &str,
    error: &CommandError,
    fault: FailedPart,
) -> String {
    match spec.edges.handler_failure {
        HandlerFailure::JsonRpcError => rpc_error(spec, id, error),
        HandlerFailure::ParseWithoutId { except, invalid } => {
            let named = match fault {
                FailedPart::Handler => error.invalid_params || except.contains(&command),
                FailedPart::Parameters => invalid.contains(&command),
                FailedPart::OutsideSet => true,
            };
            match named {
                true => failure_line(spec, id, Some(command), &Value::from(error.message.as_str())),
                false => parse_failure(spec, &error.message),
            }
        }
        HandlerFailure::OwnCommandAndId => {
            failure_line(spec, id, Some(command), &Value::from(error.message.as_str()))
        }
    }
}

/// Returns a failure in the form of JSON-RPC.
fn rpc_error(spec: &Spec, id: Option<&str>, command_error: &CommandError) -> String {
    let code = command_error.code.or_else(|| CommandError::declared(spec, INTERNAL_ERROR, &[]).code);
    let mut error = json!({"code": code, "message": command_error.message});
    if let Some(data) = &command_error.data {
        error["data"] = data.clone();
    }
    failure_line(spec, id, None, &error)
}

/// Reads a line for a gate. Also rejects lines that [`strict::client_frame`] rejects, even if servers of this
/// dialect accept them. For lines that the dialect itself rejects, returns the dialect's error. Blank lines are
/// treated as in the dialect.
pub(super) fn read_strictly<D: Dialect>(spec: &'static Spec, text: &str) -> InterpretedLine<D> {
    let line = read(spec, text);
    if matches!(line, InterpretedLine::Answer(_) | InterpretedLine::Unreadable(_))
        || text.trim_ascii().is_empty()
    {
        return line;
    }
    match strict::client_frame(spec, text) {
        Err(error) => InterpretedLine::Answer(ambiguity(spec, text, &error.to_string())),
        Ok(_) => line,
    }
}

fn ambiguity(spec: &Spec, text: &str, reason: &str) -> String {
    let id = strict::rejected_id(spec, text);
    if spec.framing_is_flat() {
        return failure_line(spec, id, Some(spec.edges.parse_command), &Value::from(reason));
    }
    rpc_error(spec, id, &CommandError::declared(spec, INVALID_REQUEST, &[]).with_data(reason))
}

/// Reads a line.
pub(super) fn read<D: Dialect>(spec: &'static Spec, text: &str) -> InterpretedLine<D> {
    // Lone surrogates are not sent back, even in an id.
    let replaced = replace_lone_surrogates(text);
    let text = replaced.as_deref().unwrap_or(text);
    let found = match client_line(spec, text) {
        Ok(found) => found,
        Err(ScanError::Blank) if !spec.edges.blank_line_is_error => return InterpretedLine::Ignored,
        Err(error @ ScanError::NotAnObject { .. }) if !spec.framing_is_flat() => {
            return match serde_json::from_str::<IgnoredAny>(text) {
                Ok(_) => InterpretedLine::Answer(invalid_request(spec, &error.to_string())),
                Err(error) => InterpretedLine::Unreadable(parse_failure(spec, &error.to_string())),
            };
        }
        Err(error) => return InterpretedLine::Unreadable(parse_failure(spec, &reason(text, &error))),
    };
    // The scan checks only the structure: this parse finds a value that is not JSON.
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        return InterpretedLine::Unreadable(parse_failure(spec, &error.to_string()));
    }
    if !found.is_of_protocol {
        return InterpretedLine::Answer(invalid_request(spec, "its `jsonrpc` is not \"2.0\""));
    }
    let id = found.id;
    if found.is_answer {
        let Ok(Value::Object(members)) = serde_json::from_str(text) else { return InterpretedLine::Ignored };
        return match id.and_then(scan::string) {
            Some(id) => InterpretedLine::Question { id: id.into_owned(), members },
            None => InterpretedLine::Ignored,
        };
    }
    let Some(raw_name) = found.name else {
        return match (spec.framing_is_flat(), id) {
            (false, _) => InterpretedLine::Answer(invalid_request(spec, "it has no `method`")),
            (true, id) => InterpretedLine::Answer(missing_name(spec, id, "`type` is missing")),
        };
    };
    let Some(name) = scan::string(raw_name) else {
        return InterpretedLine::Answer(if spec.framing_is_flat() {
            missing_name(spec, id, &format!("`type` is {raw_name}, expected a string"))
        } else {
            unknown(spec, id, raw_name)
        });
    };
    let command_spec = spec.command(&name);
    // A notification is not a method: a notification with an id would never have an answer.
    let is_notification = command_spec.is_some_and(|command| command.answer == AnswerTiming::Never);
    let Some(command_spec) = command_spec.filter(|_| !is_notification || id.is_none()) else {
        // A JSON-RPC notification is never answered.
        return match (&id, spec.framing_is_flat()) {
            (None, false) => InterpretedLine::Ignored,
            _ => InterpretedLine::Answer(unknown(spec, id, &name)),
        };
    };
    if id.is_none() && !spec.framing_is_flat() && !is_notification {
        return InterpretedLine::Ignored;
    }
    match decode::<D>(command_spec, found.params) {
        Some(Ok(command)) => {
            let session = spec.session_member.and_then(|member| session(found.params, member));
            InterpretedLine::Command { id: id.map(str::to_owned), spec: command_spec, command, session }
        }
        Some(Err(error)) if is_notification => {
            tracing::warn!(command = %name, %error, "a notification cannot be read and is ignored");
            InterpretedLine::Ignored
        }
        Some(Err(error)) => {
            let reason = without_position(&error.to_string());
            let command_error = match spec.framing_is_flat() {
                true => declared_failure(spec, command_spec, found.params).unwrap_or_else(|| {
                    CommandError::new(format!("Invalid parameters of `{name}`: {reason}"))
                }),
                false => wrong_parameters(spec, command_spec, found.params, &reason),
            };
            let fault =
                if reason.contains(NONE_OF) { FailedPart::OutsideSet } else { FailedPart::Parameters };
            InterpretedLine::Answer(rejection(spec, id, &name, &command_error, fault))
        }
        None => InterpretedLine::Answer(unknown(spec, id, &name)),
    }
}

/// Decodes the parameters of a command. If a parameter of `tolerates` has the wrong
/// type, it is treated as absent.
fn decode<D: Dialect>(command: &CommandSpec, params: &str) -> Option<Result<D::Command, serde_json::Error>> {
    let envelope = || command_envelope(D::SPEC);
    let first = D::Command::decode(command.wire, params, envelope())?;
    let Err(error) = first else { return Some(first) };
    if !command.has_params && !D::SPEC.framing_is_flat() {
        return D::Command::decode(command.wire, "{}", envelope());
    }
    let Ok(Value::Object(mut all)) = serde_json::from_str(params) else { return Some(Err(error)) };
    if !D::SPEC.framing_is_flat() {
        // In JSON-RPC null is equivalent to an absent parameter.
        all.retain(|_, value: &mut Value| !value.is_null());
        let given = D::Command::decode(command.wire, &Value::Object(all.clone()).to_string(), envelope());
        if let Some(Ok(given)) = given {
            return Some(Ok(given));
        }
    }
    let without = |left_out: &[&str]| {
        let mut kept = all.clone();
        kept.retain(|name, _| !left_out.contains(&name.as_str()));
        let text = Value::Object(kept).to_string();
        D::Command::decode(command.wire, &text, envelope()).and_then(Result::ok)
    };
    let given: Vec<&str> = command.tolerates.iter().copied().filter(|name| all.contains_key(*name)).collect();
    // Only invalid parameters are removed: of the sets whose removal makes the rest readable, a smallest one.
    let mut sets: Vec<u32> = (1..1 << given.len().min(8)).collect();
    sets.sort_by_key(|set| set.count_ones());
    let members = |set: u32| {
        let chosen = given.iter().enumerate().filter(move |(at, _)| set & (1 << at) != 0);
        chosen.map(|(_, name)| *name).collect::<Vec<_>>()
    };
    Some(sets.into_iter().find_map(|set| without(&members(set))).ok_or(error))
}

/// Returns the failure that a flat dialect declares for parameters that are missing or have the wrong type. Its
/// text contains the values that the client sent.
fn declared_failure(spec: &Spec, command: &CommandSpec, params: &str) -> Option<CommandError> {
    let Ok(Value::Object(sent)) = serde_json::from_str(params) else { return None };
    let is_wrong = |name: &str| !sent.get(name).is_some_and(Value::is_string);
    let (_, kind) = command.wrong.iter().find(|(name, _)| is_wrong(name))?;
    let value = |name: &str| match sent.get(name) {
        None => ABSENT_PARAM.to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    let values: Vec<_> = command.wrong.iter().map(|(name, _)| (*name, value(name))).collect();
    let values: Vec<_> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Some(CommandError::declared(spec, kind, &values))
}

/// Returns the failure for unreadable parameters, in dialects that declare texts for this case.
fn wrong_parameters(spec: &Spec, command: &CommandSpec, params: &str, reason: &str) -> CommandError {
    let mut present = Vec::new();
    let read = scan::members(params, |name, value| {
        if !scan::is_null(value) {
            present.extend(command.required.iter().copied().filter(|needed| scan::is_named(name, needed)));
        }
    });
    let wrong = wrong_parameter(spec, command, reason);
    let missing = read.is_ok() && command.required.iter().any(|needed| !present.contains(needed));
    match (missing || wrong == Some(MISSING_PARAMETERS), command.required) {
        (true, [only]) => CommandError::declared(spec, MISSING_PARAMETERS, &[("param", only)]),
        (true, all) => CommandError::declared(spec, MISSING_PARAMETERS, &[("params", &all.join(", "))]),
        _ => match wrong {
            Some(kind) => CommandError::declared(spec, kind, &[]).with_data(reason),
            None => CommandError::declared(
                spec,
                INVALID_PARAMETERS,
                &[("method", command.wire), ("reason", reason)],
            ),
        },
    }
}

/// Returns the kind of failure that is declared for a parameter. The reason begins with the parameter's name,
/// as in "`model`: …".
fn wrong_parameter(spec: &Spec, command: &CommandSpec, reason: &str) -> Option<&'static str> {
    let (name, rest) = reason.strip_prefix('`')?.split_once("`: ")?;
    if spec.session_member == Some(name) {
        return Some(SESSION_NOT_FOUND);
    }
    let is_within = rest.starts_with(['`', '[']) || rest.starts_with("missing field");
    let declared = command.wrong.iter().find(|(declared, _)| match declared.strip_suffix('.') {
        Some(declared) => is_within && declared == name,
        None => !is_within && *declared == name,
    });
    declared.map(|(_, kind)| *kind)
}

/// Returns the session that the parameters name. If two members have this name, the last one applies.
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
        rpc_error(spec, id, &CommandError::declared(spec, UNKNOWN_COMMAND, &[("method", name)]))
    }
}

/// Returns the answer to an object that names no command.
fn missing_name(spec: &Spec, id: Option<&str>, reason: &str) -> String {
    let id = id.filter(|_| spec.edges.unknown_command_echoes_id);
    let text = format!("{}{reason}", spec.edges.parse_prefix);
    failure_line(spec, id, Some(spec.edges.parse_command), &Value::from(text))
}

fn invalid_request(spec: &Spec, reason: &str) -> String {
    rpc_error(spec, None, &CommandError::declared(spec, INVALID_REQUEST, &[]).with_data(reason))
}

/// Returns the reason why a line was rejected. If the JSON parser rejects it too, this is the parser's text.
fn reason(text: &str, error: &ScanError) -> String {
    match error {
        ScanError::Blank | ScanError::NotAnObject { .. } | ScanError::TooDeep { .. } => error.to_string(),
        _ => serde_json::from_str::<IgnoredAny>(text)
            .err()
            .map_or_else(|| error.to_string(), |error| error.to_string()),
    }
}

/// Removes the position from a reason. It is of no use beside the name of the member.
fn without_position(reason: &str) -> String {
    match reason.rfind(" at line ") {
        Some(at) => reason[..at].to_owned(),
        None => reason.to_owned(),
    }
}
