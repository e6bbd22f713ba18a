//! Conversion of neutral events to AG-UI events, without I/O.

use std::collections::{HashMap, HashSet};

use agentese::agui::Event as Told;
use agentese::any::Event;
use agentese::types::{
    AguiCustom, AguiReasoningEnd, AguiReasoningMessageContent, AguiReasoningMessageEnd,
    AguiReasoningMessageStart, AguiReasoningStart, AguiTextMessageContent, AguiTextMessageEnd,
    AguiTextMessageStart, AguiTokenUsage, AguiToolCallArgs, AguiToolCallEnd, AguiToolCallResult,
    AguiToolCallStart,
};
use agentese::view::{Block, Message, MessageState, Role, ToolBlock};
use serde::Serialize;
use serde_json::Value;

use super::super::pieces;
use super::messages::{self, Names};

/// Converts the events of a thread's runs.
pub(super) struct Teller {
    names: Names,
    /// The client's id for the user message that is about to enter the conversation.
    coming: Option<String>,
    growing: Option<Growing>,
    /// The blocks of growing messages of which a part has been sent.
    begun: HashSet<(String, usize)>,
    calls: HashMap<String, Call>,
    /// The end of the last answer of the run.
    pub last: Option<Ended>,
    usage: Vec<AguiTokenUsage>,
}

/// The end of an answer of the model.
pub(super) struct Ended {
    pub state: MessageState,
    pub error: Option<String>,
}

/// The message that is being sent in pieces, by its id.
enum Growing {
    Text(String),
    Thought(String),
}

/// The sent state of a call.
#[derive(Default)]
struct Call {
    /// The text of its arguments so far.
    text: String,
    is_complete: bool,
}

impl Teller {
    /// Creates a converter. `tag` is the prefix of the ids of this thread's messages.
    pub fn new(tag: String) -> Self {
        Self {
            names: Names::new(tag),
            coming: None,
            growing: None,
            begun: HashSet::new(),
            calls: HashMap::new(),
            last: None,
            usage: Vec::new(),
        }
    }

    /// Starts a run for the user message with that id of the client.
    pub fn begin(&mut self, words: &str) {
        self.names.known.insert(words.to_owned());
        self.coming = Some(words.to_owned());
        self.growing = None;
        self.begun.clear();
        self.calls.clear();
        self.last = None;
        self.usage.clear();
    }

    /// Returns `true` if the agent knows a message of the client.
    pub fn knows(&self, message: &str) -> bool {
        self.names.known.contains(message)
    }

    /// Returns the usage of the run so far, by model. Returns `None` if the agent has not reported any.
    pub fn usage(&self) -> Option<Vec<AguiTokenUsage>> {
        (!self.usage.is_empty()).then(|| self.usage.clone())
    }

    /// Returns the snapshot of the conversation.
    pub fn snapshot(&mut self, conversation: &[std::sync::Arc<Message>]) -> Told {
        messages::all(&mut self.names, conversation).into()
    }

    /// Converts an event to any number of AG-UI events.
    pub fn tell(&mut self, event: &Event) -> Vec<Told> {
        let mut told = Vec::new();
        match event {
            Event::MessageBegan { message, role: Role::User } => self.arrived(message),
            Event::TextGrew { message, block, text } => self.text(message, *block, text, &mut told),
            Event::ThinkingGrew { message, block, text } => self.thought(message, *block, text, &mut told),
            Event::ArgumentsGrew { message, call_id, name, text, arguments, .. } => {
                if !call_id.is_empty() && !name.is_empty() {
                    self.call(call_id, name, Some(message), &mut told);
                    self.arguments(call_id, text.as_deref(), arguments.as_ref(), &mut told);
                }
            }
            Event::MessageEnded { message } => self.ended(message, &mut told),
            Event::ToolStarted { call_id, name, arguments } => {
                self.complete(call_id, name, None, arguments.as_ref(), &mut told);
            }
            Event::ToolEnded { call_id, name, result, .. } => {
                self.complete(call_id, name, None, None, &mut told);
                let id = self.names.result(call_id);
                let mut ended = AguiToolCallResult::new(id, call_id, messages::content(result));
                ended.role = Some("tool".to_owned());
                told.push(ended.into());
            }
            // Other events cover these: run and message events, or the snapshot at the end of the run.
            Event::State { .. }
            | Event::MessageBegan { .. }
            | Event::BlockChanged { .. }
            | Event::MessageGone { .. }
            | Event::Replaced { .. }
            | Event::Changed { .. } => {}
            other => told.extend(custom(other)),
        }
        told
    }

    /// Closes the messages that are being sent in pieces.
    pub fn pause(&mut self) -> Vec<Told> {
        let mut told = Vec::new();
        self.close(&mut told);
        for (id, call) in self.calls.iter_mut().filter(|(_, call)| !call.is_complete) {
            call.is_complete = true;
            told.push(AguiToolCallEnd::new(id).into());
        }
        told
    }

    fn arrived(&mut self, key: &str) {
        if let Some(name) = self.coming.take() {
            self.names.theirs.insert(key.to_owned(), name);
        }
    }

    fn text(&mut self, key: &str, block: usize, text: &str, told: &mut Vec<Told>) {
        let id = self.names.message(key);
        if !matches!(&self.growing, Some(Growing::Text(growing)) if *growing == id) {
            self.close(told);
            let mut begun = AguiTextMessageStart::new(&id);
            begun.role = Some("assistant".to_owned());
            told.push(begun.into());
            self.growing = Some(Growing::Text(id.clone()));
        }
        self.begun.insert((key.to_owned(), block));
        told.push(AguiTextMessageContent::new(id, text).into());
    }

    fn thought(&mut self, key: &str, block: usize, text: &str, told: &mut Vec<Told>) {
        let id = self.names.thought(key, block);
        if !matches!(&self.growing, Some(Growing::Thought(growing)) if *growing == id) {
            self.close(told);
            told.push(AguiReasoningStart::new(&id).into());
            told.push(AguiReasoningMessageStart::new(&id, "reasoning").into());
            self.growing = Some(Growing::Thought(id.clone()));
        }
        self.begun.insert((key.to_owned(), block));
        told.push(AguiReasoningMessageContent::new(id, text).into());
    }

    fn close(&mut self, told: &mut Vec<Told>) {
        match self.growing.take() {
            Some(Growing::Text(id)) => told.push(AguiTextMessageEnd::new(id).into()),
            Some(Growing::Thought(id)) => {
                told.push(AguiReasoningMessageEnd::new(&id).into());
                told.push(AguiReasoningEnd::new(id).into());
            }
            None => {}
        }
    }

    /// Starts a call. `key` is the key of its message, if known.
    fn call(&mut self, id: &str, name: &str, key: Option<&str>, told: &mut Vec<Told>) {
        if self.calls.contains_key(id) {
            return;
        }
        self.close(told);
        let mut begun = AguiToolCallStart::new(id, name);
        begun.parent_message_id = key.map(|key| self.names.message(key));
        told.push(begun.into());
        self.calls.insert(id.to_owned(), Call::default());
    }

    /// Sends the addition to arguments: the text of the agent, or else the readable part of the value.
    fn arguments(&mut self, id: &str, text: Option<&str>, value: Option<&Value>, told: &mut Vec<Told>) {
        let Some(call) = self.calls.get_mut(id).filter(|call| !call.is_complete) else { return };
        let begun = value.map(pieces::begun);
        let added = text.or_else(|| begun.as_deref()?.strip_prefix(call.text.as_str()));
        let Some(added) = added.filter(|added| !added.is_empty()) else { return };
        call.text.push_str(added);
        told.push(AguiToolCallArgs::new(id, added).into());
    }

    /// Completes a call whose arguments are known. `arguments` has all of them, if the agent sends them.
    fn complete(
        &mut self,
        id: &str,
        name: &str,
        key: Option<&str>,
        arguments: Option<&Value>,
        told: &mut Vec<Told>,
    ) {
        self.call(id, name, key, told);
        let Some(call) = self.calls.get_mut(id).filter(|call| !call.is_complete) else { return };
        call.is_complete = true;
        let whole = arguments.map(Value::to_string).unwrap_or_default();
        // The text of the agent may have other spaces; it is complete then.
        let rest = whole.strip_prefix(call.text.as_str()).filter(|rest| !rest.is_empty());
        told.extend(rest.map(|rest| AguiToolCallArgs::new(id, rest).into()));
        told.push(AguiToolCallEnd::new(id).into());
    }

    fn ended(&mut self, message: &Message, told: &mut Vec<Told>) {
        match message.role {
            Role::User => self.arrived(&message.key),
            Role::Assistant => {
                for (place, block) in message.blocks.iter().enumerate() {
                    let is_new = !self.begun.contains(&(message.key.clone(), place));
                    match block {
                        Block::Text { text } if is_new && !text.is_empty() => {
                            self.text(&message.key, place, text, told);
                        }
                        Block::Thinking { text, .. } if is_new && !text.is_empty() => {
                            self.thought(&message.key, place, text, told);
                        }
                        Block::Tool(tool) => self.called(&message.key, tool, told),
                        _ => {}
                    }
                }
                self.close(told);
                self.begun.retain(|(key, _)| *key != message.key);
                self.last =
                    Some(Ended { state: message.state, error: message.error.as_ref().map(messages::words) });
                self.usage.extend(messages::usage(message));
            }
            _ => {}
        }
    }

    fn called(&mut self, key: &str, tool: &ToolBlock, told: &mut Vec<Told>) {
        if !tool.call_id.is_empty() {
            self.complete(&tool.call_id, &tool.name, Some(key), tool.arguments.as_ref(), told);
        }
    }
}

/// Converts a neutral event without an AG-UI counterpart to a custom event, with the same name and form as in
/// all languages.
fn custom(event: &Event) -> Option<Told> {
    let value = serde_json::to_value(event).ok()?;
    let name = format!("agentese.{}", value.get("type")?.as_str()?);
    Some(AguiCustom::new(name, value).into())
}

/// Returns a custom event of the bridge itself.
pub(super) fn said(name: &str, value: impl Serialize) -> Told {
    AguiCustom::new(format!("agentese.{name}"), serde_json::json!(value)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use serde_json::json;

    fn all(teller: &mut Teller, events: &[Event]) -> Vec<Value> {
        events.iter().flat_map(|event| teller.tell(event)).map(|event| json!(event)).collect()
    }

    fn kinds(events: &[Value]) -> Vec<&str> {
        events.iter().map(|event| event["type"].as_str().unwrap()).collect()
    }

    fn whole(message: Value) -> Event {
        Event::MessageEnded { message: Arc::new(serde_json::from_value(message).unwrap()) }
    }

    #[test]
    fn arguments_that_agents_tell_as_far_as_they_can_be_read_become_their_text() {
        let mut teller = Teller::new("t".to_owned());
        let grew = |arguments: Value| Event::ArgumentsGrew {
            message: "k1".to_owned(),
            block: 0,
            call_id: "c".to_owned(),
            name: "bash".to_owned(),
            text: None,
            arguments: Some(arguments),
        };
        let told = all(
            &mut teller,
            &[
                grew(json!({})),
                grew(json!({"command": "l"})),
                grew(json!({"command": "ls"})),
                Event::ToolStarted {
                    call_id: "c".to_owned(),
                    name: "bash".to_owned(),
                    arguments: Some(json!({"command": "ls"})),
                },
            ],
        );
        let text: String = told.iter().filter_map(|event| event["delta"].as_str()).collect();
        assert_eq!(text, r#"{"command":"ls"}"#, "{told:#?}");
        assert_eq!(told.first().unwrap()["parentMessageId"], "t-k1");
        assert_eq!(told.last().unwrap()["type"], "TOOL_CALL_END");
    }

    #[test]
    fn a_message_that_comes_whole_is_told_whole_and_once() {
        let mut teller = Teller::new("t".to_owned());
        let blocks = json!([
            {"type": "thinking", "text": "hm"}, {"type": "text", "text": "Hello"},
            {"type": "tool", "callId": "c", "name": "bash", "state": "coming", "arguments": {"command": "ls"}},
        ]);
        let message = json!({"key": "k1", "role": "assistant", "state": "done", "blocks": blocks});
        let told = all(&mut teller, &[whole(message.clone())]);
        assert_eq!(
            kinds(&told),
            [
                "REASONING_START",
                "REASONING_MESSAGE_START",
                "REASONING_MESSAGE_CONTENT",
                "REASONING_MESSAGE_END",
                "REASONING_END",
                "TEXT_MESSAGE_START",
                "TEXT_MESSAGE_CONTENT",
                "TEXT_MESSAGE_END",
                "TOOL_CALL_START",
                "TOOL_CALL_ARGS",
                "TOOL_CALL_END"
            ]
        );
        let grew = Event::TextGrew { message: "k2".to_owned(), block: 1, text: "Hel".to_owned() };
        let mut second = message;
        second["key"] = "k2".into();
        second["blocks"] = json!([{"type": "data", "value": 1}, {"type": "text", "text": "Hel"}]);
        let told = all(&mut teller, &[grew, whole(second)]);
        assert_eq!(kinds(&told), ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]);
    }

    #[test]
    fn a_pause_closes_what_is_open_and_the_message_goes_on_under_its_name() {
        let mut teller = Teller::new("t".to_owned());
        let grew = |text: &str| Event::TextGrew { message: "k1".to_owned(), block: 0, text: text.to_owned() };
        let first = all(&mut teller, &[grew("a")]);
        let closed: Vec<Value> = teller.pause().into_iter().map(|event| json!(event)).collect();
        assert_eq!(kinds(&closed), ["TEXT_MESSAGE_END"]);
        let second = all(&mut teller, &[grew("b")]);
        assert_eq!((first[0]["messageId"].as_str(), kinds(&second)[0]), (Some("t-k1"), "TEXT_MESSAGE_START"));
        assert_eq!(first[0]["messageId"], second[0]["messageId"]);
    }
}
