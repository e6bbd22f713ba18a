//! Evidence of a session for and against one revision of a dialect.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use agentese::dynamic::{REVISIONS, SPECS};
use agentese::framing::FrameText;
use agentese::schema::{Side, schema};
use agentese::spec::{Fingerprint, Framing, HandlerFailure, ResponseOrder, Spec};
use serde_json::Value;

use super::Reason;
use crate::decode::{LineRole, SentCommands, decode, name, record_commands};
use crate::matching::Rules;
use crate::matching::tables::Form;

/// Weights of observations. The first one is for the framing; the names of the others describe them.
const FRAMING: f64 = 20.0;
const FINGERPRINT: f64 = 3.0;
const VIOLATION: f64 = 2.5;
const FOREIGN: f64 = 1.5;
const FITTING: f64 = 1.5;
const FAMILIAR: f64 = 0.3;
const EDGE: f64 = 1.0;

/// Undocumented events that real agents send, with the dialects of these agents. An allowance of the dialect
/// names such an event, but the dialect does not declare it.
static UNDOCUMENTED: LazyLock<HashMap<&'static str, Vec<&'static str>>> = LazyLock::new(|| {
    let mut found: HashMap<&str, Vec<&str>> = HashMap::new();
    for spec in SPECS {
        let allowed = Rules::of(spec.name).into_iter().flat_map(Rules::allowances);
        let events = allowed.filter_map(|row| match row.form {
            Form::Events(names) => Some(names),
            _ => None,
        });
        for name in events.flatten().copied().filter(|name| spec.event(name).is_none()) {
            found.entry(name).or_default().push(spec.name);
        }
    }
    found
});

/// Evidence for and against one dialect. Equal observations are counted once.
pub(super) struct Evidence {
    spec: &'static Spec,
    /// Reasons by their text. A reason that several frames give is counted once.
    reasons: BTreeMap<String, Reason>,
    /// Fingerprints of revisions that occurred, by their text.
    fingerprints: BTreeMap<String, Reason>,
    /// Commands that the client sent.
    sent_commands: SentCommands,
    /// Commands that the client sent and the dialect does not declare.
    unknown_commands: BTreeSet<String>,
    /// Frames that the client sent.
    sent: Vec<Value>,
    /// `true` if at least one frame can only come from this dialect.
    is_confirmed: bool,
}

impl Evidence {
    pub(super) fn new(spec: &'static Spec) -> Self {
        Self {
            spec,
            reasons: BTreeMap::new(),
            fingerprints: BTreeMap::new(),
            sent_commands: SentCommands::default(),
            unknown_commands: BTreeSet::new(),
            sent: Vec::new(),
            is_confirmed: false,
        }
    }

    pub(super) fn is_confirmed(&self) -> bool {
        self.is_confirmed
    }

    /// Returns the evidence for and against the dialect, and the fingerprints of its revisions.
    pub(super) fn reasons(self) -> (Vec<Reason>, Vec<Reason>) {
        (self.reasons.into_values().collect(), self.fingerprints.into_values().collect())
    }

    fn add_reason(&mut self, weight: f64, text: String) {
        self.reasons.entry(text.clone()).or_insert(Reason { weight, text });
    }

    /// Records a frame that does not match the declaration, with the first mismatch.
    fn add_violation(&mut self, what: String, reason: &str) {
        let text = format!("{what} does not match the declaration: {reason}");
        self.reasons.entry(what).or_insert(Reason { weight: -VIOLATION, text });
    }

    pub(super) fn sent(&mut self, line: &FrameText) {
        record_commands(line, &mut self.sent_commands);
        let Ok(frame) = serde_json::from_str::<Value>(line.as_str()) else { return };
        self.unknown_commands.extend(name(line).filter(|name| self.spec.command(name).is_none()));
        self.sent.push(frame);
    }

    pub(super) fn received(&mut self, line: &FrameText) {
        let Ok(frame) = serde_json::from_str::<Value>(line.as_str()) else { return };
        if !frame.is_object() {
            return;
        }
        if self.sent.contains(&frame) {
            return self.add_reason(-EDGE, "the input is echoed".to_owned());
        }
        let is_json_rpc = frame["jsonrpc"] == "2.0";
        let wants_json_rpc = matches!(self.spec.framing, Framing::JsonRpc { .. });
        match (is_json_rpc, wants_json_rpc) {
            (true, true) => self.add_reason(FRAMING, "frames are JSON-RPC 2.0".to_owned()),
            (true, false) => return self.add_reason(-FRAMING, "frames are JSON-RPC 2.0".to_owned()),
            (false, true) => return self.add_reason(-FRAMING, "frames are not JSON-RPC 2.0".to_owned()),
            (false, false) => {}
        }
        let kind = frame["type"].as_str().unwrap_or_default();
        if kind == "event" && frame["event"].is_object() {
            let is_enveloped = self.spec.framing == Framing::Enveloped;
            let weight = if is_enveloped { FRAMING } else { -FRAMING };
            self.add_reason(weight, "events have an envelope".to_owned());
            if !is_enveloped {
                return;
            }
        } else if self.spec.framing == Framing::Enveloped && self.spec.event(kind).is_some() {
            self.add_reason(-VIOLATION, "events have no envelope".to_owned());
        }
        if kind == "response" {
            self.response(&frame);
        }
        self.decode(line, &frame, kind);
        self.add_fingerprints(&frame);
    }

    /// Records the fingerprints of revisions that occur in a frame.
    fn add_fingerprints(&mut self, frame: &Value) {
        let revisions = REVISIONS.iter().find(|revisions| revisions[0].name == self.spec.name);
        let revisions = revisions.copied().unwrap_or_default();
        let Some(own) = revisions.iter().position(|spec| spec.revision == self.spec.revision) else { return };
        self.add_command_fingerprint(revisions, frame);
        for (place, spec) in revisions.iter().enumerate() {
            let shows = spec.shows.iter().map(|fingerprint| (fingerprint, true));
            let all = shows.chain(spec.excludes.iter().map(|fingerprint| (fingerprint, false)));
            for (fingerprint, is_younger) in
                all.filter(|(fingerprint, _)| matches_fingerprint(fingerprint, self.spec, frame))
            {
                let weight = if is_younger == (own >= place) { FINGERPRINT } else { -FINGERPRINT };
                let whose = if is_younger { "and younger ones send" } else { "and younger ones do not send" };
                let text =
                    format!("revision {} {whose} {}", spec.revision, describe_fingerprint(fingerprint));
                self.fingerprints.entry(text.clone()).or_insert(Reason { weight, text });
            }
        }
    }

    /// Records a fingerprint: the answer shows if the agent knows a command that only some revisions have.
    fn add_command_fingerprint(&mut self, revisions: &[&'static Spec], frame: &Value) {
        let Some(command) = frame["command"].as_str().filter(|_| frame["type"] == "response") else { return };
        let has = |spec: &&'static Spec| spec.command(command).is_some();
        if !revisions.iter().any(has) || revisions.iter().all(has) {
            return;
        }
        let unknown = self.spec.edges.unknown_command_text.replace("{command}", command);
        let knows = match (&frame["success"], &frame["error"]) {
            (Value::Bool(true), _) => true,
            (_, Value::String(text)) if *text == unknown => false,
            _ => return,
        };
        let text = format!("the agent {} `{command}`", if knows { "knows" } else { "does not know" });
        let weight = if knows == has(&self.spec) { FINGERPRINT } else { -FINGERPRINT };
        self.fingerprints.entry(text.clone()).or_insert(Reason { weight, text });
    }

    /// Weighs the answer to a command.
    fn response(&mut self, frame: &Value) {
        let command = frame["command"].as_str().unwrap_or_default();
        let edges = &self.spec.edges;
        if let Some(first) = frame.as_object().and_then(|members| members.keys().next()).cloned()
            && frame.get("id").is_some()
        {
            let wanted = match edges.response_order {
                ResponseOrder::IdFirst => "id",
                ResponseOrder::TypeFirst => "type",
            };
            let weight = if first == wanted { FAMILIAR } else { -FAMILIAR };
            self.add_reason(weight, format!("answers begin with `{first}`"));
        }
        if frame["success"] != false {
            return;
        }
        let text = frame["error"].as_str().unwrap_or_default();
        if command == edges.parse_command {
            let fits = text.starts_with(edges.parse_prefix);
            let prefix = edges.parse_prefix.trim_end();
            match (fits, prefix.is_empty()) {
                (_, true) => {}
                (true, _) => {
                    self.add_reason(FAMILIAR, format!("unreadable lines are answered with `{prefix} …`"))
                }
                (false, _) => self
                    .add_reason(-EDGE, format!("errors for unreadable lines do not start with `{prefix}`")),
            }
            return;
        }
        let is_unknown = text == edges.unknown_command_text.replace("{command}", command);
        if is_unknown && self.unknown_commands.contains(command) {
            self.is_confirmed = true;
            self.add_reason(FAMILIAR, format!("an unknown command is answered with `{text}`"));
            let echoes = frame.get("id").is_some();
            // Some real agents omit the id although their document requires it. No agent does the reverse.
            let weight = match (echoes, edges.unknown_command_echoes_id) {
                (true, true) | (false, false) => EDGE,
                (true, false) => -EDGE,
                (false, true) => -FAMILIAR,
            };
            let how = if echoes { "with" } else { "without" };
            self.add_reason(weight, format!("an unknown command is answered {how} its id"));
        } else if let HandlerFailure::ParseWithoutId { except, .. } = edges.handler_failure
            && frame.get("id").is_some()
            && self.spec.command(command).is_some()
            && !except.contains(&command)
        {
            self.add_reason(-FAMILIAR, format!("a failure of `{command}` contains its name"));
        }
    }

    /// Checks if a frame matches the declaration of the dialect, and records the result as a reason for or against the
    /// dialect.
    fn decode(&mut self, line: &FrameText, frame: &Value, kind: &str) {
        let Some((_, decode)) = decode(&self.spec.id()) else { return };
        let is_json_rpc = matches!(self.spec.framing, Framing::JsonRpc { .. });
        let kind = match self.spec.framing {
            Framing::Enveloped => frame["event"]["type"].as_str().unwrap_or(kind),
            Framing::JsonRpc { .. } => frame["params"]["type"].as_str().unwrap_or(kind),
            Framing::Flat => kind,
        };
        let answered = match is_json_rpc {
            true => frame.get("id").and_then(|id| self.sent_commands.command(id)),
            false => frame["command"].as_str().filter(|_| kind == "response").map(str::to_owned),
        };
        // The types contain the events of all revisions. The tables contain the events of this revision.
        let decoded = decode(line, &self.sent_commands).map(|line| match line {
            LineRole::Event { name, known } => {
                let known = known && self.spec.event(&name).is_some();
                LineRole::Event { name, known }
            }
            line => line,
        });
        match (decoded, answered) {
            (Err(error), Some(command)) => {
                self.add_violation(format!("the answer to `{command}`"), &error.reason);
            }
            (Err(error), None) => self.add_violation(format!("a frame `{kind}`"), &error.reason),
            (Ok(LineRole::Event { name, known: false }), _) => match UNDOCUMENTED.get(name.as_str()) {
                Some(dialects) => {
                    let is_own = dialects.contains(&self.spec.name);
                    self.is_confirmed |= is_own;
                    let names = dialects.join(" and ");
                    let weight = if is_own { VIOLATION } else { -VIOLATION };
                    self.add_reason(weight, format!("agents of {names} send the undocumented `{name}`"));
                }
                None => self.add_reason(-FOREIGN, format!("the event `{name}` is not declared")),
            },
            (Ok(LineRole::Event { name, known: true }), _) => {
                self.is_confirmed = true;
                self.add_reason(FAMILIAR, format!("the event `{name}` is declared"));
            }
            (Ok(LineRole::Success { command }), _) => {
                self.is_confirmed = true;
                let data = &frame[if is_json_rpc { "result" } else { "data" }];
                // An answer with many required members is stronger evidence.
                let has_many_members = data.as_object().is_some_and(|data| data.len() > 5);
                let weight = if has_many_members { FITTING } else { FAMILIAR };
                self.add_reason(weight, format!("the answer to `{command}` matches the declaration"));
                for name in undeclared(self.spec, &command, data) {
                    self.add_reason(
                        -FOREIGN,
                        format!("the answer to `{command}` has the undeclared member `{name}`"),
                    );
                }
            }
            (Ok(LineRole::Failure | LineRole::Dialog { .. }), _) => {}
        }
    }
}

/// Returns `true` if a frame matches a fingerprint.
fn matches_fingerprint(fingerprint: &Fingerprint, spec: &Spec, frame: &Value) -> bool {
    let event = match spec.framing {
        Framing::Enveloped => &frame["event"],
        Framing::JsonRpc { .. } => &frame["params"],
        Framing::Flat => frame,
    };
    let is_event = |name: &str| event["type"] == name;
    let is_answer = |command: &str| {
        frame["type"] == "response" && frame["command"] == command && frame["success"] == true
    };
    match *fingerprint {
        Fingerprint::Event(name) => is_event(name),
        Fingerprint::EventMember(name, member) => is_event(name) && event.get(member).is_some(),
        Fingerprint::EventWithout(name, member) => is_event(name) && event.get(member).is_none(),
        Fingerprint::AnswerMember(command, member) => {
            is_answer(command) && frame["data"].get(member).is_some()
        }
        Fingerprint::AnswerWithout(command, member) => {
            is_answer(command) && frame["data"].get(member).is_none()
        }
        Fingerprint::AnswerBare(command) => is_answer(command) && frame.get("data").is_none(),
        Fingerprint::BareEvent => spec.event(frame["type"].as_str().unwrap_or_default()).is_some(),
        Fingerprint::WrappedEvent => frame["type"] == "event" && frame["event"].is_object(),
    }
}

/// Describes a fingerprint.
fn describe_fingerprint(fingerprint: &Fingerprint) -> String {
    match *fingerprint {
        Fingerprint::Event(name) => format!("`{name}`"),
        Fingerprint::EventMember(name, member) => format!("`{name}` with `{member}`"),
        Fingerprint::EventWithout(name, member) => format!("`{name}` without `{member}`"),
        Fingerprint::AnswerMember(command, member) => format!("an answer to `{command}` with `{member}`"),
        Fingerprint::AnswerWithout(command, member) => format!("an answer to `{command}` without `{member}`"),
        Fingerprint::AnswerBare(command) => format!("an answer to `{command}` without data"),
        Fingerprint::BareEvent => "an event without an envelope".to_owned(),
        Fingerprint::WrappedEvent => "an event in an envelope".to_owned(),
    }
}

/// Definitions in the schema of server frames, for each revision.
static DEFINITIONS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    let parsed = REVISIONS.iter().copied().flatten().map(|spec| {
        let text = schema(&spec.id(), Side::Server).unwrap_or_default();
        let mut schema: Value = serde_json::from_str(text).unwrap_or_default();
        (spec.id(), schema["$defs"].take())
    });
    parsed.collect()
});

/// Returns the members of an answer's data that the dialect does not declare.
fn undeclared(spec: &Spec, command: &str, data: &Value) -> Vec<String> {
    let Some(definitions) = DEFINITIONS.get(&spec.id()) else { return Vec::new() };
    let of = definitions.as_object().into_iter().flatten().map(|(_, definition)| &definition["properties"]);
    let mut of = of.filter(|members| members["command"]["const"] == command);
    let Some(declared) = of.find(|members| !members["data"].is_null()) else { return Vec::new() };
    let name = declared["data"]["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/"));
    let Some(declared) = name.and_then(|name| definitions[name]["properties"].as_object()) else {
        return Vec::new();
    };
    let members = data.as_object().into_iter().flatten();
    members.filter(|(name, _)| !declared.contains_key(*name)).map(|(name, _)| name.clone()).collect()
}
