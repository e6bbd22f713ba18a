//! Events of a run, and their receiver.

use std::sync::Arc;
use std::time::Duration;

use agentese::types::{
    AgentMessage, AssistantMessage, BudgetScope, BudgetSnapshot, CompactionReason, CompactionResult,
    StreamRule, SubagentVerificationCommandEnd, SubagentVerificationCommandStart, SubagentVerificationEnd,
    SubagentVerificationStart, ThinkingLevel, TodoItem, ToolCall, ToolResultMessage, VerificationResult,
};
use futures::future::BoxFuture;

use crate::providers::Update;
use crate::session::EntryId;
use crate::tools::{ToolOutput, ToolUpdate};

/// One event of an engine. A run consists of `RunStarted`, turns, `RunEnded`. A turn consists of `TurnStarted`,
/// messages of the user, the answer, the calls with their results, `TurnEnded`.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// Start of a run.
    RunStarted,
    /// Start of a turn.
    TurnStarted,
    /// A message of the user, a tool result, or the start of an answer.
    MessageStarted {
        /// Id that the message's entry in the session will have.
        entry: &'a EntryId,
        /// The message so far. The start of an answer has no content yet.
        message: &'a AgentMessage,
    },
    /// Addition of new content to an answer.
    MessageUpdated {
        /// Id that the answer's entry in the session will have.
        entry: &'a EntryId,
        /// The whole answer so far.
        message: &'a AssistantMessage,
        /// The part that was added.
        update: &'a Update,
    },
    /// End of a message, which is now in the session.
    MessageEnded {
        /// Id of the message's entry in the session.
        entry: &'a EntryId,
        /// The complete message.
        message: &'a AgentMessage,
    },
    /// Start of a tool call.
    ToolStarted(&'a ToolCall),
    /// Partial output of a tool, which replaces the previous output.
    ToolUpdated(&'a ToolCall, &'a ToolUpdate),
    /// End of a tool call.
    ToolEnded(&'a ToolCall, &'a ToolOutput),
    /// End of a turn.
    TurnEnded {
        /// The answer of the turn.
        message: &'a AgentMessage,
        /// The results of its calls, in order.
        results: &'a [ToolResultMessage],
    },
    /// End of a run. The engine is idle, unless a retry or a compaction starts directly after it.
    RunEnded {
        /// All messages of the run, including messages of the user.
        messages: &'a [Arc<AgentMessage>],
        /// `true` if the engine repeats the request.
        will_retry: bool,
    },
    /// End of all automatic work after a run: the engine is idle.
    Settled {
        /// `true` if the work was aborted.
        aborted: bool,
    },
    /// Internal failure of the agent. The end events of the failed work are emitted as well. After this event, the
    /// engine is idle, and the conversation contains the part that was stored.
    Recovered,
    /// The last answer failed. Another run repeats the request after a pause.
    RetryStarted {
        /// Number of this retry, from 1.
        attempt: u64,
        /// Maximum number of retries.
        limit: u64,
        /// Duration of the pause.
        pause: Duration,
        /// Reason for the failure of the answer.
        error: &'a str,
    },
    /// End of the retries. If an answer arrived, this event follows its message. If the agent gave up, it
    /// follows the end of the run, or it ends a pause.
    RetryEnded {
        /// `true` if an answer arrived.
        success: bool,
        /// Number of the last retry.
        attempt: u64,
        /// Reason why the engine stopped retrying.
        error: Option<&'a str>,
    },
    /// Start of an automatic compaction.
    CompactionStarted {
        /// Reason for the compaction.
        reason: &'a CompactionReason,
    },
    /// End of an automatic compaction.
    CompactionEnded {
        /// The result; `None` if there is no result.
        result: Option<&'a CompactionResult>,
        /// `true` if the compaction was aborted.
        aborted: bool,
        /// `true` if the request that did not fit is repeated.
        will_retry: bool,
        /// The error, if there was one.
        error: Option<&'a str>,
    },
    /// Failure of the request for a summary, which is repeated after a pause. Emitted only for agents that have
    /// events about these retries.
    SummaryRetryScheduled {
        /// Number of this retry, from 1.
        attempt: u64,
        /// Maximum number of retries.
        limit: u64,
        /// Duration of the pause.
        pause: Duration,
        /// Reason for the failure of the request.
        error: &'a str,
    },
    /// End of the pause; the request for a summary is repeated.
    SummaryRetryStarted {
        /// Reason for the compaction.
        reason: &'a CompactionReason,
    },
    /// End of the retries for a summary, with or without success.
    SummaryRetriesEnded,
    /// A message was queued. When it is delivered, it is emitted as a message of the run that receives it.
    Queued(&'a AgentMessage),
    /// Change of a queue: a message was added or removed.
    QueuesChanged {
        /// Texts of the queued steering messages.
        steering: &'a [String],
        /// Texts of the queued follow-ups.
        follow_ups: &'a [String],
    },
    /// A new entry of the session that is not a message. Emitted only for agents that have events about entries.
    EntryAppended(
        /// The entry, as written to the file.
        &'a str,
    ),
    /// New name of the session.
    SessionNamed {
        /// New name of the session.
        name: &'a str,
    },
    /// Change of the thinking level.
    ThinkingChanged {
        /// The new thinking level.
        level: ThinkingLevel,
    },
    /// Rules that matched the output of the model. The answer is stopped, and requested again with the rules in the
    /// context.
    RulesTriggered(&'a [StreamRule]),
    /// Reminder to a model that stopped with unfinished todos; it continues with them.
    TodoReminder {
        /// The unfinished todos.
        todos: &'a [TodoItem],
        /// Number of this reminder, from 1.
        attempt: u64,
        /// Maximum number of reminders.
        limit: u64,
    },
    /// Event of a subagent of this engine.
    Child {
        /// Id of the subagent.
        id: &'a str,
        /// Name of the agent definition that the subagent uses.
        agent: &'a str,
        /// The subagent's event.
        event: ChildEvent<'a>,
    },
    /// Usage is near a limit of a budget. Emitted once for each dimension.
    BudgetWarning {
        /// Scope of the usage.
        scope: &'a BudgetScope,
        /// Usage of the budget.
        snapshot: &'a BudgetSnapshot,
    },
    /// A budget is exhausted. Emitted once for each scope.
    BudgetExceeded {
        /// Scope of the usage.
        scope: &'a BudgetScope,
        /// Usage of the budget.
        snapshot: &'a BudgetSnapshot,
    },
    /// A part of the conversation is missing from the session file, or the file has become complete again.
    StorageStatus {
        /// Reason for the missing part; `None` if the file is complete again.
        error: Option<&'a str>,
    },
    /// Failure of an extension, or of another addition by the user. The agent continues.
    ExtensionFailed {
        /// File of the extension, or `command:name`.
        extension: &'a str,
        /// The event or action during which it failed.
        event: &'a str,
        /// Error message of the extension.
        error: &'a str,
    },
}

/// Event of a subagent, as its parent emits it.
#[derive(Debug, Clone, Copy)]
pub enum ChildEvent<'a> {
    /// The subagent is about to start.
    Started {
        /// `true` if the subagent works in a copy of the directory.
        isolated: bool,
    },
    /// A step of the subagent's run, for dialects that show it.
    Event(&'a Event<'a>),
    /// Start of an attempt at verification.
    VerificationStarted(&'a SubagentVerificationStart),
    /// Start of a command of the verification.
    VerificationCommandStarted(&'a SubagentVerificationCommandStart),
    /// End of a command of the verification.
    VerificationCommandEnded(&'a SubagentVerificationCommandEnd),
    /// End of an attempt at verification.
    VerificationEnded(&'a SubagentVerificationEnd),
    /// The subagent and its verification have ended.
    Ended {
        /// 0 on success.
        exit_code: i64,
        /// Result of the verification.
        verification: Option<&'a VerificationResult>,
    },
}

/// Receives the events of an engine, one at a time and in order.
pub trait EventSink: Send + Sync {
    /// Waits until the receiver can take more events. A run waits before each event, except for the few closing
    /// events after an abort.
    fn wait_for_capacity(&self) -> BoxFuture<'_, ()>;

    /// Returns the length in bytes from which on the waiting pieces of an answer are joined. Returns `None`
    /// if pieces are never joined. If every update contains the whole answer, joining reduces the data for a
    /// slow client.
    fn join_threshold(&self) -> Option<usize> {
        None
    }

    /// Receives an event. Must not block and must not call the engine: the engine's state may be locked.
    fn push(&self, event: Event<'_>);
}
