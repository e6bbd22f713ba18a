//! Folding: applies the frames of both directions to a conversation.

use serde_json::{Map, Value, json};

use super::conversation::{Conversation, SentCommand};
use super::meaning::{Framing, Meaning, Reducer, Rules};
use super::read::{at, holds, read_all};
use super::reducers::messages::change_tool;
use super::reducers::panels::{notify, remove_expired, remove_question};
use super::reducers::slots::{ReducerContext, Slots, id_text};
use super::reducers::{history, messages, panels, run};

/// Sender of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The client sent the frame.
    Sent,
    /// The agent sent the frame.
    Received,
}

/// Context for folding one frame into a conversation.
pub(super) struct FrameFold {
    pub meaning: &'static Meaning,
    /// Arrival of the frame, in milliseconds since the epoch.
    pub at: Option<f64>,
}

impl FrameFold {
    pub fn fold(&self, conversation: &mut Conversation, direction: Direction, frame: &Value) {
        remove_expired(conversation, self.at);
        if !frame.is_object() {
            return;
        }
        match direction {
            Direction::Sent => self.sent(conversation, frame),
            Direction::Received if self.meaning.framing == Framing::JsonRpc => self.rpc(conversation, frame),
            Direction::Received => self.flat(conversation, frame),
        }
    }

    fn sent(&self, conversation: &mut Conversation, frame: &Value) {
        let is_rpc = self.meaning.framing == Framing::JsonRpc;
        let name = frame.get(if is_rpc { "method" } else { "type" });
        let answer = self.meaning.dialog_frames.as_ref().map(|frames| frames.answer.as_str());
        let is_answer =
            if is_rpc { name.is_none() } else { answer.is_some() && name.and_then(Value::as_str) == answer };
        let id = frame.get("id");
        if is_answer {
            return remove_question(conversation, id);
        }
        let Some(name) = name.and_then(Value::as_str) else { return };
        let params = if is_rpc { frame.get("params").unwrap_or(&Value::Null) } else { frame };
        if !self.is_ours(conversation, params) {
            return;
        }
        let sent = SentCommand { command: name.to_owned(), params: plain(params) };
        conversation.internal.sent.insert(command_key(id, name), sent);
        self.apply(conversation, &self.meaning.sent, name, id, params);
    }

    fn flat(&self, conversation: &mut Conversation, frame: &Value) {
        let kind = frame.get("type").and_then(Value::as_str).unwrap_or_default();
        let id = frame.get("id");
        if kind == "response" {
            let is_success = frame.get("success") == Some(&Value::Bool(true));
            let error = (!is_success).then(|| error_text(frame.get("error")));
            let command = frame.get("command").and_then(Value::as_str);
            return self.answer(conversation, id, command, frame.get("data"), error);
        }
        if self.meaning.dialog_frames.as_ref().is_some_and(|frames| frames.request == kind) {
            let method = frame.get("method").and_then(Value::as_str).unwrap_or_default();
            return self.apply(conversation, &self.meaning.dialogs, method, id, frame);
        }
        let is_wrapped = kind == "event" && self.meaning.framing == Framing::Enveloped;
        let body = if is_wrapped { frame.get("event").unwrap_or(&Value::Null) } else { frame };
        self.event(conversation, body);
    }

    fn rpc(&self, conversation: &mut Conversation, frame: &Value) {
        let id = frame.get("id");
        let Some(method) = frame.get("method") else {
            let error = frame.get("error").map(|error| error_text(error.get("message")));
            return self.answer(conversation, id, None, frame.get("result"), error);
        };
        let params = frame.get("params").unwrap_or(&Value::Null);
        let method = method.as_str().unwrap_or_default();
        if !self.is_ours(conversation, params) {
            return;
        }
        if id.is_some() {
            self.apply(conversation, &self.meaning.dialogs, method, id, params);
        } else if Some(method) == self.meaning.notification.as_deref() {
            self.event(conversation, params);
        }
    }

    /// Folds an event without its envelope.
    fn event(&self, conversation: &mut Conversation, body: &Value) {
        let kind = body.get("type").and_then(Value::as_str).unwrap_or_default();
        self.apply(conversation, &self.meaning.events, kind, None, body);
    }

    /// Folds the response to a command. `error` is the error if the command failed.
    fn answer(
        &self,
        conversation: &mut Conversation,
        id: Option<&Value>,
        named: Option<&str>,
        data: Option<&Value>,
        error: Option<String>,
    ) {
        let key = command_key(id.filter(|id| !id.is_null()), named.unwrap_or_default());
        let known = conversation.internal.sent.remove(&key);
        let command = known.as_ref().map(|sent| sent.command.as_str()).or(named);
        let params =
            known.as_ref().map(|sent| Value::Object(sent.params.clone())).unwrap_or_else(|| json!({}));
        let name = command.unwrap_or_default();
        let Some(error) = error else {
            if !self.is_ours(conversation, data.unwrap_or(&Value::Null)) {
                return;
            }
            let mut value = json!({ "params": params });
            if let (Some(data), Some(members)) = (data, value.as_object_mut()) {
                members.insert("data".into(), data.clone());
            }
            return self.apply(conversation, &self.meaning.answers, name, id, &value);
        };
        notify(conversation, "error", &error, command, self.at);
        let value = json!({ "params": params, "error": error });
        self.apply(conversation, &self.meaning.refused, name, id, &value);
    }

    /// Returns `true` if the frame belongs to the conversation's session. In dialects with one session per
    /// connection, every frame does.
    fn is_ours(&self, conversation: &Conversation, params: &Value) -> bool {
        let Some(member) = &self.meaning.session else { return true };
        let named = params.get(member).and_then(Value::as_str);
        match (named, &conversation.session.id) {
            (Some(named), Some(id)) => named == id,
            _ => true,
        }
    }

    fn apply(
        &self,
        conversation: &mut Conversation,
        rules: &'static Rules,
        name: &str,
        id: Option<&Value>,
        value: &Value,
    ) {
        for rule in rules.get(name).into_iter().flatten() {
            let names = rule.slots.keys().map(String::as_str).collect();
            let about = ReducerContext { meaning: self.meaning, name, id, at: self.at, names };
            let items = match &rule.over {
                None => std::slice::from_ref(value),
                Some(list) => at(value, list).and_then(Value::as_array).map_or(&[][..], Vec::as_slice),
            };
            for item in items.iter().filter(|item| holds(&rule.when, item)) {
                apply(rule.act, conversation, read_all(self.meaning, &rule.slots, item), &about);
            }
        }
    }
}

/// Applies a reducer to the conversation.
fn apply(reducer: Reducer, conversation: &mut Conversation, slots: Slots, about: &ReducerContext<'_>) {
    match reducer {
        Reducer::Work => run::work(conversation, &slots),
        Reducer::Outcome => run::outcome(conversation, &slots),
        Reducer::Abort => run::abort(conversation, &slots),
        Reducer::Compacting => run::compacting(conversation, &slots),
        Reducer::Compacted => run::compacted(conversation, slots, about),
        Reducer::Retry => run::retry(conversation, slots, about),
        Reducer::Retried => run::retried(conversation, &slots),
        Reducer::Shell => run::shell(conversation, &slots, about),
        Reducer::ShellOutput => run::shell_output(conversation, &slots),
        Reducer::ShellDone => run::shell_done(conversation, slots, about),
        Reducer::Begin => messages::begin(conversation, slots),
        Reducer::Snapshot => messages::snapshot(conversation, slots),
        Reducer::Piece => messages::piece(conversation, slots),
        Reducer::Block => messages::block(conversation, slots),
        Reducer::Message => messages::change_message(conversation, slots),
        Reducer::End => messages::end(conversation, slots),
        Reducer::Tool => messages::tool(conversation, slots),
        Reducer::Arrive => messages::arrive(conversation, about),
        Reducer::History => history::history(conversation, &slots),
        Reducer::Count => history::count(conversation, &slots),
        Reducer::Replace => history::replace(conversation, &slots),
        Reducer::Set => panels::set(conversation, &slots, about),
        Reducer::Keep => panels::keep(conversation, &slots),
        Reducer::Usage => panels::usage(conversation, slots),
        Reducer::Wait => panels::wait(conversation, &slots, about),
        Reducer::Waited => panels::waited(conversation, &slots, about),
        Reducer::Queue => panels::queue(conversation, &slots),
        Reducer::Ask => panels::ask(conversation, slots, about),
        Reducer::Withdraw => remove_question(conversation, slots.get("id")),
        Reducer::Notice => panels::notice(conversation, &slots, about),
        Reducer::Entry => panels::entry(conversation, slots),
        Reducer::Draft => panels::draft(conversation, &slots),
        Reducer::Task => panels::task(conversation, slots),
        Reducer::Child => child(conversation, slots, about),
    }
}

/// Folds an event of a subagent into the conversation of the subagent.
fn child(conversation: &mut Conversation, mut slots: Slots, about: &ReducerContext<'_>) {
    let Some(Value::String(call)) = slots.remove("callId") else { return };
    let Some(event @ Value::Object(_)) = slots.remove("event") else { return };
    let dialect = conversation.dialect.clone();
    change_tool(conversation, &call, true, |tool| {
        let begun = || Box::new(Conversation::new(&dialect));
        let child = tool.child.get_or_insert_with(begun);
        FrameFold { meaning: about.meaning, at: about.at }.event(child, &event);
    });
}

/// Returns the key of a sent command: its id, or its name if it has no id.
fn command_key(id: Option<&Value>, command: &str) -> String {
    id.map_or_else(|| format!("without {command}"), |id| id_text(Some(id)))
}

/// Returns the scalar parameters of a command, for the readers of its response. Lists and objects, such as
/// images, are omitted.
fn plain(params: &Value) -> Map<String, Value> {
    let scalar = |(_, value): &(&String, &Value)| !value.is_object() && !value.is_array() && !value.is_null();
    let members = params.as_object().into_iter().flatten().filter(scalar);
    members.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Returns an error as text.
fn error_text(error: Option<&Value>) -> String {
    match error {
        Some(Value::String(text)) => text.clone(),
        Some(value) if !value.is_null() => value.to_string(),
        _ => String::new(),
    }
}
