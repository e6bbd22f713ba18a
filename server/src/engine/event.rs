//! What happens during a run, and who is told.

use std::sync::Arc;
use std::time::Duration;

use agentese::types::{
    AgentMessage, AssistantMessage, CompactionReason, CompactionResult, ToolCall, ToolResultMessage,
};
use futures::future::BoxFuture;

use crate::providers::Update;
use crate::tools::{ToolOutput, ToolUpdate};

/// One step of a run. A run is `RunStarted`, turns, `RunEnded`; a turn is `TurnStarted`, messages
/// of the user, the answer, the calls with their results, `TurnEnded`.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A run begins.
    RunStarted,
    /// A turn begins.
    TurnStarted,
    /// A message of the user or a tool's result is there, or an answer begins.
    MessageStarted(&'a AgentMessage),
    /// An answer grew.
    MessageUpdated {
        /// All of it so far.
        message: &'a AssistantMessage,
        /// What is new.
        update: &'a Update,
    },
    /// A message is complete and stands in the session.
    MessageEnded(&'a AgentMessage),
    /// A tool call begins.
    ToolStarted(&'a ToolCall),
    /// A tool has something to show; it replaces what it showed before.
    ToolUpdated(&'a ToolCall, &'a ToolUpdate),
    /// A tool call is over.
    ToolEnded(&'a ToolCall, &'a ToolOutput),
    /// A turn is complete.
    TurnEnded {
        /// The answer.
        message: &'a AgentMessage,
        /// The results of its calls, in order.
        results: &'a [ToolResultMessage],
    },
    /// The run is over. The engine is idle, unless a retry or a compaction begins right after it.
    RunEnded {
        /// All messages of the run, the user's among them.
        messages: &'a [Arc<AgentMessage>],
    },
    /// The last answer failed; after a pause another run tries again.
    RetryStarted {
        /// The number of this retry, from 1.
        attempt: u64,
        /// How many there will be at most.
        limit: u64,
        /// The pause.
        pause: Duration,
        /// Why the answer failed.
        error: &'a str,
    },
    /// Retrying is over: an answer came (right after that message), or the agent gave up (after the
    /// run, or in the middle of a pause).
    RetryEnded {
        /// Whether an answer came.
        success: bool,
        /// The number of the last retry.
        attempt: u64,
        /// Why the agent gave up.
        error: Option<&'a str>,
    },
    /// The agent compacts the conversation on its own.
    CompactionStarted {
        /// Why.
        reason: &'a CompactionReason,
    },
    /// It has, or it has not.
    CompactionEnded {
        /// What came of it; none where nothing did.
        result: Option<&'a CompactionResult>,
        /// Whether somebody stopped it.
        aborted: bool,
        /// Whether the answer that did not fit is asked for again.
        will_retry: bool,
        /// What went wrong, where something did.
        error: Option<&'a str>,
    },
    /// An extension, or something else that the user added, failed; the agent goes on.
    ExtensionFailed {
        /// Its file, or `command:name`.
        extension: &'a str,
        /// What it was doing.
        event: &'a str,
        /// What it said.
        error: &'a str,
    },
}

/// Is told what happens. Events of one engine come one at a time, in order.
pub trait EventSink: Send + Sync {
    /// Waits until more events are wanted. A run waits for it before each event, unless it is
    /// aborted: then the few events that close it come without waiting.
    fn room(&self) -> BoxFuture<'_, ()>;

    /// Takes an event. Must not block and must not call the engine: the engine's state may be locked.
    fn push(&self, event: Event<'_>);
}
