//! The request to a provider.

use agentese::types::{Model, ThinkingLevel};
use serde_json::Value;

use super::Messages;

/// A tool as described to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDescription {
    /// Name of the tool.
    pub name: String,
    /// Description of the tool.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
}

/// One request to a model.
#[derive(Debug, Clone)]
pub struct Request {
    /// The requested model.
    pub model: Model,
    /// The system prompt; may be empty.
    pub system_prompt: String,
    /// The conversation in the form of [`super::history`]: user, assistant and toolResult messages only, with a result
    /// for every call.
    pub messages: Messages,
    /// Tools that the model may call.
    pub tools: Vec<ToolDescription>,
    /// The thinking level.
    pub thinking: ThinkingLevel,
    /// Number of tokens of the answer at most, without those for thinking; `None` for the default of the model.
    pub max_tokens: Option<u64>,
    /// Id of the session, for caches of the provider.
    pub session_id: String,
    /// `true` if a request that was not accepted (no connection, or a temporary refusal) is sent again before its
    /// failure is reported.
    pub may_retry: bool,
}

/// Number of tokens that an answer may have at most by default, without those for thinking.
const DEFAULT_MAX_TOKENS: u64 = 32_000;

/// Returns the limit of an answer in tokens for a request without a limit, without tokens for thinking.
pub fn default_max_tokens(model: &Model) -> u64 {
    model.max_tokens.min(DEFAULT_MAX_TOKENS)
}
