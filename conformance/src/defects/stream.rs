//! What an agent says, line by line, with what the declaration knows of each line.

use std::sync::Arc;

use agentese::framing::FrameText;
use agentese::route::{Routed, route};
use agentese::spec::{EventSpec, Framing, Spec};
use serde_json::Value;

use super::place::Place;
use super::site::{Shapes, Site};

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
    /// What the agent said.
    pub said: Vec<Said>,
    /// What the client sent; null where it is no JSON.
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
            said: Vec::new(),
            asked: Vec::new(),
            complete: false,
        }
    }

    /// As [`Stream::new`], with the shapes that another stream of the dialect has.
    pub fn like(other: &Stream) -> Self {
        Self {
            spec: other.spec,
            shapes: other.shapes.clone(),
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
        sites.retain(|site| !self.is_bound(site, &frame));
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

    /// Whether the matcher binds what stands there: another value there is no defect.
    fn is_bound(&self, site: &Site, frame: &Value) -> bool {
        match site.place.of(frame) {
            Some(Value::String(text)) => VOLATILE.is_match(text),
            Some(Value::Number(number)) => number.as_f64().is_some_and(|number| number > 1e9),
            _ => false,
        }
    }

    /// Whether a frame is one of several whose number is free: a piece of something that grows.
    pub fn is_piece(&self, at: usize) -> bool {
        self.said[at].event().is_some_and(|event| event.snapshot)
    }

    /// Whether what stands at a place of a line is not compared.
    pub fn is_free(&self, _at: usize, _place: &Place) -> bool {
        false
    }

    /// Whether an object has declared members: those that are free altogether have none.
    pub fn is_record(&self, at: usize, place: &Place) -> bool {
        let inside = |site: &Site| site.place != *place && site.place.is_within(place);
        self.said[at].sites.iter().any(inside)
    }

    /// Whether nothing, or null, may stand there as well.
    pub fn may_be_absent(&self, _at: usize, _place: &Place) -> bool {
        false
    }
}

static VOLATILE: std::sync::LazyLock<regex::Regex> = std::sync::LazyLock::new(|| {
    regex::Regex::new(r"[0-9a-f]{8,}|\d{4}-\d\d-\d\d|-dir\b|127\.0\.0\.1|<prose of")
        .unwrap_or_else(|error| panic!("{error}"))
});
