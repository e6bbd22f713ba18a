//! Output of an agent, line by line, with declared properties of each line.

use std::sync::Arc;

use agentese::framing::FrameText;
use agentese::route::{RoutedFrame, route};
use agentese::spec::{EventSpec, Framing, Spec};
use agentese_conformance::matching::tables::Snapshots;
use serde_json::Value;

use crate::change::Application;
use crate::exclusions::{Exclusions, Freedom, below, piece};
use crate::place::Place;
use crate::site::{Shapes, Site};

/// Role of a line from an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Role {
    /// A line that answers a command.
    Answer {
        /// Name of the command, if the answer or its id contains it.
        command: Option<String>,
        /// `true` if the command succeeded.
        success: bool,
    },
    /// A line that is an event.
    Event {
        /// Type of the event.
        kind: String,
        /// Declaration of the event; `None` if the event is undeclared.
        spec: Option<&'static EventSpec>,
        /// Id of the session, if the event contains one.
        session: Option<String>,
    },
    /// A question to the user, or a notice.
    Dialog,
    /// A line that is not a frame.
    Other,
}

/// A line of the agent's output.
#[derive(Debug, Clone)]
pub struct AgentLine {
    /// The line without its line feed.
    pub text: String,
    /// The frame; null if the line is not a frame.
    pub frame: Value,
    /// Role of the line.
    pub role: Role,
    /// Declared members that the matcher compares, and that a mutator may change.
    pub sites: Vec<Site>,
    /// Number of lines that the client had sent before this line.
    pub after: usize,
}

impl AgentLine {
    /// Returns `true` if the line is an answer.
    pub fn is_answer(&self) -> bool {
        matches!(self.role, Role::Answer { .. })
    }

    /// Returns the declaration of the event, if the line is a declared event.
    pub fn event(&self) -> Option<&'static EventSpec> {
        match &self.role {
            Role::Event { spec, .. } => *spec,
            _ => None,
        }
    }

    /// Returns `true` if the line is an event.
    pub fn is_event(&self) -> bool {
        matches!(self.role, Role::Event { .. })
    }

    /// Returns the site at a place, if the value there is declared and compared.
    pub fn site(&self, place: &Place) -> Option<&Site> {
        self.sites.iter().find(|site| site.place == *place)
    }
}

/// Member of an answer that names its command, in envelopes that have such a member.
const ANSWERED: &str = "command";

/// Names of the members of an envelope.
#[derive(Debug, Clone, Copy)]
pub struct Envelope {
    /// Member with the id.
    pub id: &'static str,
    /// Member with the result of a command.
    pub data: &'static str,
    /// Member with the error of a command.
    pub error: &'static str,
    /// Member that is `true` for a success; `None` if a result or an error indicates it.
    pub success: Option<&'static str>,
    /// Member of a client's frame that names the command.
    pub command: &'static str,
}

/// Returns the envelope of a dialect.
pub fn envelope(spec: &Spec) -> Envelope {
    match spec.framing {
        Framing::JsonRpc { .. } => {
            Envelope { id: "id", data: "result", error: "error", success: None, command: "method" }
        }
        Framing::Flat | Framing::Enveloped => {
            Envelope { id: "id", data: "data", error: "error", success: Some("success"), command: "type" }
        }
    }
}

/// The lines of both sides so far.
#[derive(Debug, Clone)]
pub struct Stream {
    /// Declaration of the dialect.
    pub spec: &'static Spec,
    shapes: Arc<Shapes>,
    exclusions: Arc<Exclusions>,
    /// Lines from the agent.
    pub lines: Vec<AgentLine>,
    /// Lines from the client; null for a line that is not JSON.
    pub client_lines: Vec<Value>,
    /// `true` if the output has ended. Mutators of the last line depend on it.
    pub complete: bool,
}

impl Stream {
    /// Creates an empty stream.
    pub fn new(spec: &'static Spec) -> Self {
        Self {
            spec,
            shapes: Arc::new(Shapes::of(spec)),
            exclusions: Arc::new(Exclusions::of(spec)),
            lines: Vec::new(),
            client_lines: Vec::new(),
            complete: false,
        }
    }

    /// Adds a line from the client.
    pub fn add_client_line(&mut self, line: &str) {
        self.client_lines.push(serde_json::from_str(line).unwrap_or_default());
    }

    /// Adds a line from the agent.
    pub fn add_agent_line(&mut self, line: &str) {
        let frame: Value = serde_json::from_str(line).unwrap_or_default();
        let role = self.role(&frame, line);
        let method = match &role {
            Role::Answer { command, .. } => command.as_deref(),
            _ => None,
        };
        let mut sites = self.shapes.sites(&frame, method);
        let inside = self.body(&frame).1;
        let event = match &role {
            Role::Event { kind, .. } => Some((kind.as_str(), &inside)),
            _ => None,
        };
        let names_command = match &role {
            Role::Answer { command, .. } => {
                Some(command.as_deref().is_some_and(|name| self.spec.command(name).is_some()))
            }
            _ => None,
        };
        let freedom: Vec<Freedom> =
            sites.iter().map(|site| self.exclusions.freedom(site, &frame, &sites, event)).collect();
        let mut each = freedom.iter();
        let id = Place::default().member(envelope(self.spec).id);
        sites.retain_mut(|site| {
            let freedom = each.next().copied().unwrap_or(Freedom::None);
            site.may_be_absent = freedom == Freedom::MayBeAbsent;
            site.grows = freedom == Freedom::Grows;
            // An answer to a line that is not a command may contain any command name, or no name.
            let names = names_command.is_none_or(|known| known) || site.place.name() != Some(ANSWERED);
            // Agents choose the ids of their questions. The client sends the same id back.
            let numbers = role == Role::Dialog && site.place == id;
            freedom != Freedom::Bound && names && !numbers
        });
        self.lines.push(AgentLine {
            text: line.to_owned(),
            frame,
            role,
            sites,
            after: self.client_lines.len(),
        });
    }

    fn role(&self, frame: &Value, line: &str) -> Role {
        match route(self.spec, &FrameText::from(line)) {
            Ok(RoutedFrame::Answer { command, success, .. }) => {
                let envelope = envelope(self.spec);
                let asked = frame.get(envelope.id).and_then(|id| {
                    self.client_lines.iter().rev().find(|asked| asked.get(envelope.id) == Some(id))
                });
                let asked = asked.and_then(|asked| asked.get(envelope.command)?.as_str());
                Role::Answer { command: command.or_else(|| asked.map(str::to_owned)), success }
            }
            Ok(RoutedFrame::Event { kind, session, .. }) => {
                Role::Event { kind: kind.to_string(), spec: kind.spec(), session }
            }
            Ok(RoutedFrame::Dialog { .. }) => Role::Dialog,
            Err(_) => Role::Other,
        }
    }

    /// Returns the event without its envelope, and the place of the event in the frame.
    fn body<'a>(&self, frame: &'a Value) -> (&'a Value, Place) {
        let place = match self.spec.framing {
            Framing::Flat => Place::default(),
            Framing::Enveloped => Place::default().member("event"),
            Framing::JsonRpc { .. } => Place::default().member("params"),
        };
        match place.of(frame) {
            Some(body) => (body, place),
            None => (frame, Place::default()),
        }
    }

    /// Returns the name of an event and its body.
    fn event(&self, at: usize) -> Option<(&str, &Value)> {
        let line = self.lines.get(at)?;
        let Role::Event { kind, .. } = &line.role else { return None };
        Some((kind, self.body(&line.frame).0))
    }

    /// Returns `true` for an event that an agent may send any number of times: a piece of a streamed text, or
    /// partial output of a tool.
    pub fn is_piece(&self, at: usize) -> bool {
        self.event(at).is_some_and(|(name, body)| self.exclusions.is_piece(name, body))
    }

    /// Returns the piece of a streamed text in an event. Returns `None` if there is no piece or if it is
    /// empty.
    pub fn piece(&self, at: usize) -> Option<&str> {
        let (name, body) = self.event(at)?;
        piece(self.exclusions.delta(name)?, body).filter(|text| !text.is_empty())
    }

    /// Returns the place of the streamed piece in an event.
    pub(super) fn piece_place(&self, at: usize) -> Option<Place> {
        let (name, _) = self.event(at)?;
        Some(self.within(at, self.exclusions.delta(name)?.text))
    }

    /// Returns the declaration of growing messages, if the event carries a newer version of such a message.
    pub(super) fn grows(&self, at: usize) -> Option<&'static Snapshots> {
        let (name, _) = self.event(at)?;
        self.exclusions.snapshots().filter(|row| row.grows == name)
    }

    /// Returns the place of a path within the event of a line.
    pub(super) fn within(&self, at: usize, path: &str) -> Place {
        below(&self.body(&self.lines[at].frame).1, path)
    }

    /// Returns the places at which an event carries the message so far.
    pub(super) fn snapshots(&self, at: usize) -> Vec<Place> {
        let Some(row) = self.grows(at) else { return Vec::new() };
        let places = row.within.iter().map(|path| self.within(at, path));
        places.filter(|place| place.of(&self.lines[at].frame).is_some()).collect()
    }

    /// Returns the text of the content block that grows at a line, from its pieces up to this line. The
    /// second value is the member of the block that contains the text.
    pub(super) fn text_so_far(&self, at: usize) -> Option<(String, &'static str)> {
        let row = self.grows(at)?;
        let of = |at: usize, path: &str| self.within(at, path).of(&self.lines[at].frame);
        let (kind, block) = (of(at, row.kind)?.as_str()?, of(at, row.block)?);
        let (_, member) = row.texts.iter().find(|(of, _)| *of == kind)?;
        let begin =
            (0..at).rev().find(|at| self.event(*at).is_some_and(|(name, _)| name == row.begins)).unwrap_or(0);
        let same = |at: &usize| {
            self.grows(*at).is_some()
                && of(*at, row.kind).and_then(Value::as_str) == Some(kind)
                && of(*at, row.block) == Some(block)
        };
        Some(((begin..=at).filter(same).filter_map(|at| self.piece(at)).collect(), member))
    }

    /// Returns `true` if the matcher compares the order of two events. They must belong to the same stream,
    /// and not to two different tool calls.
    pub(super) fn in_order(&self, at: usize, other: usize) -> bool {
        let (Some((name, body)), Some((other_name, other_body))) = (self.event(at), self.event(other)) else {
            return false;
        };
        let calls = (self.exclusions.call(name, body), self.exclusions.call(other_name, other_body));
        self.exclusions.concurrent_stream_key(body) == self.exclusions.concurrent_stream_key(other_body)
            && !self.is_piece(at)
            && !self.is_piece(other)
            && !matches!(calls, (Some(call), Some(other)) if call != other)
    }

    /// Returns `true` if the object is declared, and at least one of its members is compared.
    pub fn is_record(&self, at: usize, place: &Place) -> bool {
        let inside = |site: &Site| site.place.0.len() == place.0.len() + 1 && site.place.is_within(place);
        self.lines[at].sites.iter().any(|site| inside(site) && site.record.is_some())
    }

    /// Returns `true` if an allowance of the dialect accepts the change of the line.
    pub fn is_permitted(&self, at: usize, application: &Application) -> bool {
        self.lines
            .get(at)
            .is_some_and(|line| self.exclusions.is_permitted(line, envelope(self.spec), application))
    }
}
