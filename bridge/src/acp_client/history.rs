//! The history of a loaded session, built from the updates that the agent sends again.

use std::collections::BTreeMap;

use agentese::acp::{AcpPromptEnd, AcpStopReason, AcpUpdate};
use agentese::types::{AgentMessage, InputBlock, TextContent, ToolResultMessageBuilder};
use agentese_server_base::runtime::{Clock as _, SystemClock};
use agentese_server_engine::engine::RemoteEvent;
use agentese_server_tools::ToolContent;

use super::super::convert;
use super::call_details::content_text;
use super::translator::UpdateTranslator;

/// Converts updates to messages.
#[derive(Debug, Default)]
pub(super) struct History {
    translator: UpdateTranslator,
    /// The text so far of the user message that is arriving.
    user_text: String,
    /// The id of that message, if the agent gives one.
    user_message_id: Option<String>,
    /// The names of tools, by the ids of their calls.
    tool_names: BTreeMap<String, String>,
    messages: Vec<AgentMessage>,
}

impl History {
    /// Adds the next update.
    pub fn push(&mut self, update: AcpUpdate) {
        if let AcpUpdate::UserMessageChunk(chunk) = update {
            let id = chunk.message_id.into_option();
            let is_other = id.is_some() && self.user_message_id.is_some() && id != self.user_message_id;
            if is_other {
                self.end_user_message();
            }
            if self.user_text.is_empty() {
                self.end_turn();
            }
            self.user_message_id = id.or(self.user_message_id.take());
            self.user_text.push_str(&content_text(&chunk.content));
            return;
        }
        self.end_user_message();
        let events = self.translator.translate(update);
        self.push_events(events);
    }

    /// Returns all messages.
    pub fn messages(mut self) -> Vec<AgentMessage> {
        self.end_user_message();
        self.end_turn();
        self.messages
    }

    fn end_user_message(&mut self) {
        self.user_message_id = None;
        if !self.user_text.is_empty() {
            self.messages.push(convert::user(std::mem::take(&mut self.user_text)));
        }
    }

    fn end_turn(&mut self) {
        let (events, _) = self.translator.end_turn(Ok(AcpPromptEnd::new(AcpStopReason::EndTurn)));
        self.push_events(events);
    }

    fn push_events(&mut self, events: Vec<RemoteEvent>) {
        for event in events {
            match event {
                RemoteEvent::AnswerEnded(answer) => self.messages.push((*answer).into()),
                RemoteEvent::ToolStarted(call) => drop(self.tool_names.insert(call.id, call.name)),
                RemoteEvent::ToolEnded(id, output) => {
                    let block = |content: &ToolContent| match content {
                        ToolContent::Text(text) => InputBlock::from(TextContent::new(text.as_str())),
                        ToolContent::Image { data, mime_type } => {
                            agentese::types::ImageContent::new(data.as_str(), mime_type.as_str()).into()
                        }
                    };
                    let mut result = ToolResultMessageBuilder {
                        tool_name: self.tool_names.remove(&id).unwrap_or_default(),
                        tool_call_id: id,
                        content: output.content.iter().map(block).collect(),
                        is_error: output.is_error,
                        timestamp: SystemClock.now_ms(),
                    }
                    .build();
                    result.details = output.details.into();
                    self.messages.push(result.into());
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn updates_become_messages() {
        let mut history = History::default();
        let text = |kind: &str, text: &str| json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}});
        for update in [
            text("user_message_chunk", "run "),
            text("user_message_chunk", "it"),
            text("agent_message_chunk", "I run it."),
            json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "ls", "kind": "execute", "status": "completed",
                "content": [
                    {"type": "content", "content": {"type": "text", "text": "a.rs"}},
                    {"type": "diff", "path": "a.rs", "oldText": "a", "newText": "b"}]}),
            text("agent_message_chunk", "It ran."),
            text("user_message_chunk", "on"),
            text("agent_message_chunk", "ok"),
        ] {
            history.push(serde_json::from_value(update).unwrap());
        }
        let messages = serde_json::to_value(history.messages()).unwrap();
        let roles: Vec<_> = messages.as_array().unwrap().iter().map(|message| &message["role"]).collect();
        assert_eq!(roles, ["user", "assistant", "toolResult", "assistant", "user", "assistant"]);
        assert_eq!(messages[0]["content"][0]["text"], "run it");
        assert_eq!(
            (&messages[2]["toolName"], &messages[2]["content"][0]["text"]),
            (&json!("execute"), &json!("a.rs"))
        );
        assert_eq!(messages[2]["details"]["changes"][0]["newText"], "b");
    }

    #[test]
    fn user_pieces_with_different_ids_are_different_messages() {
        let mut history = History::default();
        for (text, id) in [
            ("slow", Some("1")),
            (" it", Some("1")),
            (" down", None),
            ("slow 80", Some("2")),
            ("hello", Some("3")),
        ] {
            let content = json!({"type": "text", "text": text});
            let update = json!({"sessionUpdate": "user_message_chunk", "content": content, "messageId": id});
            history.push(serde_json::from_value(update).unwrap());
        }
        let texts: Vec<_> = history.messages().iter().filter_map(convert::user_text).collect();
        assert_eq!(texts, ["slow it down", "slow 80", "hello"]);
    }
}
