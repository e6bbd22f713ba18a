//! Encoding of frames for an agent, and classification of the agent's frames, by its dialect.

use agentese::spec::{Framing, RunEffect, RunRole, Spec};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::generated::DIALECTS;
use crate::matching::Rules;
use crate::matching::tables::{Command, Field, Sessions, Shape, Tables, Ty};

/// A dialect, and the id of the current session for dialects with several sessions per connection.
#[derive(Debug, Clone)]
pub(super) struct DialectCodec {
    pub spec: &'static Spec,
    tables: &'static Tables,
    session: Option<Value>,
}

/// Envelope of a line from an agent. Other members are read on demand.
#[derive(Debug, Deserialize)]
struct EnvelopeHead<'a> {
    #[serde(rename = "type", default)]
    kind: Option<Value>,
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    success: Option<bool>,
    #[serde(borrow, default)]
    event: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Kind of a line from an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineKind {
    /// A response: the id of the command, if the response has one, and `true` for a success.
    Answer(Option<String>, bool),
    /// An event, with its name.
    Event(String),
    /// Another frame of the dialect, such as a dialog.
    Other,
    /// A line that is not a JSON object.
    Invalid,
}

impl DialectCodec {
    /// Returns the encoder of a dialect (`NAME@REVISION`), or `None` for an unknown dialect.
    pub(super) fn of(dialect: &str) -> Option<Self> {
        let spec = agentese::dynamic::spec(dialect).ok()?;
        let tables = DIALECTS.iter().find(|tables| tables.name == spec.name)?;
        Some(Self { spec, tables, session: None })
    }

    /// Returns the commands that attacks choose from at random.
    pub(super) fn commands(&self) -> &'static [Command] {
        self.tables.commands
    }

    /// Returns the first command without required parameters whose response has this member.
    fn command_returning(&self, member: &str) -> Option<&'static str> {
        let has = |record: &str| {
            self::record(record).is_some_and(|fields| fields.iter().any(|field| field.name == member))
        };
        let gives = |command: &&Command| matches!(command.result, Some(Ty::Named(result)) if has(result));
        let mut giving = self.tables.commands.iter().filter(gives);
        giving.find(|command| self.required_params(command).is_empty()).map(|command| command.wire)
    }

    /// Returns the required parameters of a command, except for the id of the session.
    fn required_params(&self, command: &Command) -> Vec<&'static str> {
        let fields = command.params.and_then(record).unwrap_or_default();
        let own = |name: &str| self.session.is_some() && Some(name) == self.spec.session_member;
        fields.iter().filter(|field| field.required && !own(field.name)).map(|field| field.name).collect()
    }

    /// Returns the request for the path of the session's file. Returns `None` if the dialect cannot open a
    /// session by its file.
    pub(super) fn session_path_request(&self, id: &str) -> Option<String> {
        let (command, _) = self.sessions().files?.reported_by;
        Some(self.line(id, command, Map::new()))
    }

    /// Returns the path of the session's file from the response to [`DialectCodec::session_path_request`].
    pub(super) fn session_path(&self, answer: &Value) -> Option<String> {
        let (_, member) = self.sessions().files?.reported_by;
        answer["data"][member].as_str().map(str::to_owned)
    }

    /// Returns the line of the command that opens the session stored in a file.
    pub(super) fn open(&self, id: &str, file: &str) -> Option<String> {
        let (command, member) = self.sessions().files?.opened;
        Some(self.line(id, command, Map::from_iter([(member.to_owned(), json!(file))])))
    }

    fn sessions(&self) -> &'static Sessions {
        &self.tables.matching.sessions
    }

    /// Returns `true` if an event of this type reports a complete message.
    pub(super) fn ends_message(&self, event: &str) -> bool {
        self.tables.matching.snapshots.as_ref().is_some_and(|snapshots| snapshots.ends == event)
    }

    /// Returns the line of a command.
    pub(super) fn line(&self, id: &str, wire: &str, params: Map<String, Value>) -> String {
        let mut line = match self.spec.framing {
            Framing::JsonRpc { .. } => {
                json!({"jsonrpc": "2.0", "id": id, "method": wire, "params": self.with_session(wire, params)})
            }
            _ => {
                let mut frame =
                    Map::from_iter([("type".to_owned(), json!(wire)), ("id".to_owned(), json!(id))]);
                frame.extend(params.into_iter().filter(|(name, _)| name != "type" && name != "id"));
                Value::Object(frame)
            }
        }
        .to_string();
        line.push('\n');
        line
    }

    fn with_session(&self, wire: &str, mut params: Map<String, Value>) -> Map<String, Value> {
        if let (Some(member), Some(session)) = (self.spec.session_member, &self.session)
            && self.has_param(wire, member)
        {
            params.insert(member.to_owned(), session.clone());
        }
        params
    }

    fn has_param(&self, wire: &str, member: &str) -> bool {
        let command = self.tables.commands.iter().find(|command| command.wire == wire);
        let params = command.and_then(|command| command.params).and_then(record);
        params.is_some_and(|fields| fields.iter().any(|field| field.name == member))
    }

    /// Returns the request that opens a session. It must be answered before any other command is sent.
    /// Returns `None` in dialects with one session per connection.
    pub(super) fn opening_request(&self, id: &str) -> Option<String> {
        Some(self.line(id, self.command_returning(self.spec.session_member?)?, Map::new()))
    }

    /// Sets the current session from the response to [`DialectCodec::opening_request`].
    pub(super) fn set_session(&mut self, answer: &[u8]) {
        let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
        let member = self.spec.session_member.unwrap_or_default();
        self.session = answer.get("result").and_then(|result| result.get(member)).cloned();
    }

    /// Returns the command that opens a session, and its parameter for the session's id. Returns `None` in
    /// dialects with one session per connection.
    pub(super) fn open_command(&self) -> Option<(&'static Command, &'static str)> {
        let member = self.spec.session_member?;
        let wire = self.command_returning(member)?;
        let command = self.tables.commands.iter().find(|command| command.wire == wire)?;
        self.has_param(wire, member).then_some((command, member))
    }

    /// Returns a command that changes nothing and needs no parameters.
    pub(super) fn harmless_command(&self) -> &'static str {
        self.tables.probe_command
    }

    /// Returns the command that starts a run.
    pub(super) fn start_command(&self) -> &'static str {
        self.command_with_role(RunRole::Starts)
    }

    /// Returns the line of a prompt: the command that starts a run, with the text as its only parameter.
    pub(super) fn prompt(&self, id: &str, text: &str) -> String {
        let command = self.command_with_role(RunRole::Starts);
        let tables = self.tables.commands.iter().find(|known| known.wire == command);
        let fields = tables.and_then(|command| command.params).and_then(record);
        let own = |name: &str| Some(name) == self.spec.session_member;
        let text_field = fields
            .unwrap_or_default()
            .iter()
            .find(|field| field.required && field.ty == Ty::String && !own(field.name));
        let name = text_field.map_or("message", |field| field.name);
        self.line(id, command, Map::from_iter([(name.to_owned(), json!(text))]))
    }

    /// Returns the line of the command that stops a run.
    pub(super) fn stop(&self, id: &str) -> String {
        self.line(id, self.command_with_role(RunRole::Stops), Map::new())
    }

    /// Returns the line of a read-only command that an agent always accepts.
    pub(super) fn query(&self, id: &str) -> String {
        self.line(id, self.tables.probe_command, Map::new())
    }

    /// Returns the line of the command for the whole history; `None` if the dialect lacks it.
    pub(super) fn history(&self, id: &str) -> Option<String> {
        let (wire, _) = self.sessions().history?;
        let command = self.tables.commands.iter().find(|command| command.wire == wire)?;
        self.required_params(command).is_empty().then(|| self.line(id, wire, Map::new()))
    }

    /// Returns the messages in the response to [`DialectCodec::history`].
    pub(super) fn messages(&self, answer: &Value) -> Vec<Value> {
        let messages = self.sessions().history.map(|(_, member)| &answer["data"][member]);
        messages.and_then(Value::as_array).cloned().unwrap_or_default()
    }

    fn command_with_role(&self, role: RunRole) -> &'static str {
        let found = self.spec.commands.iter().find(|command| command.run == role);
        found.map_or("", |command| command.wire)
    }

    /// Returns the name of the tool that runs shell commands.
    pub(super) fn shell_tool(&self) -> &'static str {
        self.sessions().shell
    }

    /// Returns `true` if an event of this type may be the last one of a run.
    pub(super) fn may_end(&self, event: &str) -> bool {
        let effect = self.spec.event(event).map(|event| event.run);
        matches!(
            effect,
            Some(
                RunEffect::MayEnd
                    | RunEffect::MayEndUnless(_)
                    | RunEffect::MayEndIf(_)
                    | RunEffect::HoldsIf(_)
                    | RunEffect::Ends
            )
        )
    }

    /// Returns the kind of a line.
    pub(super) fn classify(&self, line: &[u8]) -> LineKind {
        let Ok(head) = serde_json::from_slice::<EnvelopeHead<'_>>(line) else { return LineKind::Invalid };
        let text = |id: Value| id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        let within = |raw: Option<&RawValue>| {
            let inner: EnvelopeHead<'_> = serde_json::from_str(raw?.get()).ok()?;
            inner.kind.and_then(|kind| kind.as_str().map(str::to_owned))
        };
        match self.spec.framing {
            Framing::JsonRpc { notification } => match (head.method, head.id) {
                (None, id) => LineKind::Answer(id.filter(|id| !id.is_null()).map(text), head.error.is_none()),
                (Some(method), None) if method == notification => {
                    within(head.params).map_or(LineKind::Other, LineKind::Event)
                }
                _ => LineKind::Other,
            },
            framing => match head.kind.as_ref().and_then(Value::as_str) {
                Some("response") => {
                    LineKind::Answer(head.id.filter(|id| !id.is_null()).map(text), head.success == Some(true))
                }
                Some("event") if framing == Framing::Enveloped => {
                    within(head.event).map_or(LineKind::Other, LineKind::Event)
                }
                Some(kind) if self.spec.event(kind).is_some() => LineKind::Event(kind.to_owned()),
                Some(_) => LineKind::Other,
                None => LineKind::Invalid,
            },
        }
    }
}

/// Returns the fields of a declared record by its name.
pub(super) fn record(name: &str) -> Option<&'static [Field]> {
    fields(&Rules::named(name)?.shape)
}

/// Returns the fields of a declared record.
pub(super) fn fields(shape: &'static Shape) -> Option<&'static [Field]> {
    match shape {
        Shape::Record { fields, .. } => Some(fields),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_dialect_has_a_prompt_and_a_stop_and_distinct_answers() {
        for tables in DIALECTS {
            let codec = DialectCodec::of(tables.name).unwrap();
            let prompt: Value = serde_json::from_str(&codec.prompt("p", "hello")).unwrap();
            assert!(prompt.to_string().contains("\"hello\""), "{prompt}");
            assert!(!codec.command_with_role(RunRole::Stops).is_empty(), "{}", tables.name);
            assert!(tables.events.iter().any(|(event, _)| codec.may_end(event)), "{}", tables.name);
        }
        let pi = DialectCodec::of("pi").unwrap();
        assert!(
            pi.history("h").is_some()
                && pi.session_path_request("p").is_some()
                && pi.opening_request("o").is_none()
        );
        assert!(pi.open("o", "/a").unwrap().contains("\"sessionPath\":\"/a\""));
        // The document of Operator has no such commands.
        let operator = DialectCodec::of("operator").unwrap();
        assert_eq!((operator.history("h"), operator.session_path_request("p")), (None, None));
        let said = |line: &str| pi.classify(line.as_bytes());
        assert_eq!(
            said(r#"{"type":"response","id":"a","success":true}"#),
            LineKind::Answer(Some("a".into()), true)
        );
        assert_eq!(said(r#"{"type":"agent_end","event":"a text"}"#), LineKind::Event("agent_end".into()));
        assert_eq!(said("[]"), LineKind::Invalid);
        let mut opal = DialectCodec::of("opal").unwrap();
        // Before a session is open, no other command is possible.
        assert!(opal.opening_request("o").is_some() && opal.history("h").is_none());
        opal.set_session(br#"{"result": {"session_id": "s"}}"#);
        assert!(opal.history("h").unwrap().contains("\"session_id\":\"s\""));
        assert_eq!(opal.session_path_request("p"), None);
        let said = |line: &str| opal.classify(line.as_bytes());
        assert_eq!(
            said(r#"{"jsonrpc":"2.0","id":7,"result":null}"#),
            LineKind::Answer(Some("7".into()), true)
        );
        assert_eq!(
            said(r#"{"jsonrpc":"2.0","method":"agent/event","params":{"type":"agent_end"}}"#),
            LineKind::Event("agent_end".into())
        );
    }
}
