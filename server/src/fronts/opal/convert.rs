//! Messages, models and levels as Opal writes them.

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
use crate::session::Spoken;

/// What stands before a summary. Clients know the message by its `metadata`.
const SUMMARY: &str = "[Conversation summary \u{2014} older messages were compacted]";

/// How hard a model thinks.
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
    /// The level of that name. Fails with a sentence about `parameter` for an unknown one.
    pub fn named(parameter: &str, name: &str) -> Result<Self, String> {
        let known = LEVELS.iter().find(|(known, ..)| *known == name);
        known.map(|(_, level, _)| *level).ok_or_else(|| {
            let names = LEVELS.map(|(known, ..)| known).join(", ");
            format!("`{parameter}`: {name:?} is not a level; known: {names}")
        })
    }

    /// The nearest one to a level of the engine.
    pub fn of(level: ThinkingLevel) -> Self {
        let found = LEVELS.iter().find(|(_, _, known)| *known == level);
        found.map_or(Self::Low, |(_, level, _)| *level)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        LEVELS.iter().find(|(_, level, _)| *level == self).map_or("off", |(name, ..)| name)
    }

    /// As the engine has it.
    pub fn engine(self) -> ThinkingLevel {
        LEVELS.iter().find(|(_, level, _)| *level == self).map_or(ThinkingLevel::Off, |(.., level)| *level)
    }
}

/// The model of a session.
pub(super) fn model(model: &Model, level: Level) -> OpalModel {
    OpalModel::new(model.provider.as_str(), model.id.as_str(), level.name())
}

/// A model that can be chosen.
pub(super) fn listed(catalog: &Catalog, model: &Model) -> OpalModelInfo {
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

/// Tokens that a session has used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    prompt: u64,
    completion: u64,
    current: u64,
}

impl Tokens {
    /// A model has answered. False where nothing is known of what that took.
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

    /// Tokens in the context of the last request.
    pub fn current(&self) -> u64 {
        self.current
    }

    /// As Opal writes them.
    pub fn wire(&self, window: u64) -> OpalUsage {
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

/// Whether an answer is a part of the conversation: one that failed or was aborted is not.
fn counts(answer: &AssistantMessage) -> bool {
    !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted)
}

/// The conversation.
pub(super) fn history(conversation: &[Spoken]) -> Vec<OpalHistoryMessage> {
    conversation.iter().filter_map(message).collect()
}

fn message(spoken: &Spoken) -> Option<OpalHistoryMessage> {
    let said = |role: &str, content: String| {
        let mut message = OpalHistoryMessage::new(spoken.entry.to_string(), role);
        message.content = Maybe::Value(content);
        message.is_error = Some(false);
        message
    };
    Some(match &*spoken.message {
        AgentMessage::User(user) => said("user", text_of(&user.content)),
        AgentMessage::Custom(custom) => said("user", text_of(&custom.content)),
        AgentMessage::Assistant(answer) if counts(answer) => {
            let mut message = said("assistant", without_tags(&text_of_answer(answer)));
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
            let mut message = said("tool_result", joined(&result.content));
            message.call_id = Maybe::Value(result.tool_call_id.clone());
            message.is_error = Some(result.is_error);
            message
        }
        AgentMessage::CompactionSummary(summary) => {
            let mut message = said("user", format!("{SUMMARY}\n\n{}", summary.summary));
            let details = spoken.details.clone().unwrap_or_default();
            let files = |name: &str| details.get(name).cloned().unwrap_or_else(|| json!([]));
            message.metadata = Maybe::Value(json!({
                "type": "compaction_summary",
                "read_files": files("readFiles"),
                "modified_files": files("modifiedFiles"),
            }));
            message
        }
        AgentMessage::BranchSummary(summary) => said("user", summary.summary.clone()),
        // Opal has no form for the rest.
        _ => return None,
    })
}

/// The texts of an answer, tags among them.
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

/// The text of something that the user says.
pub(super) fn text_of(content: &InputContent) -> String {
    match content {
        InputContent::Text(text) => text.clone(),
        InputContent::Blocks(blocks) => joined(blocks),
    }
}

fn joined(blocks: &[InputBlock]) -> String {
    let lines = blocks.iter().map(|block| match block {
        InputBlock::Text(block) => block.text.clone(),
        InputBlock::Image(image) => format!("[image: {}]", image.mime_type),
        _ => String::new(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A value as text, for places that take text alone.
pub(super) fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
