//! Classification of a line from the agent, by one scan over its text.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::framing::FrameText;
use crate::scan::{self, MemberSet, Outline, ScanError, inner, member};
use crate::spec::{Barrier, EventSpec, Framing, Spec};

pub use crate::scan::flag;

/// The type of an event. A declared type refers to its row, and needs no allocation.
#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    /// The event is declared.
    Declared(&'static EventSpec),
    /// The event is not declared. Contains its type.
    Other(Arc<str>),
}

impl EventKind {
    fn of(spec: &Spec, name: &str) -> Self {
        spec.event(name).map_or_else(|| EventKind::Other(name.into()), EventKind::Declared)
    }

    /// Returns the row of the event, or `None` if it is undeclared.
    pub fn spec(&self) -> Option<&'static EventSpec> {
        match self {
            EventKind::Declared(spec) => Some(spec),
            EventKind::Other(_) => None,
        }
    }
}

impl Deref for EventKind {
    type Target = str;
    fn deref(&self) -> &str {
        match self {
            EventKind::Declared(spec) => spec.name,
            EventKind::Other(name) => name,
        }
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self)
    }
}

/// A line from the agent, classified for its delivery. Raw values are JSON text.
#[derive(Debug, Clone, PartialEq)]
pub enum RoutedFrame {
    /// The line is a response to a command.
    Answer {
        /// The id as JSON text.
        id: Option<FrameText>,
        /// The command named in the response.
        command: Option<String>,
        /// `true` if the command succeeded.
        success: bool,
        /// The data as JSON text.
        data: Option<FrameText>,
        /// The error as JSON text: a string, or an error object.
        error: Option<FrameText>,
    },
    /// The line is an event.
    Event {
        /// The type of the event.
        kind: EventKind,
        /// The event object as JSON text; `None` if it is the whole line.
        body: Option<FrameText>,
        /// The session of the event, if the frame names it.
        session: Option<String>,
        /// The positions of the members. Recorded only for a long line that is itself the event object.
        outline: Option<Arc<Outline>>,
    },
    /// The line is a question or notice.
    Dialog {
        /// The id as JSON text.
        id: FrameText,
        /// Wire name of the question or notice.
        method: String,
        /// The object with the parameters as JSON text.
        params: FrameText,
    },
}

/// Minimum length in bytes of an event whose member positions are recorded. The record, an outline, makes later
/// searches for members unnecessary.
const OUTLINED: usize = 4 * 1024;

/// An outline is kept only if its size is at most this fraction of the event's size. It is not worth its memory
/// for events with many small members.
const OUTLINE_SHARE: usize = 8;

static FLAT: MemberSet<9> = MemberSet::new([
    member("type"),
    member("id"),
    member("command"),
    member("success"),
    member("data"),
    member("error"),
    member("method"),
    member("event"),
    inner("event", "type"),
]);

/// Returns the members by which a JSON-RPC frame is classified. The dialect determines the name of the member
/// for the session.
fn json_rpc_members(spec: &Spec) -> MemberSet<7> {
    MemberSet::new([
        member("id"),
        member("method"),
        member("params"),
        member("result"),
        member("error"),
        inner("params", "type"),
        inner("params", spec.session_member.unwrap_or("session")),
    ])
}

/// Classifies a line.
///
/// # Errors
/// The reason why the line is not a frame.
pub fn route(spec: &Spec, frame: &FrameText) -> Result<RoutedFrame, String> {
    match spec.framing {
        Framing::JsonRpc { notification } => json_rpc(spec, frame, notification, &json_rpc_members(spec)),
        _ => flat(spec, frame, &mut EventCache::default()),
    }
}

/// Classifies a line like [`route`], but also accepts events without the envelope of their dialect, as logs
/// contain them.
///
/// # Errors
/// The reason why the line is not a frame.
pub fn route_bare(spec: &Spec, frame: &FrameText) -> Result<RoutedFrame, String> {
    // An event has a type, and may have a member of any other name.
    static SHOWS: MemberSet<3> = MemberSet::new([member("jsonrpc"), member("method"), member("type")]);
    let is_wrapped = scan::scan(frame.as_str(), &SHOWS)
        .is_ok_and(|found| found.get(0).is_some() || found.get(1).is_some() && found.get(2).is_none());
    match spec.framing {
        Framing::JsonRpc { .. } if !is_wrapped => flat(spec, frame, &mut EventCache::default()),
        _ => route(spec, frame),
    }
}

/// Classifies the lines of one agent. Gives the same results as [`route`], but is faster, because types of
/// events repeat.
#[derive(Debug)]
pub struct Router {
    spec: &'static Spec,
    kinds: EventCache,
    /// The members by which a JSON-RPC frame is classified.
    json_rpc: MemberSet<7>,
}

impl Router {
    /// Creates a router for the lines of one agent.
    pub fn new(spec: &'static Spec) -> Self {
        Router { spec, kinds: EventCache::default(), json_rpc: json_rpc_members(spec) }
    }

    /// Classifies the next line.
    ///
    /// # Errors
    /// The reason why the line is not a frame.
    pub fn route(&mut self, frame: &FrameText) -> Result<RoutedFrame, String> {
        match self.spec.framing {
            Framing::JsonRpc { notification } => json_rpc(self.spec, frame, notification, &self.json_rpc),
            _ => flat(self.spec, frame, &mut self.kinds),
        }
    }
}

/// Cache of the rows of earlier events, indexed by a hash of their type.
#[derive(Debug, Default)]
struct EventCache([Option<&'static EventSpec>; 32]);

impl EventCache {
    fn slot(kind: &str) -> usize {
        let bytes = kind.as_bytes();
        let middle = bytes.get(bytes.len() / 2).copied().unwrap_or_default();
        (usize::from(middle) ^ bytes.len()) % 32
    }

    fn known(&self, kind: &str) -> Option<&'static EventSpec> {
        self.0[Self::slot(kind)].filter(|spec| spec.name == kind)
    }

    fn remember(&mut self, spec: &'static EventSpec) {
        self.0[Self::slot(spec.name)] = Some(spec);
    }
}

fn slice(frame: &FrameText, part: &str) -> FrameText {
    frame.slice_of(part).unwrap_or_else(|| FrameText::from(part))
}

fn owned(text: Option<Cow<'_, str>>) -> Option<String> {
    text.map(Cow::into_owned)
}

fn flat(spec: &Spec, frame: &FrameText, kinds: &mut EventCache) -> Result<RoutedFrame, String> {
    let text = frame.as_str();
    let failed = |error: ScanError| error.to_string();
    let (found, outline) = match text.len() {
        OUTLINED.. if Outline::fits(text.len()) => {
            let (found, outline) = scan::scan_and_outline(text, &FLAT).map_err(failed)?;
            (found, Some(outline).filter(|outline| outline.size() <= text.len() / OUTLINE_SHARE))
        }
        _ => (scan::scan(text, &FLAT).map_err(failed)?, None),
    };
    let kind = found.string(0).ok_or("it has no `type`")?;
    let outline = outline.map(Arc::new);
    if let Some(known) = kinds.known(&kind) {
        return Ok(RoutedFrame::Event {
            kind: EventKind::Declared(known),
            body: None,
            session: None,
            outline,
        });
    }
    if kind == "response" {
        return Ok(RoutedFrame::Answer {
            id: found.get(1).map(|id| slice(frame, id)),
            command: owned(found.string(2)),
            success: found.boolean(3).ok_or("the response has no `success`")?,
            data: found.get(4).map(|data| slice(frame, data)),
            error: found.get(5).map(|error| slice(frame, error)),
        });
    }
    if spec.dialog_frames.is_some_and(|frames| frames.request == kind) {
        return Ok(RoutedFrame::Dialog {
            id: slice(frame, found.get(1).ok_or("the dialog has no `id`")?),
            method: owned(found.string(6)).ok_or("the dialog has no `method`")?,
            params: frame.clone(),
        });
    }
    if let Some(dialog) = spec.dialog_by_request(&kind) {
        return Ok(RoutedFrame::Dialog {
            id: slice(frame, found.get(1).ok_or("the dialog has no `id`")?),
            method: dialog.wire.to_owned(),
            params: frame.clone(),
        });
    }
    // Operator's stored server sends bare events although its document wraps them; the router accepts both.
    if spec.framing == Framing::Enveloped && kind == "event" {
        let body = found.get(7).ok_or("the envelope has no `event`")?;
        let kind = EventKind::of(spec, &found.string(8).ok_or("the event has no `type`")?);
        return Ok(RoutedFrame::Event { kind, body: Some(slice(frame, body)), session: None, outline: None });
    }
    let kind = EventKind::of(spec, &kind);
    if let EventKind::Declared(known) = kind {
        kinds.remember(known);
    }
    Ok(RoutedFrame::Event { kind, body: None, session: None, outline })
}

fn json_rpc(
    spec: &Spec,
    frame: &FrameText,
    notification: &str,
    wanted: &MemberSet<7>,
) -> Result<RoutedFrame, String> {
    let found = scan::scan(frame.as_str(), wanted).map_err(|error| error.to_string())?;
    let (id, method) = (found.get(0), owned(found.string(1)));
    match (method, id) {
        (Some(method), Some(id)) => Ok(RoutedFrame::Dialog {
            id: slice(frame, id),
            method,
            params: slice(frame, found.get(2).unwrap_or("{}")),
        }),
        (Some(method), None) if method == notification => {
            let kind = EventKind::of(spec, &found.string(5).ok_or("the event has no `type`")?);
            let session = spec.session_member.and(owned(found.string(6)));
            Ok(RoutedFrame::Event {
                kind,
                body: Some(slice(frame, found.get(2).unwrap_or("{}"))),
                session,
                outline: None,
            })
        }
        (Some(method), None) => Err(format!("`{method}` is not a notification of this dialect")),
        (None, Some(id)) => {
            let (result, error) = (found.get(3), found.get(4));
            if result.is_none() && error.is_none() {
                return Err("the response has neither `result` nor `error`".to_owned());
            }
            Ok(RoutedFrame::Answer {
                // A failure with a null id belongs to no request; a success with a null id answers a request
                // with that id.
                id: (!scan::is_null(id) || error.is_none()).then(|| slice(frame, id)),
                command: None,
                success: error.is_none(),
                data: result.map(|data| slice(frame, data)),
                error: error.map(|error| slice(frame, error)),
            })
        }
        (None, None) => Err("it has neither `method` nor `id`".to_owned()),
    }
}

/// Returns `true` if the data of a state response reports that work continues, or `None` if it does not report
/// this.
pub fn is_busy(data: &str, state: &Barrier) -> Option<bool> {
    let found = scan::scan(data, &MemberSet::new([member(state.busy)])).ok()?;
    match state.idle {
        None => found.boolean(0),
        Some(idle) => found.string(0).map(|status| status != idle),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opal::Opal;
    use crate::operator::Operator;
    use crate::spec::Dialect;

    #[test]
    fn a_bare_event_may_have_a_member_of_the_name_of_an_envelopes() {
        let kind_of = |text: &str| match route_bare(Opal::CLIENT, &FrameText::from(text)) {
            Ok(RoutedFrame::Event { kind, .. }) => Ok(kind.to_string()),
            other => Err(format!("{other:?}")),
        };
        assert_eq!(kind_of(r#"{"type":"brand_new","method":"fast"}"#).as_deref(), Ok("brand_new"));
        let wrapped = r#"{"method":"agent/event","params":{"type":"brand_new"}}"#;
        assert_eq!(kind_of(wrapped).as_deref(), Ok("brand_new"));
        assert!(kind_of(r#"{"method":"other/event","params":{"type":"brand_new"}}"#).is_err());
    }

    #[test]
    fn an_outline_takes_an_eighth_of_an_event_at_most() {
        let outline_of = |text: String| {
            let frame = FrameText::from(text);
            match route(Operator::CLIENT, &frame).unwrap() {
                RoutedFrame::Event { outline, .. } => (outline.map(|outline| outline.size()), frame.len()),
                other => panic!("{other:?}"),
            }
        };
        let (size, length) = outline_of(format!(r#"{{"type":"turn_end","a":"{}"}}"#, "x".repeat(8192)));
        assert!(size.unwrap() <= length / 8);
        for many in [r#","":0"#.repeat(2000), format!(r#","a":{{"b":0{}}}"#, r#","":0"#.repeat(2000))] {
            assert_eq!(outline_of(format!(r#"{{"type":"turn_end"{many}}}"#)).0, None);
        }
    }
}
