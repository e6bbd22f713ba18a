//! What an agent says, line by line, with what the declaration knows of each line.

use std::sync::Arc;

use agentese::framing::FrameText;
use agentese::route::{Routed, route};
use agentese::spec::{EventSpec, Framing, Spec};
use agentese_conformance::matching::tables::Snapshots;
use serde_json::Value;

use crate::change::Application;
use crate::knowledge::{Freedom, Knowledge, below, piece};
use crate::place::Place;
use crate::site::{Shapes, Site};

/// What a line of an agent is.
#[derive(Debug, Clone, PartialEq)]
pub enum Role {
    /// An answer.
    Answer {
        /// The command's name, where the answer or its id tells.
        command: Option<String>,
        /// Whether it succeeded.
        success: bool,
    },
    /// An event.
    Event {
        /// Its type.
        kind: String,
        /// Its row, where the declaration names it.
        spec: Option<&'static EventSpec>,
        /// The session that it belongs to, where it says so.
        session: Option<String>,
    },
    /// A question or a notice.
    Dialog,
    /// No frame.
    Other,
}

/// A line that the agent said.
#[derive(Debug, Clone)]
pub struct Said {
    /// The line, without its end.
    pub line: String,
    /// The frame; null where the line is none.
    pub frame: Value,
    /// What it is.
    pub role: Role,
    /// Its declared members that are not bound: those that a defect may touch.
    pub sites: Vec<Site>,
    /// How many lines the client had sent before it.
    pub after: usize,
}

impl Said {
    /// Whether it is an answer.
    pub fn is_answer(&self) -> bool {
        matches!(self.role, Role::Answer { .. })
    }

    /// The event's row, where it is a declared event.
    pub fn event(&self) -> Option<&'static EventSpec> {
        match &self.role {
            Role::Event { spec, .. } => *spec,
            _ => None,
        }
    }

    /// Whether it is an event.
    pub fn is_event(&self) -> bool {
        matches!(self.role, Role::Event { .. })
    }

    /// The site at a place, where it is declared and not bound.
    pub fn site(&self, place: &Place) -> Option<&Site> {
        self.sites.iter().find(|site| site.place == *place)
    }
}

/// The member of an answer that names its command, in envelopes that have one.
const ANSWERED: &str = "command";

/// The words of the envelopes.
#[derive(Debug, Clone, Copy)]
pub struct Envelope {
    /// The id.
    pub id: &'static str,
    /// What an answer brings.
    pub data: &'static str,
    /// Why a command failed.
    pub error: &'static str,
    /// The member that says whether a command succeeded; none where that is told by the other two.
    pub success: Option<&'static str>,
    /// The member of a command that names it.
    pub command: &'static str,
}

/// The envelope of a dialect.
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

/// What is said on both sides so far.
#[derive(Debug, Clone)]
pub struct Stream {
    /// The dialect's tables.
    pub spec: &'static Spec,
    shapes: Arc<Shapes>,
    knowledge: Arc<Knowledge>,
    /// What the agent said.
    pub said: Vec<Said>,
    /// What the client sent; null where it is not JSON.
    pub asked: Vec<Value>,
    /// Whether nothing more comes: who looks for the last line has to know.
    pub complete: bool,
}

impl Stream {
    /// Nothing was said yet.
    pub fn new(spec: &'static Spec) -> Self {
        Self {
            spec,
            shapes: Arc::new(Shapes::of(spec)),
            knowledge: Arc::new(Knowledge::of(spec)),
            said: Vec::new(),
            asked: Vec::new(),
            complete: false,
        }
    }

    /// The client sends a line.
    pub fn ask(&mut self, line: &str) {
        self.asked.push(serde_json::from_str(line).unwrap_or_default());
    }

    /// The agent says a line.
    pub fn say(&mut self, line: &str) {
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
            sites.iter().map(|site| self.knowledge.freedom(site, &frame, &sites, event)).collect();
        let mut each = freedom.iter();
        let id = Place::default().member(envelope(self.spec).id);
        sites.retain_mut(|site| {
            let freedom = each.next().copied().unwrap_or(Freedom::None);
            site.may_be_absent = freedom == Freedom::MayBeAbsent;
            site.grows = freedom == Freedom::Grows;
            // What answers a line that is no command may name any, or none.
            let names = names_command.is_none_or(|known| known) || site.place.name() != Some(ANSWERED);
            // Agents number their questions as they like; the client sends back what it was given.
            let numbers = role == Role::Dialog && site.place == id;
            freedom != Freedom::Bound && names && !numbers
        });
        self.said.push(Said { line: line.to_owned(), frame, role, sites, after: self.asked.len() });
    }

    fn role(&self, frame: &Value, line: &str) -> Role {
        match route(self.spec, &FrameText::from(line)) {
            Ok(Routed::Answer { command, success, .. }) => {
                let envelope = envelope(self.spec);
                let asked = frame
                    .get(envelope.id)
                    .and_then(|id| self.asked.iter().rev().find(|asked| asked.get(envelope.id) == Some(id)));
                let asked = asked.and_then(|asked| asked.get(envelope.command)?.as_str());
                Role::Answer { command: command.or_else(|| asked.map(str::to_owned)), success }
            }
            Ok(Routed::Event { kind, session, .. }) => {
                Role::Event { kind: kind.to_string(), spec: kind.spec(), session }
            }
            Ok(Routed::Dialog { .. }) => Role::Dialog,
            Err(_) => Role::Other,
        }
    }

    /// The frame's event without its envelope, and its place.
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

    /// The name of an event and its body.
    fn event(&self, at: usize) -> Option<(&str, &Value)> {
        let said = self.said.get(at)?;
        let Role::Event { kind, .. } = &said.role else { return None };
        Some((kind, self.body(&said.frame).0))
    }

    /// Whether a frame is one of several whose number is free: a piece of something that grows, or what a tool
    /// shows so far.
    pub fn is_piece(&self, at: usize) -> bool {
        self.event(at).is_some_and(|(name, body)| self.knowledge.is_piece(name, body))
    }

    /// The piece of a text that an event carries, where it is one that is not empty.
    pub fn piece(&self, at: usize) -> Option<&str> {
        let (name, body) = self.event(at)?;
        piece(self.knowledge.delta(name)?, body).filter(|text| !text.is_empty())
    }

    /// The place of that piece.
    pub(super) fn piece_place(&self, at: usize) -> Option<Place> {
        let (name, _) = self.event(at)?;
        Some(self.within(at, self.knowledge.delta(name)?.text))
    }

    /// How the message grows of which an event carries the next version.
    pub(super) fn grows(&self, at: usize) -> Option<&'static Snapshots> {
        let (name, _) = self.event(at)?;
        self.knowledge.snapshots().filter(|row| row.grows == name)
    }

    /// The place of a path within the event of a line.
    pub(super) fn within(&self, at: usize, path: &str) -> Place {
        below(&self.body(&self.said[at].frame).1, path)
    }

    /// The places of the message so far in an event.
    pub(super) fn snapshots(&self, at: usize) -> Vec<Place> {
        let Some(row) = self.grows(at) else { return Vec::new() };
        let places = row.within.iter().map(|path| self.within(at, path));
        places.filter(|place| place.of(&self.said[at].frame).is_some()).collect()
    }

    /// What the pieces up to a line say of the block that it is about, and the member of the block that has it.
    pub(super) fn text_so_far(&self, at: usize) -> Option<(String, &'static str)> {
        let row = self.grows(at)?;
        let of = |at: usize, path: &str| self.within(at, path).of(&self.said[at].frame);
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

    /// Whether the order of two events counts: they belong to one strand, and not to two calls of tools.
    pub(super) fn in_order(&self, at: usize, other: usize) -> bool {
        let (Some((name, body)), Some((other_name, other_body))) = (self.event(at), self.event(other)) else {
            return false;
        };
        let calls = (self.knowledge.call(name, body), self.knowledge.call(other_name, other_body));
        self.knowledge.strand(body) == self.knowledge.strand(other_body)
            && !self.is_piece(at)
            && !self.is_piece(other)
            && !matches!(calls, (Some(call), Some(other)) if call != other)
    }

    /// Whether the declaration knows what an object is, and not all of it is free.
    pub fn is_record(&self, at: usize, place: &Place) -> bool {
        let inside = |site: &Site| site.place.0.len() == place.0.len() + 1 && site.place.is_within(place);
        self.said[at].sites.iter().any(|site| inside(site) && site.record.is_some())
    }

    /// Whether an allowance of the dialect says that what becomes of a line is as good as the line.
    pub fn is_as_good(&self, at: usize, application: &Application) -> bool {
        self.said
            .get(at)
            .is_some_and(|said| self.knowledge.is_as_good(said, envelope(self.spec), application))
    }
}
