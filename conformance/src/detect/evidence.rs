//! What a session says for and against one dialect.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use agentese::dynamic::SPECS;
use agentese::frame::{FrameError, ServerFrame};
use agentese::framing::FrameText;
use agentese::schema::{Side, schema};
use agentese::spec::{Dialect, Framing, HandlerFailure, ResponseOrder, Spec};
use agentese::wire::Eventful as _;
use agentese::{omp, opal, operator, pi, pisces};
use serde_json::Value;

use super::Reason;

/// How an observation weighs.
const FRAMING: f64 = 20.0;
const MISFIT: f64 = 2.5;
const FOREIGN: f64 = 1.5;
const FITTING: f64 = 1.5;
const FAMILIAR: f64 = 0.3;
const EDGE: f64 = 1.0;

/// Frames that real agents send although no document has them, and the dialects whose agents do.
const UNDOCUMENTED: &[(&str, &[&str])] = &[("ready", &["omp", "pisces"])];

/// What is gathered for one dialect. The same observation counts once.
pub(super) struct Evidence {
    spec: &'static Spec,
    /// By what is said: a frame that does not fit says so once, however often it comes.
    reasons: BTreeMap<String, Reason>,
    /// Commands that were sent, by the text of their ids.
    commands: BTreeMap<String, String>,
    /// Commands that were sent and that are none of the dialect's.
    unknown: BTreeSet<String>,
}

impl Evidence {
    pub(super) fn new(spec: &'static Spec) -> Self {
        Self { spec, reasons: BTreeMap::new(), commands: BTreeMap::new(), unknown: BTreeSet::new() }
    }

    pub(super) fn reasons(self) -> Vec<Reason> {
        self.reasons.into_values().collect()
    }

    fn note(&mut self, weight: f64, text: String) {
        self.reasons.entry(text.clone()).or_insert(Reason { weight, text });
    }

    /// What is not as declared, with the reason that came first.
    fn misfit(&mut self, what: String, reason: &str) {
        let text = format!("{what} does not fit: {reason}");
        self.reasons.entry(what).or_insert(Reason { weight: -MISFIT, text });
    }

    pub(super) fn sent(&mut self, line: &FrameText) {
        let Ok(frame) = serde_json::from_str::<Value>(line.as_str()) else { return };
        let name = frame["method"].as_str().or_else(|| frame["type"].as_str()).unwrap_or_default().to_owned();
        if let Some(id) = frame.get("id") {
            self.commands.insert(id.to_string(), name.clone());
        }
        if self.spec.command(&name).is_none() {
            self.unknown.insert(name);
        }
    }

    pub(super) fn received(&mut self, line: &FrameText) {
        let Ok(frame) = serde_json::from_str::<Value>(line.as_str()) else { return };
        if !frame.is_object() {
            return;
        }
        let is_json_rpc = frame["jsonrpc"] == "2.0";
        let wants_json_rpc = matches!(self.spec.framing, Framing::JsonRpc { .. });
        match (is_json_rpc, wants_json_rpc) {
            (true, true) => self.note(FRAMING, "frames are JSON-RPC 2.0".to_owned()),
            (true, false) => return self.note(-FRAMING, "frames are JSON-RPC 2.0".to_owned()),
            (false, true) => return self.note(-FRAMING, "frames are not JSON-RPC 2.0".to_owned()),
            (false, false) => {}
        }
        let kind = frame["type"].as_str().unwrap_or_default();
        if kind == "event" && frame["event"].is_object() {
            let is_enveloped = self.spec.framing == Framing::Enveloped;
            let weight = if is_enveloped { FRAMING } else { -FRAMING };
            self.note(weight, "events come inside an envelope".to_owned());
            if !is_enveloped {
                return;
            }
        } else if self.spec.framing == Framing::Enveloped && self.spec.event(kind).is_some() {
            self.note(-MISFIT, "events come without an envelope".to_owned());
        }
        if kind == "response" {
            self.response(&frame);
        }
        self.decode(line, kind);
    }

    /// What the answer to a command says.
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
            self.note(weight, format!("answers begin with `{first}`"));
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
                    self.note(FAMILIAR, format!("lines that cannot be read are answered `{prefix} …`"))
                }
                (false, _) => self.note(-EDGE, format!("failures to read a line do not begin `{prefix}`")),
            }
            return;
        }
        let is_unknown = text == edges.unknown_command_text.replace("{command}", command);
        if is_unknown && self.unknown.contains(command) {
            self.note(FAMILIAR, format!("an unknown command is answered `{text}`"));
            let echoes = frame.get("id").is_some();
            // Real agents drop the id although their document says that it comes back; none does the reverse.
            let weight = match (echoes, edges.unknown_command_echoes_id) {
                (true, true) | (false, false) => EDGE,
                (true, false) => -EDGE,
                (false, true) => -FAMILIAR,
            };
            let how = if echoes { "with" } else { "without" };
            self.note(weight, format!("an unknown command is answered {how} its id"));
        } else if let HandlerFailure::ParseWithoutId { except } = edges.handler_failure
            && frame.get("id").is_some()
            && self.spec.command(command).is_some()
            && !except.contains(&command)
        {
            self.note(-FAMILIAR, format!("a failure of `{command}` names it"));
        }
    }

    /// Whether a frame is as the dialect has it.
    fn decode(&mut self, line: &FrameText, kind: &str) {
        let of = |id: &Value| self.commands.get(&id.to_string()).cloned();
        let decoded = match self.spec.name {
            "pi" => typed(ServerFrame::<pi::Pi>::decode(line, of)),
            "omp" => typed(ServerFrame::<omp::Omp>::decode(line, of)),
            "pisces" => typed(ServerFrame::<pisces::Pisces>::decode(line, of)),
            "operator" => typed(ServerFrame::<operator::Operator>::decode(line, of)),
            "opal" => typed(ServerFrame::<opal::Opal>::decode(line, of)),
            _ => return,
        };
        let frame: Value = serde_json::from_str(line.as_str()).unwrap_or_default();
        let command = frame["command"].as_str().filter(|_| kind == "response");
        let kind = match self.spec.framing {
            Framing::Enveloped => frame["event"]["type"].as_str().unwrap_or(kind),
            Framing::JsonRpc { .. } => frame["params"]["type"].as_str().unwrap_or(kind),
            Framing::Flat => kind,
        };
        match (decoded, command) {
            (Err(reason), Some(command)) => {
                self.misfit(format!("the answer to `{command}`"), &reason);
            }
            (Err(reason), None) => self.misfit(format!("a frame `{kind}`"), &reason),
            (Ok(Decoded::Unknown), _) if undocumented(kind).is_some() => {
                let dialects = undocumented(kind).unwrap_or_default();
                let weight = if dialects.contains(&self.spec.name) { MISFIT } else { -MISFIT };
                let names = dialects.join(" and ");
                self.note(weight, format!("agents of {names} send `{kind}`, which no document has"));
            }
            (Ok(Decoded::Unknown), _) => self.note(-FOREIGN, format!("there is no event `{kind}`")),
            (Ok(Decoded::Event), _) => self.note(FAMILIAR, format!("the event `{kind}` is declared")),
            (Ok(Decoded::Answer), Some(command)) if frame["success"] == true => {
                // Where much has to be there, more is said by its being there.
                let says_much = frame["data"].as_object().is_some_and(|data| data.len() > 5);
                let weight = if says_much { FITTING } else { FAMILIAR };
                self.note(weight, format!("the answer to `{command}` fits"));
                for name in undeclared(self.spec, command, &frame["data"]) {
                    self.note(-FOREIGN, format!("the answer to `{command}` has a member `{name}`"));
                }
            }
            _ => {}
        }
    }
}

fn undocumented(kind: &str) -> Option<&'static [&'static str]> {
    UNDOCUMENTED.iter().find(|(known, _)| *known == kind).map(|(_, dialects)| *dialects)
}

enum Decoded {
    Answer,
    Event,
    Unknown,
}

fn typed<D: Dialect>(frame: Result<ServerFrame<D>, FrameError>) -> Result<Decoded, String> {
    match frame {
        Err(error) => Err(error.reason),
        Ok(ServerFrame::Event(event)) if event.is_known() => Ok(Decoded::Event),
        Ok(ServerFrame::Event(_)) => Ok(Decoded::Unknown),
        Ok(_) => Ok(Decoded::Answer),
    }
}

/// The definitions of each dialect's schema of what servers send.
static DEFINITIONS: LazyLock<BTreeMap<&'static str, Value>> = LazyLock::new(|| {
    let parsed = SPECS.iter().map(|spec| {
        let text = schema(&spec.id(), Side::Server).unwrap_or_default();
        let mut schema: Value = serde_json::from_str(text).unwrap_or_default();
        (spec.name, schema["$defs"].take())
    });
    parsed.collect()
});

/// Members of an answer's data that the dialect does not declare.
fn undeclared(spec: &Spec, command: &str, data: &Value) -> Vec<String> {
    let Some(definitions) = DEFINITIONS.get(spec.name) else { return Vec::new() };
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
