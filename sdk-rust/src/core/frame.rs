//! Whole frames, typed: what a proxy, a recorder or a checker reads and writes.
//!
//! Clients and servers do not need this: they look at a frame once and decode the part they want.
//! A typed frame encodes to the same JSON value that it was decoded from, members that the
//! declaration does not name among them.

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde_json::{Map, Value};

use crate::framing::FrameText;
use crate::route::{Routed, route};
use crate::scan::{self, Wanted, member};
use crate::spec::{Dialect, Framing, ResponseOrder, Spec};
use crate::wire::{Answered, Envelope, Named};

/// Why a text is not a frame of its dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct FrameError {
    /// Which member is wrong, and why.
    pub reason: String,
}

impl FrameError {
    fn new(reason: impl ToString) -> Self {
        FrameError { reason: reason.to_string() }
    }
}

/// A frame that a server sends.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerFrame<D: Dialect> {
    /// A command succeeded.
    Success {
        /// The command's id, where it had one.
        id: Option<Value>,
        /// The command's wire name.
        command: String,
        /// The data of the answer.
        reply: D::Reply,
        /// Whether the answer carries empty data although there is none.
        empty: bool,
    },
    /// A command failed, or a line could not be read.
    Failure {
        /// The command's id, where the answer carries it. JSON-RPC has null for a line that could
        /// not be read.
        id: Option<Value>,
        /// The command that the answer names.
        command: Option<String>,
        /// A text, or a JSON-RPC error object.
        error: Value,
    },
    /// An event.
    Event(D::Event),
    /// A question or notice.
    Dialog {
        /// What the answer has to carry.
        id: Value,
        /// What is asked.
        dialog: D::Dialog,
    },
    /// A question or notice whose method is not declared.
    UnknownDialog(Map<String, Value>),
}

/// How JSON-RPC parameters that hold nothing are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EmptyParams {
    /// As `{}`.
    #[default]
    Object,
    /// As `null`.
    Null,
    /// Not at all.
    Absent,
}

/// A frame that a client sends.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientFrame<D: Dialect> {
    /// A command.
    Command {
        /// Its id, where it has one.
        id: Option<Value>,
        /// The command.
        command: D::Command,
        /// How JSON-RPC parameters that hold nothing are written.
        empty: EmptyParams,
    },
    /// The answer to a dialog: its members with the envelope.
    Answer(Map<String, Value>),
}

fn value(text: &FrameText) -> Result<Value, FrameError> {
    crate::wire::decode(text.as_str()).map_err(FrameError::new)
}

impl<D: Dialect> ServerFrame<D> {
    /// Reads a frame. `command_of` gives the command of an answer by its id, in dialects whose
    /// answers do not name it.
    ///
    /// # Errors
    /// Says which member is missing or wrong.
    pub fn decode(
        frame: &FrameText,
        command_of: impl Fn(&Value) -> Option<String>,
    ) -> Result<Self, FrameError> {
        match route(D::CLIENT, frame).map_err(FrameError::new)? {
            Routed::Answer { id, command, success: true, data, error: _ } => {
                let id = id.as_ref().map(value).transpose()?;
                let command = command
                    .or_else(|| command_of(id.as_ref()?))
                    .ok_or_else(|| FrameError::new("the answer belongs to no known command"))?;
                let empty = data.as_ref().is_some_and(|data| data.as_str() == "{}");
                let reply = D::Reply::decode(&command, data.as_ref().map(FrameText::as_str))
                    .ok_or_else(|| FrameError::new(format!("`{command}` is not a command of this dialect")))?
                    .map_err(FrameError::new)?;
                Ok(ServerFrame::Success { id, command, reply, empty })
            }
            Routed::Answer { id, command, success: false, error, .. } => {
                let error = error
                    .as_ref()
                    .map(value)
                    .transpose()?
                    .ok_or_else(|| FrameError::new("`error` is missing"))?;
                let fits = if D::CLIENT.framing_is_flat() {
                    error.is_string()
                } else {
                    error["code"].is_i64() && error["message"].is_string()
                };
                if !fits {
                    return Err(FrameError::new(format!("`error` is {error}")));
                }
                Ok(ServerFrame::Failure { id: id.as_ref().map(value).transpose()?, command, error })
            }
            Routed::Event { body, .. } => {
                let body = body.as_ref().unwrap_or(frame);
                crate::wire::decode(body.as_str()).map(ServerFrame::Event).map_err(FrameError::new)
            }
            Routed::Dialog { id, method, params } => {
                let id = value(&id)?;
                if !(id.is_string() || id.is_i64()) {
                    return Err(FrameError::new("`id` is neither a string nor a number"));
                }
                match D::Dialog::decode(&method, params.as_str(), crate::dialog::envelope(D::CLIENT)) {
                    Some(dialog) => Ok(ServerFrame::Dialog { id, dialog: dialog.map_err(FrameError::new)? }),
                    None if D::CLIENT.framing_is_flat() => match value(frame)? {
                        Value::Object(members) => Ok(ServerFrame::UnknownDialog(members)),
                        _ => Err(FrameError::new("it is not an object")),
                    },
                    None => Err(FrameError::new(format!("`{method}` is not a request of this dialect"))),
                }
            }
        }
    }

    /// Writes the frame as one line, without its end.
    ///
    /// # Errors
    /// Never for frames that were decoded.
    pub fn encode(&self) -> Result<String, FrameError> {
        let spec = D::CLIENT;
        match self {
            ServerFrame::Success { id, command, reply, empty } => {
                let data = reply.encode().map_err(FrameError::new)?;
                let data = data.or_else(|| empty.then(|| "{}".to_owned()));
                Ok(success_line(spec, raw(id).as_deref(), command, data.as_deref()))
            }
            ServerFrame::Failure { id, command, error } => {
                Ok(failure_line(spec, raw(id).as_deref(), command.as_deref(), error))
            }
            ServerFrame::Event(event) => {
                let body = serde_json::to_string(event).map_err(FrameError::new)?;
                Ok(event_line(spec, &body))
            }
            ServerFrame::Dialog { id, dialog } => dialog_line(spec, id, dialog),
            ServerFrame::UnknownDialog(members) => serde_json::to_string(members).map_err(FrameError::new),
        }
    }
}

impl Spec {
    /// Whether frames are bare objects with a `type` (in an envelope or not).
    pub fn framing_is_flat(&self) -> bool {
        !matches!(self.framing, Framing::JsonRpc { .. })
    }
}

fn raw(id: &Option<Value>) -> Option<String> {
    id.as_ref().map(Value::to_string)
}

/// The line of an answer that carries data. The id is raw JSON, so that it goes back as it came.
fn success_line(spec: &Spec, id: Option<&str>, command: &str, data: Option<&str>) -> String {
    let (mut line, after) = success_ends(spec, id, command, data.is_some());
    line.push_str(data.unwrap_or_default());
    line.push_str(after);
    line
}

/// What stands before and after the data of an answer, or the whole line in two parts where it carries none.
pub(crate) fn success_ends(
    spec: &Spec,
    id: Option<&str>,
    command: &str,
    data: bool,
) -> (String, &'static str) {
    if !spec.framing_is_flat() {
        let before = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":", id.unwrap_or("null"));
        return (before, if data { "}" } else { "{}}" });
    }
    let mut line = response_head(spec, id, Some(command), true);
    if data || spec.edges.empty_data {
        line.push_str(",\"data\":");
    }
    (line, if !data && spec.edges.empty_data { "{}}" } else { "}" })
}

/// The line of an answer that says what went wrong: a text, or a JSON-RPC error object.
pub(crate) fn failure_line(spec: &Spec, id: Option<&str>, command: Option<&str>, error: &Value) -> String {
    if !spec.framing_is_flat() {
        let id = id.unwrap_or("null");
        return format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}");
    }
    let mut line = response_head(spec, id, command, false);
    line.push_str(&format!(",\"error\":{error}}}"));
    line
}

fn response_head(spec: &Spec, id: Option<&str>, command: Option<&str>, success: bool) -> String {
    let mut line = String::with_capacity(128);
    line.push('{');
    let put_id = |line: &mut String| {
        if let Some(id) = id {
            line.push_str("\"id\":");
            line.push_str(id);
            line.push(',');
        }
    };
    let by_id = spec.edges.response_order == ResponseOrder::IdFirst;
    if by_id {
        put_id(&mut line);
    }
    line.push_str("\"type\":\"response\",");
    if let Some(command) = command {
        line.push_str("\"command\":");
        // Names of commands have nothing to escape; what a client calls one may.
        match command.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            true => line.extend(["\"", command, "\""]),
            false => line.push_str(&Value::from(command).to_string()),
        }
        line.push(',');
    }
    if !by_id {
        put_id(&mut line);
    }
    line.push_str(if success { "\"success\":true" } else { "\"success\":false" });
    line
}

/// The line of an event, from its object.
fn event_line(spec: &Spec, body: &str) -> String {
    let (before, after) = event_ends(spec);
    format!("{before}{body}{after}")
}

/// What stands before and after the object of an event.
pub(crate) fn event_ends(spec: &Spec) -> (Cow<'static, str>, &'static str) {
    match spec.framing {
        Framing::Flat => ("".into(), ""),
        Framing::Enveloped => ("{\"type\":\"event\",\"event\":".into(), "}"),
        Framing::JsonRpc { notification } => {
            (format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{notification}\",\"params\":").into(), "}")
        }
    }
}

struct Members<'a, N>(&'a [(&'a str, Value)], &'a N);

impl<N: Named> serde::Serialize for Members<'_, N> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.0 {
            map.serialize_entry(name, value)?;
        }
        self.1.encode(&mut map)?;
        map.end()
    }
}

pub(crate) fn dialog_line<N: Named>(spec: &Spec, id: &Value, dialog: &N) -> Result<String, FrameError> {
    let method = Value::from(dialog.name());
    if let Some(own) = spec.dialog(dialog.name()).and_then(|dialog| dialog.frames) {
        let head = [("type", Value::from(own.request)), ("id", id.clone())];
        return serde_json::to_string(&Members(&head, dialog)).map_err(FrameError::new);
    }
    match spec.dialog_frames {
        Some(frames) => {
            let head = [("type", Value::from(frames.request)), ("id", id.clone()), ("method", method)];
            serde_json::to_string(&Members(&head, dialog)).map_err(FrameError::new)
        }
        None => {
            let params = serde_json::to_string(&Members(&[], dialog)).map_err(FrameError::new)?;
            // What nobody answers is a notification.
            let id = match spec.dialog(dialog.name()).is_none_or(|dialog| dialog.answered) {
                true => format!("\"id\":{id},"),
                false => String::new(),
            };
            Ok(format!("{{\"jsonrpc\":\"2.0\",{id}\"method\":{method},\"params\":{params}}}"))
        }
    }
}

/// What a line from a client is: raw JSON where it says raw.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClientLine<'a> {
    /// The raw id.
    pub id: Option<&'a str>,
    /// The raw `type` or `method`.
    pub name: Option<&'a str>,
    /// The raw object with the parameters.
    pub params: &'a str,
    /// How JSON-RPC parameters that hold nothing are written.
    pub empty: EmptyParams,
    /// True where the line answers a dialog.
    pub is_answer: bool,
    /// Whether it says which protocol it is of, where frames have to.
    pub is_of_protocol: bool,
}

static FLAT: Wanted<2> = Wanted::new([member("id"), member("type")]);
static JSON_RPC: Wanted<6> = Wanted::new([
    member("id"),
    member("method"),
    member("params"),
    member("result"),
    member("error"),
    member("jsonrpc"),
]);

/// Looks at a line from a client.
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

/// What stands around a command's parameters.
pub(crate) fn command_envelope(spec: &Spec) -> Envelope {
    if spec.framing_is_flat() { Envelope::of(&["id", "type"]) } else { Envelope::NONE }
}

impl<D: Dialect> ClientFrame<D> {
    /// Reads a frame.
    ///
    /// # Errors
    /// Says which member is missing or wrong.
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
        let command = D::Command::decode(&name, line.params, command_envelope(D::CLIENT))
            .ok_or_else(|| FrameError::new(format!("`{name}` is not a command of this dialect")))?
            .map_err(FrameError::new)?;
        let id = line.id.map(serde_json::from_str).transpose().map_err(FrameError::new)?;
        Ok(ClientFrame::Command { id, command, empty: line.empty })
    }

    /// Writes the frame as one line, without its end.
    ///
    /// # Errors
    /// Never for frames that were decoded.
    pub fn encode(&self) -> Result<String, FrameError> {
        match self {
            ClientFrame::Answer(members) => serde_json::to_string(members).map_err(FrameError::new),
            ClientFrame::Command { id, command, .. } if D::CLIENT.framing_is_flat() => {
                let mut head: Vec<(&str, Value)> = id.iter().map(|id| ("id", id.clone())).collect();
                head.push(("type", Value::from(command.name())));
                serde_json::to_string(&Members(&head, command)).map_err(FrameError::new)
            }
            ClientFrame::Command { id, command, empty } => {
                let params = match empty {
                    EmptyParams::Absent => String::new(),
                    EmptyParams::Null => ",\"params\":null".to_owned(),
                    EmptyParams::Object => {
                        let params =
                            serde_json::to_string(&Members(&[], command)).map_err(FrameError::new)?;
                        format!(",\"params\":{params}")
                    }
                };
                let id = id.as_ref().map(|id| format!(",\"id\":{id}")).unwrap_or_default();
                Ok(format!("{{\"jsonrpc\":\"2.0\"{id},\"method\":{}{params}}}", Value::from(command.name())))
            }
        }
    }
}
