//! Conversion of neutral events to AG-UI events, without I/O.

use std::collections::{HashMap, HashSet};

use agentese::agui::Event as AguiEvent;
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

use super::super::partial_json;
use super::messages::{self, MessageIds};
use super::sequential_parts::SequentialParts;

/// Converts the neutral events of a thread's runs to AG-UI events.
pub(super) struct AguiEventTranslator {
    ids: MessageIds,
    /// The client's id of the user message that the agent is expected to report next.
    pending_input_id: Option<String>,
    open_message: Option<OpenMessage>,
    /// The blocks of growing messages that were sent at least in part: message key and block index.
    sent_blocks: HashSet<(String, usize)>,
    calls: HashMap<String, Call>,
    /// Delays events so that calls and texts do not overlap. `None` if they may overlap.
    sequential_parts: Option<SequentialParts>,
    /// The outcome of the last answer in the run.
    pub last: Option<AnswerEnd>,
    usage: Vec<AguiTokenUsage>,
}

/// The outcome of a model's answer.
pub(super) struct AnswerEnd {
    pub state: MessageState,
    pub error: Option<String>,
}

/// The message that was started and not ended yet at the client, by its id.
enum OpenMessage {
    Text(String),
    Thought(String),
}

/// The state of a tool call as sent to the client.
#[derive(Default)]
struct Call {
    /// The text of its arguments that was sent so far.
    text: String,
    /// The key of the message that contains the call, if known.
    message: Option<String>,
    is_complete: bool,
}

impl AguiEventTranslator {
    /// Creates a translator that prefixes the ids of this thread's messages with `prefix`.
    pub fn new(prefix: String, overlapping_calls: bool) -> Self {
        Self {
            ids: MessageIds::new(prefix),
            pending_input_id: None,
            open_message: None,
            sent_blocks: HashSet::new(),
            calls: HashMap::new(),
            sequential_parts: (!overlapping_calls).then(SequentialParts::default),
            last: None,
            usage: Vec::new(),
        }
    }

    /// Starts a run for the user message to which the client gave `input_id`.
    pub fn start_run(&mut self, input_id: &str) {
        self.ids.known.insert(input_id.to_owned());
        self.pending_input_id = Some(input_id.to_owned());
        self.open_message = None;
        self.sent_blocks.clear();
        self.calls.clear();
        self.sequential_parts = self.sequential_parts.as_ref().map(|_| SequentialParts::default());
        self.last = None;
        self.usage.clear();
    }

    /// Returns `true` if the client's message is known here.
    pub fn knows(&self, message: &str) -> bool {
        self.ids.known.contains(message)
    }

    /// Returns the usage of the run so far, by model. Returns `None` if the agent has not reported any.
    pub fn usage(&self) -> Option<Vec<AguiTokenUsage>> {
        (!self.usage.is_empty()).then(|| self.usage.clone())
    }

    /// Returns the snapshot of the conversation.
    pub fn snapshot(&mut self, conversation: &[std::sync::Arc<Message>]) -> AguiEvent {
        messages::snapshot(&mut self.ids, conversation).into()
    }

    /// Converts a neutral event to AG-UI events, possibly to an empty list.
    pub fn translate(&mut self, event: &Event) -> Vec<AguiEvent> {
        let mut events = Vec::new();
        match event {
            Event::MessageStarted { message, role: Role::User } => self.link_input(message),
            Event::TextGrew { message, block, text } => self.text(message, *block, text, &mut events),
            Event::ThinkingGrew { message, block, text } => self.thought(message, *block, text, &mut events),
            Event::ArgumentsGrew { message, call_id, name, text, arguments, .. } => {
                if !call_id.is_empty() && !name.is_empty() {
                    self.call(call_id, name, Some(message), &mut events);
                    self.arguments(call_id, text.as_deref(), arguments.as_ref(), &mut events);
                }
            }
            Event::MessageEnded { message } => self.end_message(message, &mut events),
            Event::ToolStarted { call_id, name, arguments } => {
                self.complete(call_id, name, None, arguments.as_ref(), &mut events);
            }
            Event::ToolEnded { call_id, name, result, .. } => {
                self.complete(call_id, name, None, None, &mut events);
                let id = self.ids.result(call_id);
                let mut ended = AguiToolCallResult::new(id, call_id, messages::content(result));
                ended.role = Some("tool".to_owned());
                events.push(ended.into());
            }
            Event::MessageGone { message, .. } => self.end_calls(Some(message), &mut events),
            // Other events cover these: run and message events, or the snapshot at the end of the run.
            Event::StateChanged { .. }
            | Event::MessageStarted { .. }
            | Event::BlockChanged { .. }
            | Event::ConversationReplaced { .. }
            | Event::MembersChanged { .. } => {}
            other => events.extend(custom(other)),
        }
        self.in_sequence(events)
    }

    /// Returns the events that can be sent now. Keeps the others until the open part ends.
    fn in_sequence(&mut self, events: Vec<AguiEvent>) -> Vec<AguiEvent> {
        let Some(parts) = &mut self.sequential_parts else { return events };
        let mut ready = Vec::new();
        events.into_iter().for_each(|event| parts.push(event, &mut ready));
        ready
    }

    /// Returns the events that end all open messages and tool calls.
    pub fn pause(&mut self) -> Vec<AguiEvent> {
        let mut events = Vec::new();
        self.close(&mut events);
        self.end_calls(None, &mut events);
        self.in_sequence(events)
    }

    /// Ends the incomplete calls of a message, or all of them.
    fn end_calls(&mut self, message: Option<&str>, events: &mut Vec<AguiEvent>) {
        for (id, call) in &mut self.calls {
            let is_meant = message.is_none() || call.message.as_deref() == message;
            if is_meant && !call.is_complete {
                call.is_complete = true;
                events.push(AguiToolCallEnd::new(id).into());
            }
        }
    }

    fn link_input(&mut self, key: &str) {
        if let Some(name) = self.pending_input_id.take() {
            self.ids.client_ids.insert(key.to_owned(), name);
        }
    }

    fn text(&mut self, key: &str, block: usize, text: &str, events: &mut Vec<AguiEvent>) {
        let id = self.ids.message(key);
        if !matches!(&self.open_message, Some(OpenMessage::Text(growing)) if *growing == id) {
            self.close(events);
            let mut begun = AguiTextMessageStart::new(&id);
            begun.role = Some("assistant".to_owned());
            events.push(begun.into());
            self.open_message = Some(OpenMessage::Text(id.clone()));
        }
        self.sent_blocks.insert((key.to_owned(), block));
        events.push(AguiTextMessageContent::new(id, text).into());
    }

    fn thought(&mut self, key: &str, block: usize, text: &str, events: &mut Vec<AguiEvent>) {
        let id = self.ids.thought(key, block);
        if !matches!(&self.open_message, Some(OpenMessage::Thought(growing)) if *growing == id) {
            self.close(events);
            events.push(AguiReasoningStart::new(&id).into());
            events.push(AguiReasoningMessageStart::new(&id, "reasoning").into());
            self.open_message = Some(OpenMessage::Thought(id.clone()));
        }
        self.sent_blocks.insert((key.to_owned(), block));
        events.push(AguiReasoningMessageContent::new(id, text).into());
    }

    fn close(&mut self, events: &mut Vec<AguiEvent>) {
        match self.open_message.take() {
            Some(OpenMessage::Text(id)) => events.push(AguiTextMessageEnd::new(id).into()),
            Some(OpenMessage::Thought(id)) => {
                events.push(AguiReasoningMessageEnd::new(&id).into());
                events.push(AguiReasoningEnd::new(id).into());
            }
            None => {}
        }
    }

    /// Starts a tool call. `key` is the key of the message that contains it, if known.
    fn call(&mut self, id: &str, name: &str, key: Option<&str>, events: &mut Vec<AguiEvent>) {
        if self.calls.contains_key(id) {
            return;
        }
        self.close(events);
        let mut begun = AguiToolCallStart::new(id, name);
        begun.parent_message_id = key.map(|key| self.ids.message(key));
        events.push(begun.into());
        self.calls.insert(id.to_owned(), Call { message: key.map(str::to_owned), ..Call::default() });
    }

    /// Sends the new part of a call's arguments. Uses `text` if the agent sends text, else the readable part of
    /// `value`.
    fn arguments(
        &mut self,
        id: &str,
        text: Option<&str>,
        value: Option<&Value>,
        events: &mut Vec<AguiEvent>,
    ) {
        let Some(call) = self.calls.get_mut(id).filter(|call| !call.is_complete) else { return };
        let begun = value.map(partial_json::partial_text);
        let added = text.or_else(|| begun.as_deref()?.strip_prefix(call.text.as_str()));
        let Some(added) = added.filter(|added| !added.is_empty()) else { return };
        call.text.push_str(added);
        events.push(AguiToolCallArgs::new(id, added).into());
    }

    /// Completes a tool call. `arguments` contains all its arguments if the agent reports them.
    fn complete(
        &mut self,
        id: &str,
        name: &str,
        key: Option<&str>,
        arguments: Option<&Value>,
        events: &mut Vec<AguiEvent>,
    ) {
        self.call(id, name, key, events);
        let Some(call) = self.calls.get_mut(id).filter(|call| !call.is_complete) else { return };
        call.is_complete = true;
        let whole = arguments.map(Value::to_string).unwrap_or_default();
        // The text of the agent may have other spaces; it is complete then.
        let rest = whole.strip_prefix(call.text.as_str()).filter(|rest| !rest.is_empty());
        events.extend(rest.map(|rest| AguiToolCallArgs::new(id, rest).into()));
        events.push(AguiToolCallEnd::new(id).into());
    }

    fn end_message(&mut self, message: &Message, events: &mut Vec<AguiEvent>) {
        match message.role {
            Role::User => self.link_input(&message.key),
            Role::Assistant => {
                for (place, block) in message.blocks.iter().enumerate() {
                    let is_new = !self.sent_blocks.contains(&(message.key.clone(), place));
                    match block {
                        Block::Text { text } if is_new && !text.is_empty() => {
                            self.text(&message.key, place, text, events);
                        }
                        Block::Thinking { text, .. } if is_new && !text.is_empty() => {
                            self.thought(&message.key, place, text, events);
                        }
                        Block::Tool(tool) => self.tool_call(&message.key, tool, events),
                        _ => {}
                    }
                }
                self.close(events);
                // Calls that the complete message no longer contains.
                self.end_calls(Some(&message.key), events);
                self.sent_blocks.retain(|(key, _)| *key != message.key);
                self.last = Some(AnswerEnd {
                    state: message.state,
                    error: message.error.as_ref().map(messages::error_text),
                });
                self.usage.extend(messages::usage(message));
            }
            _ => {}
        }
    }

    fn tool_call(&mut self, key: &str, tool: &ToolBlock, events: &mut Vec<AguiEvent>) {
        if !tool.call_id.is_empty() {
            self.complete(&tool.call_id, &tool.name, Some(key), tool.arguments.as_ref(), events);
        }
    }
}

/// Converts a neutral event without an AG-UI counterpart to a custom event. The event keeps its name and members, which
/// are the same in all languages.
fn custom(event: &Event) -> Option<AguiEvent> {
    let value = serde_json::to_value(event).ok()?;
    let name = format!("agentese.{}", value.get("type")?.as_str()?);
    Some(AguiCustom::new(name, value).into())
}

/// Returns a custom event that originates in the bridge instead of the agent.
pub(super) fn bridge_event(name: &str, value: impl Serialize) -> AguiEvent {
    AguiCustom::new(format!("agentese.{name}"), serde_json::json!(value)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use serde_json::json;

    fn all(translator: &mut AguiEventTranslator, events: &[Event]) -> Vec<Value> {
        events.iter().flat_map(|event| translator.translate(event)).map(|event| json!(event)).collect()
    }

    fn kinds(events: &[Value]) -> Vec<&str> {
        events.iter().map(|event| event["type"].as_str().unwrap()).collect()
    }

    fn whole(message: Value) -> Event {
        Event::MessageEnded { message: Arc::new(serde_json::from_value(message).unwrap()) }
    }

    #[test]
    fn partial_arguments_become_argument_text() {
        let mut translator = AguiEventTranslator::new("t".to_owned(), false);
        let grew = |arguments: Value| Event::ArgumentsGrew {
            message: "k1".to_owned(),
            block: 0,
            call_id: "c".to_owned(),
            name: "bash".to_owned(),
            text: None,
            arguments: Some(arguments),
        };
        let sent = all(
            &mut translator,
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
        let text: String = sent.iter().filter_map(|event| event["delta"].as_str()).collect();
        assert_eq!(text, r#"{"command":"ls"}"#, "{sent:#?}");
        assert_eq!(sent.first().unwrap()["parentMessageId"], "t-k1");
        assert_eq!(sent.last().unwrap()["type"], "TOOL_CALL_END");
    }

    #[test]
    fn a_complete_message_is_sent_whole_and_once() {
        let mut translator = AguiEventTranslator::new("t".to_owned(), false);
        let blocks = json!([
            {"type": "thinking", "text": "hm"}, {"type": "text", "text": "Hello"},
            {"type": "tool", "callId": "c", "name": "bash", "state": "coming", "arguments": {"command": "ls"}},
        ]);
        let message = json!({"key": "k1", "role": "assistant", "state": "done", "blocks": blocks});
        let sent = all(&mut translator, &[whole(message.clone())]);
        assert_eq!(
            kinds(&sent),
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
        let sent = all(&mut translator, &[grew, whole(second)]);
        assert_eq!(kinds(&sent), ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]);
    }

    #[test]
    fn a_pause_closes_open_parts_and_the_message_keeps_its_id() {
        let mut translator = AguiEventTranslator::new("t".to_owned(), false);
        let grew = |text: &str| Event::TextGrew { message: "k1".to_owned(), block: 0, text: text.to_owned() };
        let first = all(&mut translator, &[grew("a")]);
        let closed: Vec<Value> = translator.pause().into_iter().map(|event| json!(event)).collect();
        assert_eq!(kinds(&closed), ["TEXT_MESSAGE_END"]);
        let second = all(&mut translator, &[grew("b")]);
        assert_eq!((first[0]["messageId"].as_str(), kinds(&second)[0]), (Some("t-k1"), "TEXT_MESSAGE_START"));
        assert_eq!(first[0]["messageId"], second[0]["messageId"]);
    }
}
