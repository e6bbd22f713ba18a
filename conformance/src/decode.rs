//! Role of an agent's line in a dialect.
//!
//! Only this file of the suite uses the generated types of the dialects; all others use tables.

use std::collections::HashMap;

use agentese::frame::{FrameError, ServerFrame};
use agentese::framing::FrameText;
use agentese::spec::{Dialect, Spec};
use agentese::wire::{Envelope, EventUnion as _, NamedUnion as _};
use agentese::{acp, omp, opal, operator, pi, pisces};
use serde_json::Value;

/// Role of an agent's line. Names that the dialect does not declare are kept as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LineRole {
    /// Response to a command that succeeded.
    Success { command: String },
    /// Response to a command that failed, or to a line that the agent could not read.
    Failure,
    /// An event; `known` is `true` if the dialect declares it.
    Event { name: String, known: bool },
    /// A question or a notice; `known` is `true` if the dialect declares it.
    Dialog { name: String, known: bool },
}

/// Commands that the client sent, by the JSON text of their ids. Answers of some dialects do not contain the
/// name of their command.
#[derive(Debug, Default)]
pub(crate) struct SentCommands {
    commands: HashMap<String, String>,
    /// Beginning of a line that the client has not finished yet.
    partial_line: String,
}

impl SentCommands {
    /// Returns the command with this id.
    pub(crate) fn command(&self, id: &Value) -> Option<String> {
        self.commands.get(&id.to_string()).cloned()
    }
}

/// Byte order mark, which some programs write before the first line.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Decodes a line of an agent.
pub(crate) type LineDecoder = fn(&FrameText, &SentCommands) -> Result<LineRole, FrameError>;

const DIALECTS: [(&[&Spec], LineDecoder); 5] = [
    (pi::Pi::REVISIONS, line_role::<pi::Pi>),
    (omp::Omp::REVISIONS, line_role::<omp::Omp>),
    (pisces::Pisces::REVISIONS, line_role::<pisces::Pisces>),
    (operator::Operator::REVISIONS, line_role::<operator::Operator>),
    (opal::Opal::REVISIONS, line_role::<opal::Opal>),
];

/// Protocols that are declared like dialects but are not: the suite has cases for them, and no recordings.
const PROTOCOLS: [(&[&Spec], LineDecoder); 1] = [(acp::Acp::REVISIONS, protocol_line_role::<acp::Acp>)];

/// First character of the names of methods that an implementation adds to a protocol.
const EXTENSION: char = '_';

/// Returns the tables of a dialect or protocol: `NAME`, which means the first revision, or `NAME@REVISION`.
///
/// # Errors
/// If the name or the revision is unknown.
pub fn spec(name: &str) -> Result<&'static Spec, agentese::Error> {
    protocol(name).map_or_else(|| agentese::dynamic::spec(name), Ok)
}

/// Returns the tables of a protocol by its name, with or without the revision. Returns `None` if the name is not that
/// of a protocol.
pub(crate) fn protocol(name: &str) -> Option<&'static Spec> {
    let all = PROTOCOLS.iter().flat_map(|(revisions, _)| revisions.iter().copied());
    let mut found = all.filter(|spec| spec.id() == name || spec.name == name);
    found.next()
}

/// Returns the decoder for a dialect (`NAME@REVISION`), or `None` if the dialect is unknown.
pub(crate) fn decode(dialect: &str) -> Option<(&'static Spec, LineDecoder)> {
    DIALECTS.into_iter().chain(PROTOCOLS).find_map(|(revisions, decode)| {
        revisions.iter().find(|spec| spec.id() == dialect).map(|spec| (*spec, decode))
    })
}

fn line_role<D: Dialect>(line: &FrameText, commands: &SentCommands) -> Result<LineRole, FrameError> {
    Ok(match ServerFrame::<D>::decode(line, |id| commands.command(id))? {
        ServerFrame::Success { command, .. } => LineRole::Success { command },
        ServerFrame::Failure { .. } => LineRole::Failure,
        ServerFrame::Event(event) => {
            LineRole::Event { name: event.event_type().to_owned(), known: event.is_known() }
        }
        ServerFrame::Dialog { dialog, .. } => {
            LineRole::Dialog { name: dialog.name().to_owned(), known: true }
        }
        ServerFrame::UnknownDialog(members) => {
            let name = members.get("method").and_then(Value::as_str).unwrap_or_default();
            LineRole::Dialog { name: name.to_owned(), known: false }
        }
    })
}

/// Decodes a line in a protocol whose requests and notifications to the client are all dialogs.
fn protocol_line_role<D: Dialect>(line: &FrameText, commands: &SentCommands) -> Result<LineRole, FrameError> {
    let frame: Value = serde_json::from_str(line.as_str()).unwrap_or_default();
    let Some(method) = frame.get("method").and_then(Value::as_str) else {
        return line_role::<D>(line, commands);
    };
    let name = method.to_owned();
    if method.starts_with(EXTENSION) {
        return Ok(LineRole::Dialog { name, known: true });
    }
    let params = frame.get("params").unwrap_or(&Value::Null).to_string();
    match D::Dialog::decode(method, &params, Envelope::NONE) {
        None => Ok(LineRole::Dialog { name, known: false }),
        Some(dialog) => {
            dialog.map_err(|error| FrameError { reason: format!("`params` of `{method}`: {error}") })?;
            Ok(LineRole::Dialog { name, known: true })
        }
    }
}

/// Records the commands and their ids, for dialects whose answers do not name the command. One write may
/// contain several lines, or a part of one.
pub(crate) fn record_commands(written: &FrameText, commands: &mut SentCommands) {
    for line in written.as_str().split('\n') {
        let line = line.trim_start_matches(BYTE_ORDER_MARK);
        commands.partial_line.push_str(line);
        let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
        let Some(frame) = parse(line).or_else(|| parse(&commands.partial_line)) else { continue };
        commands.partial_line.clear();
        if let (Some(id), Some(method)) = (frame.get("id"), frame["method"].as_str()) {
            commands.commands.insert(id.to_string(), method.to_owned());
        }
    }
}

/// Returns the name of a command. For an answer to a question, returns the type of its frame. Returns `None`
/// if the line has no name.
pub(crate) fn name(line: &FrameText) -> Option<String> {
    let frame: Value = serde_json::from_str(line.as_str()).ok()?;
    frame["method"].as_str().or_else(|| frame["type"].as_str()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_recognized_in_any_spelling() {
        let mut sent_commands = SentCommands::default();
        for written in [
            "\u{feff}{\"id\":1,\"method\":\"a\"}",
            "{\"id\":2,\"method\":\"b\"}\n{\"id\":3,\"method\":\"c\"}\n{\"id\":4,",
            "\"method\":\"d\"}",
            "no JSON",
            "{\"id\":5,\"method\":\"e\"}",
        ] {
            record_commands(&FrameText::from(written.to_owned()), &mut sent_commands);
        }
        let commands = (1..=5).map(|id: u8| sent_commands.command(&id.into()).unwrap()).collect::<String>();
        assert_eq!(commands, "abcde");
    }
}
