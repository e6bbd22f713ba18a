//! What happens during a run, and who is told.

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

/// One step of a run. A run is `RunStarted`, turns, `RunEnded`; a turn is `TurnStarted`, messages
/// of the user, the answer, the calls with their results, `TurnEnded`.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A run begins.
    RunStarted,
    /// A turn begins.
    TurnStarted,
    /// A message of the user or a tool's result is there, or an answer begins.
    MessageStarted {
        /// The identifier that its entry in the session will have.
        entry: &'a EntryId,
        /// What there is of it.
        message: &'a AgentMessage,
    },
    /// An answer grew.
    MessageUpdated {
        /// The identifier that its entry in the session will have.
        entry: &'a EntryId,
        /// All of it so far.
        message: &'a AssistantMessage,
        /// What is new.
        update: &'a Update,
    },
    /// A message is complete and stands in the session.
    MessageEnded {
        /// Its entry.
        entry: &'a EntryId,
        /// All of it.
        message: &'a AgentMessage,
    },
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
        /// The engine makes the same request again on its own.
        will_retry: bool,
    },
    /// Nothing follows a run any more that the engine would do on its own: it is idle.
    Settled {
        /// Whether somebody stopped the work.
        aborted: bool,
    },
    /// The work failed inside the agent, which is idle right after this, with the conversation as far as it is kept.
    /// The end of what was going on is told as well.
    Recovered,
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
    /// The request for a summary failed; it is made again after a pause. For agents that tell of such.
    SummaryRetryPlanned {
        /// The number of this retry, from 1.
        attempt: u64,
        /// How many there will be at most.
        limit: u64,
        /// The pause.
        pause: Duration,
        /// Why the request failed.
        error: &'a str,
    },
    /// The pause is over, and the request for a summary is made again.
    SummaryRetried {
        /// Why the conversation is compacted.
        reason: &'a CompactionReason,
    },
    /// There is a summary after all, or there will be none.
    SummaryRetriesEnded,
    /// A message joined a queue. Its delivery is told as a message of the run that it reaches.
    Queued(&'a AgentMessage),
    /// A message joined a queue or left it.
    QueuesChanged {
        /// The texts that interrupt.
        steering: &'a [String],
        /// The texts for the time when the engine would stop.
        follow_ups: &'a [String],
    },
    /// An entry that is no message joined the session, for agents that tell of such.
    Entered(
        /// The entry, as it stands in the file.
        &'a str,
    ),
    /// The session was named.
    SessionNamed {
        /// The name.
        name: &'a str,
    },
    /// The model thinks more, or less, from here on.
    ThinkingChanged {
        /// The level.
        level: ThinkingLevel,
    },
    /// What the model was saying ran into rules: its answer is stopped, and asked for again with them in the context.
    RulesTriggered(&'a [StreamRule]),
    /// The model stopped with things left to do; it is reminded of them and goes on.
    Reminded {
        /// What is left.
        todos: &'a [TodoItem],
        /// The number of this reminder, from 1.
        attempt: u64,
        /// How many there will be at most.
        limit: u64,
    },
    /// What a child of this engine does.
    Child {
        /// Names it among the children.
        id: &'a str,
        /// The agent that it is.
        agent: &'a str,
        /// What happened.
        event: ChildEvent<'a>,
    },
    /// A budget nears a limit. Once for each dimension.
    BudgetNear {
        /// Whose budget it is.
        scope: &'a BudgetScope,
        /// What was used of it.
        snapshot: &'a BudgetSnapshot,
    },
    /// A budget is used up. Once for each scope.
    BudgetUsedUp {
        /// Whose budget it is.
        scope: &'a BudgetScope,
        /// What was used of it.
        snapshot: &'a BudgetSnapshot,
    },
    /// Something that was said is not in the session's file, or all of it is there again.
    Storage {
        /// Why it is not; none where it is again.
        trouble: Option<&'a str>,
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

/// What a child does, as its parent tells it.
#[derive(Debug, Clone, Copy)]
pub enum ChildEvent<'a> {
    /// It is about to begin.
    Started {
        /// It works in a copy of the directory.
        isolated: bool,
    },
    /// A step of its run, for dialects that show them.
    Did(&'a Event<'a>),
    /// An attempt to verify what it did begins.
    VerificationStarted(&'a SubagentVerificationStart),
    /// A command of the verification is about to run.
    VerificationCommandStarted(&'a SubagentVerificationCommandStart),
    /// A command of the verification has ended.
    VerificationCommandEnded(&'a SubagentVerificationCommandEnd),
    /// An attempt to verify has ended.
    VerificationEnded(&'a SubagentVerificationEnd),
    /// It has ended, and its verification with it.
    Ended {
        /// 0 where it did what it was told.
        exit_code: i64,
        /// What came of verifying.
        verification: Option<&'a VerificationResult>,
    },
}

/// Is told what happens. Events of one engine come one at a time, in order.
pub trait EventSink: Send + Sync {
    /// Waits until more events are wanted. A run waits for it before each event, unless it is
    /// aborted: then the few events that close it come without waiting.
    fn room(&self) -> BoxFuture<'_, ()>;

    /// How long an answer is, in bytes, from which its pieces are joined while they wait for room; none where each of
    /// them is told alone. Where every update carries all of a long answer, a client that is behind has more to read with
    /// each piece.
    fn joins(&self) -> Option<usize> {
        None
    }

    /// Takes an event. Must not block and must not call the engine: the engine's state may be locked.
    fn push(&self, event: Event<'_>);
}
