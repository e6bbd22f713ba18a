//! Events that a provider sends during an answer.

use super::ProviderError;

/// Token counts as reported by a provider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// Number of input tokens that did not come from a cache.
    pub input: u64,
    /// Number of output tokens.
    pub output: u64,
    /// Number of input tokens read from a cache.
    pub cache_read: u64,
    /// Number of input tokens written to a cache.
    pub cache_write: u64,
    /// Number of tokens in `cache_write` that the cache keeps for an hour; absent if the provider's API does not report
    /// it.
    pub cache_write_hour: Option<u64>,
    /// Number of tokens in `output` for reasoning; absent if the provider's API does not report it.
    pub reasoning: Option<u64>,
}

/// The reason for the successful end of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// The model finished its answer.
    Stop,
    /// The model reached its output limit.
    Length,
    /// The model requests tool calls.
    ToolUse,
}

/// One step of an answer. Blocks open and close one after the other.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// The provider has started to answer.
    Start,
    /// The provider's id of the answer.
    Id(String),
    /// The stop reason as the provider names it.
    RawStopReason(String),
    /// The token counts so far, in place of the counts of an earlier event.
    Usage(TokenCounts),
    /// A text block opens.
    TextStart,
    /// Text to append to the open text block.
    TextDelta(String),
    /// The text block closes.
    TextEnd,
    /// The provider's signature for the open block. It must be sent back with the block. A later signature replaces it.
    Signature(String),
    /// The provider's signature for the first thinking block, even if another block is open. A later signature replaces
    /// it.
    ThinkingSignature(String),
    /// The open thinking block is encrypted, so its text cannot be shown.
    Redacted,
    /// A thinking block opens.
    ThinkingStart,
    /// Text to append to the open thinking block.
    ThinkingDelta(String),
    /// The thinking block closes.
    ThinkingEnd {
        /// The provider's signature for the block, if the provider sends it with the end.
        signature: Option<String>,
    },
    /// A tool call opens.
    ToolCallStart {
        /// Id of the call.
        id: String,
        /// Name of the tool.
        name: String,
    },
    /// JSON text to append to the arguments of the open tool call.
    ToolCallDelta(String),
    /// The tool call closes.
    ToolCallEnd,
    /// The answer is complete.
    Done(FinishReason),
    /// The request failed. The content so far stays in the message.
    Error(ProviderError),
}
