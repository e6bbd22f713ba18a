//! Messages, models and thinking levels in the form of Opal.

use agentese::opal::{
    OpalHistoryCall, OpalHistoryMessage, OpalModel, OpalModelInfo, OpalModelInfoBuilder, OpalUsage,
    OpalUsageBuilder,
};
use agentese::types::{
    AgentMessage, AssistantBlock, AssistantMessage, InputBlock, InputContent, Model, StopReason,
    ThinkingLevel, Usage,
};
use agentese::wire::Maybe;
use serde_json::{Value, json};

use super::tags::without_tags;
use crate::providers::Catalog;
use crate::session::EntryMessage;

/// The first line of a message with a summary. Clients recognize the message by its `metadata`, not by this line.
const SUMMARY: &str = "[Conversation summary \u{2014} older messages were compacted]";

/// The thinking levels that Opal has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Level {
    #[default]
    Off,
    Low,
    Medium,
    High,
    Max,
}

const LEVELS: [(&str, Level, ThinkingLevel); 5] = [
    ("off", Level::Off, ThinkingLevel::Off),
    ("low", Level::Low, ThinkingLevel::Low),
    ("medium", Level::Medium, ThinkingLevel::Medium),
    ("high", Level::High, ThinkingLevel::High),
    ("max", Level::Max, ThinkingLevel::Xhigh),
];

impl Level {
    /// Returns the level with the given name. Fails for an unknown name; the error is a sentence that names
    /// `parameter`.
    pub fn named(parameter: &str, name: &str) -> Result<Self, String> {
        let known = LEVELS.iter().find(|(known, ..)| *known == name);
        known.map(|(_, level, _)| *level).ok_or_else(|| {
            let names = LEVELS.map(|(known, ..)| known).join(", ");
            format!("`{parameter}`: unknown level {name:?}; known: {names}")
        })
    }

    /// Returns the nearest level to a level of the engine.
    pub fn of(level: ThinkingLevel) -> Self {
        let found = LEVELS.iter().find(|(_, _, known)| *known == level);
        found.map_or(Self::Low, |(_, level, _)| *level)
    }

    /// Returns the name of the level.
    pub fn name(self) -> &'static str {
        LEVELS.iter().find(|(_, level, _)| *level == self).map_or("off", |(name, ..)| name)
    }

    /// Returns the level of the engine.
    pub fn engine(self) -> ThinkingLevel {
        LEVELS.iter().find(|(_, level, _)| *level == self).map_or(ThinkingLevel::Off, |(.., level)| *level)
    }
}

/// Converts the model of a session.
pub(super) fn model(model: &Model, level: Level) -> OpalModel {
    OpalModel::new(model.provider.as_str(), model.id.as_str(), level.name())
}

/// Converts an available model.
pub(super) fn model_info(catalog: &Catalog, model: &Model) -> OpalModelInfo {
    let levels = catalog.levels(model).into_iter().map(Level::of).filter(|level| *level != Level::Off);
    let mut names: Vec<String> = levels.map(|level| level.name().to_owned()).collect();
    names.dedup();
    let mut info = OpalModelInfoBuilder {
        id: model.id.clone(),
        name: model.name.clone(),
        provider: model.provider.clone(),
        supports_thinking: model.reasoning,
    }
    .build();
    info.thinking_levels = Some(names);
    info
}

/// The token usage of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TokenUsage {
    prompt: u64,
    completion: u64,
    current: u64,
}

impl TokenUsage {
    /// Adds the usage of an answer. Returns false if the answer has no token counts.
    pub fn add(&mut self, usage: &Usage) -> bool {
        let prompt = usage.input + usage.cache_read + usage.cache_write;
        if prompt + usage.output == 0 {
            return false;
        }
        self.prompt += prompt;
        self.completion += usage.output;
        self.current = prompt;
        true
    }

    /// Returns the number of prompt tokens in the last request.
    pub fn current(&self) -> u64 {
        self.current
    }

    /// Converts the usage to the form of Opal.
    pub fn to_wire(self, window: u64) -> OpalUsage {
        OpalUsageBuilder {
            prompt_tokens: self.prompt,
            completion_tokens: self.completion,
            total_tokens: self.prompt + self.completion,
            context_window: window,
            current_context_tokens: self.current,
        }
        .build()
    }
}

/// Returns true if an answer belongs to the conversation. Failed and aborted answers do not.
fn is_in_conversation(answer: &AssistantMessage) -> bool {
    !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted)
}

/// Converts the conversation.
pub(super) fn history(conversation: &[EntryMessage]) -> Vec<OpalHistoryMessage> {
    conversation.iter().filter_map(message).collect()
}

fn message(entry_message: &EntryMessage) -> Option<OpalHistoryMessage> {
    let history_message = |role: &str, content: String| {
        let mut message = OpalHistoryMessage::new(entry_message.entry.to_string(), role);
        message.content = Maybe::Value(content);
        message.is_error = Some(false);
        message
    };
    Some(match &*entry_message.message {
        AgentMessage::User(user) => history_message("user", text_of(&user.content)),
        AgentMessage::Custom(custom) => history_message("user", text_of(&custom.content)),
        AgentMessage::Assistant(answer) if is_in_conversation(answer) => {
            let mut message = history_message("assistant", without_tags(&text_of_answer(answer)));
            let thinking = thinking_of(answer);
            if !thinking.is_empty() {
                message.thinking = Maybe::Value(thinking);
            }
            let calls = calls_of(answer);
            if !calls.is_empty() {
                message.tool_calls = Maybe::Value(calls);
            }
            message
        }
        AgentMessage::ToolResult(result) => {
            let mut message = history_message("tool_result", join_blocks(&result.content));
            message.call_id = Maybe::Value(result.tool_call_id.clone());
            message.is_error = Some(result.is_error);
            message
        }
        AgentMessage::CompactionSummary(summary) => {
            let mut message = history_message("user", format!("{SUMMARY}\n\n{}", summary.summary));
            let details = entry_message.details.clone().unwrap_or_default();
            let files = |name: &str| details.get(name).cloned().unwrap_or_else(|| json!([]));
            message.metadata = Maybe::Value(json!({
                "type": "compaction_summary",
                "read_files": files("readFiles"),
                "modified_files": files("modifiedFiles"),
            }));
            message
        }
        AgentMessage::BranchSummary(summary) => history_message("user", summary.summary.clone()),
        // Opal has no form for the other messages.
        _ => return None,
    })
}

/// Returns the text blocks of an answer, with the tags that they contain.
pub(super) fn text_of_answer(answer: &AssistantMessage) -> String {
    let texts = answer.content.iter().filter_map(|block| match block {
        AssistantBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn thinking_of(answer: &AssistantMessage) -> String {
    let texts = answer.content.iter().filter_map(|block| match block {
        AssistantBlock::Thinking(block) => Some(block.thinking.as_str()),
        _ => None,
    });
    texts.collect()
}

fn calls_of(answer: &AssistantMessage) -> Vec<OpalHistoryCall> {
    let calls = answer.content.iter().filter_map(|block| match block {
        AssistantBlock::ToolCall(call) => {
            Some(OpalHistoryCall::new(&call.id, &call.name, call.arguments.clone()))
        }
        _ => None,
    });
    calls.collect()
}

/// Returns the text of user input.
pub(super) fn text_of(content: &InputContent) -> String {
    match content {
        InputContent::Text(text) => text.clone(),
        InputContent::Blocks(blocks) => join_blocks(blocks),
    }
}

fn join_blocks(blocks: &[InputBlock]) -> String {
    let lines = blocks.iter().map(|block| match block {
        InputBlock::Text(block) => block.text.clone(),
        InputBlock::Image(image) => format!("[image: {}]", image.mime_type),
        _ => String::new(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns a value as text, for members whose values are strings.
pub(super) fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
