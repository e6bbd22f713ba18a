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
    /// Tools that the model can call.
    pub tools: Vec<ToolDescription>,
    /// Thinking level of the request.
    pub thinking: ThinkingLevel,
    /// Maximum number of tokens of the answer, without thinking tokens; `None` for the model's default.
    pub max_tokens: Option<u64>,
    /// Id of the session, with which providers find their caches.
    pub session_id: String,
    /// `true` if a request that was not accepted is sent again before a failure is reported. Such a request had no
    /// connection, or was refused temporarily.
    pub may_retry: bool,
}

/// Default maximum number of tokens of an answer, without thinking tokens.
const DEFAULT_MAX_TOKENS: u64 = 32_000;

/// Returns the maximum number of tokens of an answer for a request without a limit. Thinking tokens are not counted.
pub fn default_max_tokens(model: &Model) -> u64 {
    model.max_tokens.min(DEFAULT_MAX_TOKENS)
}
