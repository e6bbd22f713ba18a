//! Role of an agent's line in a dialect.
//!
//! This is the only file of the suite that names the types of the dialects: all others use tables.

use std::collections::HashMap;

use agentese::frame::{FrameError, ServerFrame};
use agentese::framing::FrameText;
use agentese::spec::{Dialect, Spec};
use agentese::wire::{Eventful as _, Named as _};
use agentese::{omp, opal, operator, pi, pisces};
use serde_json::Value;

/// Role of an agent's line. Undeclared names are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// A command succeeded.
    Success { command: String },
    /// A failed command, or an unreadable line.
    Failure,
    /// An event; `known` if it is declared.
    Event { name: String, known: bool },
    /// A question or a notice; `known` if it is declared.
    Dialog { name: String, known: bool },
}

/// Commands of the client by the JSON text of their ids: in some dialects, answers do not name the command.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    commands: HashMap<String, String>,
    /// The beginning of a line that the client sends in several writes.
    begun: String,
}

impl Asked {
    /// Returns the command with this id.
    pub(crate) fn command(&self, id: &Value) -> Option<String> {
        self.commands.get(&id.to_string()).cloned()
    }
}

/// Some writers put this mark before the first line.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Decodes a line of an agent.
pub(crate) type Decode = fn(&FrameText, &Asked) -> Result<Line, FrameError>;

const DIALECTS: [(&[&Spec], Decode); 5] = [
    (pi::Pi::REVISIONS, line::<pi::Pi>),
    (omp::Omp::REVISIONS, line::<omp::Omp>),
    (pisces::Pisces::REVISIONS, line::<pisces::Pisces>),
    (operator::Operator::REVISIONS, line::<operator::Operator>),
    (opal::Opal::REVISIONS, line::<opal::Opal>),
];

/// Returns the decoder for a dialect (`NAME@REVISION`), or `None` if the dialect is unknown.
pub(crate) fn decode(dialect: &str) -> Option<(&'static Spec, Decode)> {
    DIALECTS.into_iter().find_map(|(revisions, decode)| {
        revisions.iter().find(|spec| spec.id() == dialect).map(|spec| (*spec, decode))
    })
}

fn line<D: Dialect>(line: &FrameText, asked: &Asked) -> Result<Line, FrameError> {
    Ok(match ServerFrame::<D>::decode(line, |id| asked.command(id))? {
        ServerFrame::Success { command, .. } => Line::Success { command },
        ServerFrame::Failure { .. } => Line::Failure,
        ServerFrame::Event(event) => {
            Line::Event { name: event.event_type().to_owned(), known: event.is_known() }
        }
        ServerFrame::Dialog { dialog, .. } => Line::Dialog { name: dialog.name().to_owned(), known: true },
        ServerFrame::UnknownDialog(members) => {
            let name = members.get("method").and_then(Value::as_str).unwrap_or_default();
            Line::Dialog { name: name.to_owned(), known: false }
        }
    })
}

/// Records the commands and their ids, for dialects whose answers do not name the command. One write may
/// contain several lines, or a part of one.
pub(crate) fn note(written: &FrameText, asked: &mut Asked) {
    for line in written.as_str().split('\n') {
        let line = line.trim_start_matches(BYTE_ORDER_MARK);
        asked.begun.push_str(line);
        let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
        let Some(frame) = parse(line).or_else(|| parse(&asked.begun)) else { continue };
        asked.begun.clear();
        if let (Some(id), Some(method)) = (frame.get("id"), frame["method"].as_str()) {
            asked.commands.insert(id.to_string(), method.to_owned());
        }
    }
}

/// Returns the name of a client's frame: a command, or the frame of an answer. Returns `None` if the line has
/// no name.
pub(crate) fn name(line: &FrameText) -> Option<String> {
    let frame: Value = serde_json::from_str(line.as_str()).ok()?;
    frame["method"].as_str().or_else(|| frame["type"].as_str()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_known_however_they_are_written() {
        let mut asked = Asked::default();
        for written in [
            "\u{feff}{\"id\":1,\"method\":\"a\"}",
            "{\"id\":2,\"method\":\"b\"}\n{\"id\":3,\"method\":\"c\"}\n{\"id\":4,",
            "\"method\":\"d\"}",
            "no JSON",
            "{\"id\":5,\"method\":\"e\"}",
        ] {
            note(&FrameText::from(written.to_owned()), &mut asked);
        }
        let commands = (1..=5).map(|id: u8| asked.command(&id.into()).unwrap()).collect::<String>();
        assert_eq!(commands, "abcde");
    }
}
