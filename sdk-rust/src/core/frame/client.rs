//! The frames of clients.

use serde_json::{Map, Value};

use super::{FrameBody, FrameError, value};
use crate::framing::FrameText;
use crate::renames;
use crate::scan::{self, MemberSet, member};
use crate::spec::{Dialect, Spec};
use crate::wire::{Envelope, NamedUnion};

/// Encoding of empty JSON-RPC parameters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EmptyParams {
    /// The parameters are written as `{}`.
    #[default]
    Object,
    /// The parameters are written as `null`.
    Null,
    /// The member with the parameters is absent.
    Absent,
}

/// A frame that a client sends.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientFrame<D: Dialect> {
    /// The frame is a command.
    Command {
        /// The id of the command, if it has one.
        id: Option<Value>,
        /// The command with its parameters.
        command: D::Command,
        /// Encoding of empty JSON-RPC parameters.
        empty: EmptyParams,
    },
    /// The frame is the answer to a dialog. Contains all members of the frame.
    Answer(Map<String, Value>),
}

/// Classified line of a client. Raw values are JSON text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClientLine<'a> {
    /// The id as JSON text.
    pub id: Option<&'a str>,
    /// The `type` or `method` as JSON text.
    pub name: Option<&'a str>,
    /// The object with the parameters as JSON text.
    pub params: &'a str,
    /// Encoding of empty JSON-RPC parameters.
    pub empty: EmptyParams,
    /// `true` if the line answers a dialog.
    pub is_answer: bool,
    /// `true` if the line contains `"jsonrpc": "2.0"`, which JSON-RPC requires. Always `true` in flat dialects.
    pub is_of_protocol: bool,
}

static FLAT: MemberSet<2> = MemberSet::new([member("id"), member("type")]);
static JSON_RPC: MemberSet<6> = MemberSet::new([
    member("id"),
    member("method"),
    member("params"),
    member("result"),
    member("error"),
    member("jsonrpc"),
]);

/// Classifies a line of a client.
pub(crate) fn client_line<'a>(spec: &Spec, line: &'a str) -> Result<ClientLine<'a>, scan::ScanError> {
    if spec.framing_is_flat() {
        let found = scan::scan(line, &FLAT)?;
        let is_answer = found.string(1).is_some_and(|kind| spec.is_answer(&kind));
        return Ok(ClientLine {
            id: found.get(0),
            name: found.get(1),
            params: line,
            empty: EmptyParams::Object,
            is_answer,
            is_of_protocol: true,
        });
    }
    let found = scan::scan(line, &JSON_RPC)?;
    let params = found.get(2).filter(|params| !scan::is_null(params));
    let empty = match (found.get(2), params) {
        (None, _) => EmptyParams::Absent,
        (Some(_), None) => EmptyParams::Null,
        _ => EmptyParams::Object,
    };
    let is_answer = found.get(1).is_none() && (found.get(3).is_some() || found.get(4).is_some());
    Ok(ClientLine {
        id: found.get(0),
        name: found.get(1),
        params: params.unwrap_or("{}"),
        empty,
        is_answer,
        is_of_protocol: found.string(5).is_some_and(|version| version == "2.0"),
    })
}

/// Returns the envelope of a command: members of its frame that are not parameters.
pub(crate) fn command_envelope(spec: &Spec) -> Envelope {
    if spec.framing_is_flat() { Envelope::of(&["id", "type"]) } else { Envelope::NONE }
}

impl<D: Dialect> ClientFrame<D> {
    /// Decodes a frame.
    ///
    /// # Errors
    /// A [`FrameError`] names the missing or wrong member.
    pub fn decode(frame: &FrameText) -> Result<Self, FrameError> {
        let line = client_line(D::CLIENT, frame.as_str()).map_err(FrameError::new)?;
        if line.is_answer {
            return match value(frame)? {
                Value::Object(members) => Ok(ClientFrame::Answer(members)),
                _ => Err(FrameError::new("it is not an object")),
            };
        }
        let name = line
            .name
            .and_then(scan::string)
            .ok_or_else(|| FrameError::new("it has no `type` or `method`"))?;
        // Parameters that some revisions rename are decoded under their first name.
        let renamed = D::CLIENT.command(&name).map_or(&[][..], |row| row.renamed);
        let first: Vec<_> = renamed.iter().map(|(name, later)| (*later, *name)).collect();
        let params = renames::renamed(line.params, &first);
        let command = D::Command::decode(&name, &params, command_envelope(D::CLIENT))
            .ok_or_else(|| FrameError::new(format!("`{name}` is not a command of this dialect")))?
            .map_err(FrameError::new)?;
        let id = line.id.map(serde_json::from_str).transpose().map_err(FrameError::new)?;
        Ok(ClientFrame::Command { id, command, empty: line.empty })
    }

    /// Encodes the frame as one line, without its line end.
    ///
    /// # Errors
    /// Never for decoded frames.
    pub fn encode(&self) -> Result<String, FrameError> {
        self.encode_in(D::CLIENT)
    }

    /// Encodes the frame as one line for the given revision, without its line end.
    ///
    /// # Errors
    /// Never for decoded frames.
    pub fn encode_in(&self, spec: &Spec) -> Result<String, FrameError> {
        match self {
            ClientFrame::Answer(members) => serde_json::to_string(members).map_err(FrameError::new),
            ClientFrame::Command { id, command, .. } if D::CLIENT.framing_is_flat() => {
                let mut head: Vec<(&str, Value)> = id.iter().map(|id| ("id", id.clone())).collect();
                head.push(("type", Value::from(command.name())));
                let line = serde_json::to_string(&FrameBody(&head, command)).map_err(FrameError::new)?;
                let renamed = match spec.revisions.is_empty() {
                    true => spec.command(command.name()).map_or(&[][..], |row| row.renamed),
                    false => &[],
                };
                Ok(renames::renamed(&line, renamed).into_owned())
            }
            ClientFrame::Command { id, command, empty } => {
                let params = match empty {
                    EmptyParams::Absent => String::new(),
                    EmptyParams::Null => ",\"params\":null".to_owned(),
                    EmptyParams::Object => {
                        let params =
                            serde_json::to_string(&FrameBody(&[], command)).map_err(FrameError::new)?;
                        format!(",\"params\":{params}")
                    }
                };
                let id = id.as_ref().map(|id| format!(",\"id\":{id}")).unwrap_or_default();
                Ok(format!("{{\"jsonrpc\":\"2.0\"{id},\"method\":{}{params}}}", Value::from(command.name())))
            }
        }
    }
}
