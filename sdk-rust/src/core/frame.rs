//! Whole frames, typed: what a proxy, a recorder or a checker reads and writes.
//!
//! Clients and servers do not need this: they look at a frame once and decode the part they want.
//! A typed frame encodes to the same JSON value that it was decoded from, members that the
//! declaration does not name among them; but for events that carry a key.

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde_json::{Map, Value};

mod client;

pub use client::{ClientFrame, EmptyParams};
pub(crate) use client::{client_line, command_envelope};

use crate::framing::FrameText;
use crate::route::{Routed, route};
use crate::spec::{Dialect, Framing, ResponseOrder, Spec};
use crate::wire::{Answered, Named};

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

fn value(text: &FrameText) -> Result<Value, FrameError> {
    crate::wire::decode(text.as_str()).map_err(FrameError::new)
}

impl<D: Dialect> ServerFrame<D> {
    /// Reads a frame. `command_of` gives the command of an answer by its id, in dialects whose
    /// answers do not name it. Of events that carry a key the type alone is read; see [`crate::redact::sealed`].
    ///
    /// # Errors
    /// Says which member is missing or wrong.
    pub fn decode(
        frame: &FrameText,
        command_of: impl Fn(&Value) -> Option<String>,
    ) -> Result<Self, FrameError> {
        let sealed = crate::redact::sealed(frame.as_str()).map(FrameText::from);
        let frame = sealed.as_ref().unwrap_or(frame);
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
        self.encode_in(D::CLIENT)
    }

    /// Writes the frame as one line, without its end, as a revision of the dialect writes it.
    ///
    /// # Errors
    /// Never for frames that were decoded.
    pub fn encode_in(&self, spec: &Spec) -> Result<String, FrameError> {
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
