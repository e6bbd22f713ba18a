//! Changes of a conversation that depend on the model.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use agentese::types::{
    AgentMessage, AssistantBlock, AssistantMessage, InputBlock, InputContent, InputKind, Model, TextContent,
    ToolResultMessage, UserMessage,
};

/// The text in place of one or more images in a row, for models without image input.
const NO_IMAGES: &str = "(image omitted: this model does not support images)";
/// The text in place of images in the result of a tool, for models without image input.
const NO_TOOL_IMAGES: &str = "(tool image omitted: this model does not support images)";

/// Returns the messages in a form that `model` accepts, each produced on demand. `messages` is the result of
/// [`super::for_model`]. `id` converts the id of a tool call to an id that the model's API accepts.
///
/// Thinking blocks and signatures are sent only to the model that produced them. A note replaces images for models
/// without image input. Empty user messages are removed. Ids stay unique, and results keep the ids of their calls.
pub fn adapt_to_model<'a>(
    messages: impl Iterator<Item = Arc<AgentMessage>> + 'a,
    model: &'a Model,
    id: &'a dyn Fn(&str) -> String,
) -> impl Iterator<Item = Arc<AgentMessage>> + 'a {
    let mut fitting = MessageAdapter { model, id, ids: HashMap::new(), used_ids: HashSet::new() };
    messages.filter_map(move |message| fitting.message(&message))
}

struct MessageAdapter<'a> {
    model: &'a Model,
    id: &'a dyn Fn(&str) -> String,
    /// New ids of renamed calls, by their old ids, as long as results can follow.
    ids: HashMap<String, String>,
    used_ids: HashSet<String>,
}

impl MessageAdapter<'_> {
    fn message(&mut self, message: &Arc<AgentMessage>) -> Option<Arc<AgentMessage>> {
        match &**message {
            AgentMessage::User(user) => self.user(message, user),
            AgentMessage::Assistant(answer) => Some(Arc::new(self.answer(answer).into())),
            AgentMessage::ToolResult(result) => Some(self.result(message, result)),
            _ => None,
        }
    }

    fn accepts_images(&self) -> bool {
        self.model.input.contains(&InputKind::Image)
    }

    fn user(&self, message: &Arc<AgentMessage>, user: &UserMessage) -> Option<Arc<AgentMessage>> {
        let blocks = match &user.content {
            InputContent::Text(text) => return (!text.trim().is_empty()).then(|| message.clone()),
            InputContent::Blocks(blocks) => blocks,
        };
        if !blocks.is_empty() && blocks.iter().all(|block| self.accepts(block)) {
            return Some(message.clone());
        }
        let kept = self.blocks(blocks, NO_IMAGES);
        (!kept.is_empty()).then(|| Arc::new(UserMessage::new(kept, user.timestamp).into()))
    }

    fn result(&self, message: &Arc<AgentMessage>, result: &ToolResultMessage) -> Arc<AgentMessage> {
        let id = self.ids.get(&result.tool_call_id);
        if id.is_none() && result.content.iter().all(|block| self.accepts(block)) {
            return message.clone();
        }
        let mut result = result.clone();
        result.content = self.blocks(&result.content, NO_TOOL_IMAGES);
        if let Some(id) = id {
            result.tool_call_id.clone_from(id);
        }
        Arc::new(result.into())
    }

    /// Returns true if a block is not empty and the model accepts its type.
    fn accepts(&self, block: &InputBlock) -> bool {
        match block {
            InputBlock::Text(block) => !block.text.trim().is_empty(),
            InputBlock::Image(_) => self.accepts_images(),
            _ => false,
        }
    }

    /// Returns the blocks that the model accepts. Images that it does not accept are replaced by `note`.
    fn blocks(&self, blocks: &[InputBlock], note: &str) -> Vec<InputBlock> {
        let mut kept: Vec<InputBlock> = Vec::new();
        for block in blocks {
            let is_note = |block: &InputBlock| matches!(block, InputBlock::Text(block) if block.text == note);
            if self.accepts(block) {
                kept.push(block.clone());
            } else if matches!(block, InputBlock::Image(_)) && !kept.last().is_some_and(is_note) {
                kept.push(TextContent::new(note).into());
            }
        }
        kept
    }

    fn answer(&mut self, answer: &AssistantMessage) -> AssistantMessage {
        let model = self.model;
        let same = answer.provider == model.provider && answer.api == model.api && answer.model == model.id;
        self.ids.clear();
        let mut fitted = answer.clone();
        fitted.content = answer.content.iter().filter_map(|block| self.block(block, same)).collect();
        fitted
    }

    fn block(&mut self, block: &AssistantBlock, same: bool) -> Option<AssistantBlock> {
        let mut block = block.clone();
        match &mut block {
            AssistantBlock::Text(text) if !same => text.text_signature = None,
            AssistantBlock::Text(_) => {}
            AssistantBlock::Thinking(thinking) => {
                let signed = thinking.thinking_signature.as_ref().is_some_and(|mark| !mark.is_empty());
                let empty = thinking.thinking.trim().is_empty();
                match (same, thinking.redacted == Some(true)) {
                    (true, _) if signed => {}
                    (_, true) => return None,
                    _ if empty => return None,
                    (true, false) => {}
                    (false, false) => return Some(TextContent::new(thinking.thinking.clone()).into()),
                }
            }
            AssistantBlock::ToolCall(call) => {
                if !same {
                    call.thought_signature = None;
                }
                let id = self.unique((self.id)(&call.id));
                if id != call.id {
                    self.ids.insert(std::mem::replace(&mut call.id, id.clone()), id);
                }
            }
            _ => return None,
        }
        Some(block)
    }

    fn unique(&mut self, id: String) -> String {
        let id = if id.is_empty() { "call".to_owned() } else { id };
        if self.used_ids.insert(id.clone()) {
            return id;
        }
        // The id with its number stays within the limits of APIs, the lowest of which is 40 characters.
        let stem: String = id.chars().take(32).collect();
        let numbered = (2..).map(|number| format!("{stem}_{number}"));
        let fresh = numbered.into_iter().find(|id| !self.used_ids.contains(id)).unwrap_or(id);
        self.used_ids.insert(fresh.clone());
        fresh
    }
}

#[cfg(test)]
mod tests {
    use agentese::types::ModelBuilder;
    use serde_json::{Value, json};

    use super::*;
    use crate::number;

    fn model(input: Vec<InputKind>) -> Model {
        let free = || number(0.0);
        let cost = agentese::types::ModelCostBuilder {
            input: free(),
            output: free(),
            cache_read: free(),
            cache_write: free(),
        }
        .build();
        ModelBuilder {
            id: "m".to_owned(),
            name: "M".to_owned(),
            api: "a".to_owned(),
            provider: "p".to_owned(),
            base_url: "".to_owned(),
            reasoning: true,
            input,
            context_window: 1000,
            max_tokens: 100,
            cost,
        }
        .build()
    }

    #[track_caller]
    fn check(messages: Value, expected: Value) {
        let messages: Vec<AgentMessage> = serde_json::from_value(messages).unwrap();
        let messages: Vec<_> = messages.into_iter().map(Arc::new).collect();
        let clean = |id: &str| id.replace('|', "_");
        let model = model(vec![InputKind::Text]);
        let contents: Vec<Value> = adapt_to_model(messages.into_iter(), &model, &clean)
            .map(|message| {
                let message = serde_json::to_value(&*message).unwrap();
                match message.get("toolCallId") {
                    Some(id) => json!([id, message["content"]]),
                    None => message["content"].clone(),
                }
            })
            .collect();
        assert_eq!(Value::Array(contents), expected);
    }

    fn assistant(model: &str, content: Value) -> Value {
        json!({
            "role": "assistant", "content": content, "api": "a", "provider": "p", "model": model,
            "usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0,
                      "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
            "stopReason": "stop", "timestamp": 1,
        })
    }

    #[test]
    fn reasoning_and_marks_go_back_only_to_the_model_they_came_from() {
        let content = json!([
            {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"},
            {"type": "thinking", "thinking": "", "thinkingSignature": "s"},
            {"type": "thinking", "thinking": "unsigned"},
            {"type": "thinking", "thinking": " "},
            {"type": "thinking", "thinking": "hidden", "thinkingSignature": "r", "redacted": true},
            {"type": "text", "text": "t", "textSignature": "x"},
            {"type": "toolCall", "id": "c", "name": "bash", "arguments": {}, "thoughtSignature": "y"},
        ]);
        check(
            json!([assistant("m", content.clone())]),
            json!([[content[0], content[1], content[2], content[4], content[5], content[6]]]),
        );
        check(
            json!([assistant("other", content)]),
            json!([[
                {"type": "text", "text": "hm"},
                {"type": "text", "text": "unsigned"},
                {"type": "text", "text": "t"},
                {"type": "toolCall", "id": "c", "name": "bash", "arguments": {}},
            ]]),
        );
    }

    #[test]
    fn fm_f66_ids_that_an_api_refuses_are_renamed_with_their_results_and_stay_apart() {
        let call = |id: &str| json!({"type": "toolCall", "id": id, "name": "bash", "arguments": {}});
        let result = |id: &str| {
            json!({"role": "toolResult", "toolCallId": id, "toolName": "bash", "isError": false, "timestamp": 1,
                   "content": [{"type": "text", "text": id}]})
        };
        let content = |id: &str| json!([{"type": "text", "text": id}]);
        check(
            json!([assistant("x", json!([call("a|1"), call("a_1")])), result("a|1"), result("a_1")]),
            json!([[call("a_1"), call("a_1_2")], ["a_1", content("a|1")], ["a_1_2", content("a_1")]]),
        );
    }

    #[test]
    fn content_that_the_model_cannot_read_is_left_out() {
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        let user = |content: Value| json!({"role": "user", "content": content, "timestamp": 1});
        check(
            json!([
                user(json!("")),
                user(json!([{"type": "text", "text": ""}])),
                user(json!([{"type": "text", "text": "look"}, image])),
                user(json!([{"type": "text", "text": ""}, image])),
            ]),
            json!([
                [{"type": "text", "text": "look"}, {"type": "text", "text": NO_IMAGES}],
                [{"type": "text", "text": NO_IMAGES}],
            ]),
        );
    }

    #[test]
    fn a_note_replaces_consecutive_images() {
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        let text = |text: &str| json!({"type": "text", "text": text});
        let result = |content: Value| {
            json!({"role": "toolResult", "toolCallId": "c", "toolName": "read", "isError": false, "timestamp": 1,
                   "content": content})
        };
        check(
            json!([
                {"role": "user", "content": [image, image, text("a"), image], "timestamp": 1},
                result(json!([text("Read image file"), image])),
                result(json!([image])),
            ]),
            json!([
                [text(NO_IMAGES), text("a"), text(NO_IMAGES)],
                ["c", [text("Read image file"), text(NO_TOOL_IMAGES)]],
                ["c", [text(NO_TOOL_IMAGES)]],
            ]),
        );
    }
}
