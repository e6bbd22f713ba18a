//! What a provider is asked.

use agentese::types::{Model, ThinkingLevel};
use serde_json::Value;

use super::Messages;

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDescription {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// One request to a model.
#[derive(Debug, Clone)]
pub struct Request {
    /// The model.
    pub model: Model,
    /// What it is told beforehand; may be empty.
    pub system_prompt: String,
    /// The conversation as [`super::history`] leaves it: user, assistant and toolResult only, and
    /// every call has its result.
    pub messages: Messages,
    /// The tools that it may call.
    pub tools: Vec<ToolDescription>,
    /// How hard it should think.
    pub thinking: ThinkingLevel,
    /// The most tokens of the answer, without those for thinking; none: what the model has, within reason.
    pub max_tokens: Option<u64>,
    /// The session, for caches on the provider's side.
    pub session_id: String,
    /// Whether a request that was not taken (no connection, or refused for now) is sent again before its
    /// failure shows.
    pub repeats: bool,
}

/// The most tokens that an answer is given room for, without those for thinking.
const MOST_TOKENS: u64 = 32_000;

/// The most tokens that this model is asked for where a request sets no limit, without those for thinking.
pub fn most_tokens(model: &Model) -> u64 {
    model.max_tokens.min(MOST_TOKENS)
}
