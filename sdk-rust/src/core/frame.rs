//! Whole frames as types, for proxies, recorders and checkers.
//!
//! Clients and servers do not need this module: they scan a frame once and decode the relevant part. Encoding a
//! decoded frame gives the same JSON value again, including undeclared members. Events that carry a key are the
//! exception.

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde_json::{Map, Value};

mod client;

pub use client::{ClientFrame, EmptyParams};
pub(crate) use client::{client_line, command_envelope};

use crate::framing::FrameText;
use crate::route::{RoutedFrame, route};
use crate::spec::{Dialect, Framing, ResponseOrder, Spec};
use crate::wire::{NamedUnion, ReplyUnion};

/// Reason for rejecting a text as a frame of its dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct FrameError {
    /// The wrong member and the reason.
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
        /// The id of the command, if it had one.
        id: Option<Value>,
        /// The command's wire name.
        command: String,
        /// The data of the response.
        reply: D::Reply,
        /// `true` if the response contains an empty data object although the command has no data.
        empty: bool,
    },
    /// A command failed, or a line could not be read.
    Failure {
        /// The id of the command. `None` if the response has no id, or if JSON-RPC reports an unreadable line
        /// with the id null.
        id: Option<Value>,
        /// The command named in the response.
        command: Option<String>,
        /// A text, or a JSON-RPC error object.
        error: Value,
    },
    /// The frame is an event.
    Event(D::Event),
    /// The frame is a question or notice.
    Dialog {
        /// The id that the answer must repeat.
        id: Value,
        /// The question or notice.
        dialog: D::Dialog,
    },
    /// The frame is a question or notice whose method is not declared.
    UnknownDialog(Map<String, Value>),
}

fn value(text: &FrameText) -> Result<Value, FrameError> {
    crate::wire::decode(text.as_str()).map_err(FrameError::new)
}

impl<D: Dialect> ServerFrame<D> {
    /// Decodes a frame. `command_of` returns the command of a response by its id, for dialects whose responses
    /// do not name it. If an event carries a key, only its type is decoded; see
    /// [`crate::redact::strip_payload`].
    ///
    /// # Errors
    /// A [`FrameError`] names the missing or wrong member.
    pub fn decode(
        frame: &FrameText,
        command_of: impl Fn(&Value) -> Option<String>,
    ) -> Result<Self, FrameError> {
        let stripped = crate::redact::strip_payload(frame.as_str()).map(FrameText::from);
        let frame = stripped.as_ref().unwrap_or(frame);
        match route(D::CLIENT, frame).map_err(FrameError::new)? {
            RoutedFrame::Answer { id, command, success: true, data, error: _ } => {
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
            RoutedFrame::Answer { id, command, success: false, error, .. } => {
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
            RoutedFrame::Event { body, .. } => {
                let body = body.as_ref().unwrap_or(frame);
                crate::wire::decode(body.as_str()).map(ServerFrame::Event).map_err(FrameError::new)
            }
            RoutedFrame::Dialog { id, method, params } => {
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

    /// Encodes the frame as one line, without its line end.
    ///
    /// # Errors
    /// Never for decoded frames.
    pub fn encode(&self) -> Result<String, FrameError> {
        self.encode_in(D::CLIENT)
    }

    /// Encodes the frame as one line of a revision of the dialect, without its line end.
    ///
    /// # Errors
    /// Never for decoded frames.
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
    /// Returns `true` if frames are bare objects with a `type`, with or without an envelope.
    pub fn framing_is_flat(&self) -> bool {
        !matches!(self.framing, Framing::JsonRpc { .. })
    }
}

fn raw(id: &Option<Value>) -> Option<String> {
    id.as_ref().map(Value::to_string)
}

/// Returns the line of a response with data. The id is raw JSON, and is sent back to the client unchanged.
fn success_line(spec: &Spec, id: Option<&str>, command: &str, data: Option<&str>) -> String {
    let (mut line, after) = success_ends(spec, id, command, data.is_some());
    line.push_str(data.unwrap_or_default());
    line.push_str(after);
    line
}

/// Returns the texts that surround the data of a response. For a response without data, the two texts together
/// are the whole line.
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

/// Returns the line of a failed response. The error is a text, or a JSON-RPC error object.
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
        // Declared command names need no escapes; an unknown name from a client may need them.
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

/// Returns the line of an event, from its object.
fn event_line(spec: &Spec, body: &str) -> String {
    let (before, after) = event_ends(spec);
    format!("{before}{body}{after}")
}

/// Returns the texts that surround the object of an event.
pub(crate) fn event_ends(spec: &Spec) -> (Cow<'static, str>, &'static str) {
    match spec.framing {
        Framing::Flat => ("".into(), ""),
        Framing::Enveloped => ("{\"type\":\"event\",\"event\":".into(), "}"),
        Framing::JsonRpc { notification } => {
            (format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{notification}\",\"params\":").into(), "}")
        }
    }
}

struct FrameBody<'a, N>(&'a [(&'a str, Value)], &'a N);

impl<N: NamedUnion> serde::Serialize for FrameBody<'_, N> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.0 {
            map.serialize_entry(name, value)?;
        }
        self.1.encode(&mut map)?;
        map.end()
    }
}

pub(crate) fn dialog_line<N: NamedUnion>(spec: &Spec, id: &Value, dialog: &N) -> Result<String, FrameError> {
    let method = Value::from(dialog.name());
    if let Some(own) = spec.dialog(dialog.name()).and_then(|dialog| dialog.frames) {
        let head = [("type", Value::from(own.request)), ("id", id.clone())];
        return serde_json::to_string(&FrameBody(&head, dialog)).map_err(FrameError::new);
    }
    match spec.dialog_frames {
        Some(frames) => {
            let head = [("type", Value::from(frames.request)), ("id", id.clone()), ("method", method)];
            serde_json::to_string(&FrameBody(&head, dialog)).map_err(FrameError::new)
        }
        None => {
            let params = serde_json::to_string(&FrameBody(&[], dialog)).map_err(FrameError::new)?;
            // A dialog without an answer is a notification.
            let id = match spec.dialog(dialog.name()).is_none_or(|dialog| dialog.answered) {
                true => format!("\"id\":{id},"),
                false => String::new(),
            };
            Ok(format!("{{\"jsonrpc\":\"2.0\",{id}\"method\":{method},\"params\":{params}}}"))
        }
    }
}
