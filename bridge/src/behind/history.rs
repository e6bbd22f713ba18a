//! The history of a loaded session, from the updates with which the agent repeats it.

use std::collections::BTreeMap;

use agentese::acp::{AcpPromptEnd, AcpStopReason, AcpUpdate};
use agentese::types::{AgentMessage, InputBlock, TextContent, ToolResultMessageBuilder};
use agentese_server_base::world::{Clock as _, SystemClock};
use agentese_server_engine::engine::Deed;
use agentese_server_tools::ToolContent;

use super::super::convert;
use super::turns::{Turns, shown};

/// Converts updates to messages.
#[derive(Debug, Default)]
pub(super) struct History {
    turns: Turns,
    /// The user message of which pieces are arriving.
    words: String,
    /// The names of tools, by the ids of their calls.
    names: BTreeMap<String, String>,
    messages: Vec<AgentMessage>,
}

impl History {
    /// Adds the next update.
    pub fn take(&mut self, update: AcpUpdate) {
        if let AcpUpdate::UserMessageChunk(chunk) = update {
            if self.words.is_empty() {
                self.end_turn();
            }
            self.words.push_str(&shown(&chunk.content));
            return;
        }
        self.end_words();
        let deeds = self.turns.take(update);
        self.keep(deeds);
    }

    /// Returns all messages.
    pub fn messages(mut self) -> Vec<AgentMessage> {
        self.end_words();
        self.end_turn();
        self.messages
    }

    fn end_words(&mut self) {
        if !self.words.is_empty() {
            self.messages.push(convert::user(std::mem::take(&mut self.words)));
        }
    }

    fn end_turn(&mut self) {
        let (deeds, _) = self.turns.over(Ok(AcpPromptEnd::new(AcpStopReason::EndTurn)));
        self.keep(deeds);
    }

    fn keep(&mut self, deeds: Vec<Deed>) {
        for deed in deeds {
            match deed {
                Deed::Answered(answer) => self.messages.push((*answer).into()),
                Deed::ToolBegan(call) => drop(self.names.insert(call.id, call.name)),
                Deed::ToolEnded(id, output) => {
                    let block = |content: &ToolContent| match content {
                        ToolContent::Text(text) => InputBlock::from(TextContent::new(text.as_str())),
                        ToolContent::Image { data, mime_type } => {
                            agentese::types::ImageContent::new(data.as_str(), mime_type.as_str()).into()
                        }
                    };
                    let mut result = ToolResultMessageBuilder {
                        tool_name: self.names.remove(&id).unwrap_or_default(),
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
    fn updates_become_the_messages_that_were_said() {
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
            history.take(serde_json::from_value(update).unwrap());
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
}
