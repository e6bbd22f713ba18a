//! What a provider says while it answers.

use super::Failure;

/// Tokens as a provider reports them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// Input that did not come from a cache.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Input read from a cache.
    pub cache_read: u64,
    /// Input written to a cache.
    pub cache_write: u64,
    /// Those of `cache_write` that the cache keeps for an hour, where the provider's API tells them apart.
    pub cache_write_hour: Option<u64>,
    /// Those of `output` that went into reasoning, where the provider's API tells them apart.
    pub reasoning: Option<u64>,
}

/// Why an answer ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// The model had nothing more to say.
    Stop,
    /// It reached the limit of its output.
    Length,
    /// It wants tools to run.
    ToolUse,
}

/// One step of an answer. Blocks open and close one after the other.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// The provider is at work.
    Start,
    /// The provider's id of the answer.
    Id(String),
    /// Why the model stopped, in the provider's own word.
    StopWord(String),
    /// The tokens so far; replaces what was reported before.
    Usage(TokenCounts),
    /// A text block opens.
    TextStart,
    /// It grows.
    TextDelta(String),
    /// It closes.
    TextEnd,
    /// The provider's mark for the block that is open, to be given back with it; replaces an earlier one.
    Signature(String),
    /// The provider's mark for the first thinking block, regardless of the block that is open; replaces an
    /// earlier mark.
    ThinkingSignature(String),
    /// The thinking block that is open came in a form that nobody can read.
    Redacted,
    /// A thinking block opens.
    ThinkingStart,
    /// It grows.
    ThinkingDelta(String),
    /// It closes.
    ThinkingEnd {
        /// The provider's mark, where it comes with the end.
        signature: Option<String>,
    },
    /// A tool call opens.
    ToolCallStart {
        /// Its id.
        id: String,
        /// The tool.
        name: String,
    },
    /// The JSON text of its arguments grows.
    ToolCallDelta(String),
    /// It closes.
    ToolCallEnd,
    /// The answer is complete.
    Done(Done),
    /// The request failed; what came before stays.
    Error(Failure),
}
