//! A remote agent that does the work of the engine. The engine knows only this trait, not its implementations. It
//! forwards input to the remote agent, and emits and stores the remote events as its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentese::types::{
    AgentMessage, AssistantMessage, CompactionReason, CompactionResult, ImageContent, InterruptMode, Model,
    ThinkingLevel, ToolCall,
};
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::engine::InputQueue;
use crate::providers::StreamEvent;
use crate::resources::CommandInfo;
use crate::session::{ExternalSession, Stats};
use crate::tools::{RpcBashOutput, ToolOutput, ToolUpdate};
use crate::ui::Ui;

/// An event of the remote agent.
#[derive(Debug, Clone, PartialEq)]
pub enum RemoteEvent {
    /// Start of a run.
    RunStarted,
    /// A message of the user or of an extension was added to the conversation.
    MessageAdded(Box<AgentMessage>),
    /// Start of an answer, or an addition to it. `Done` and `Error` have no effect here:
    /// [`RemoteEvent::AnswerEnded`] ends the answer.
    AnswerUpdated(StreamEvent),
    /// End of an answer, with the whole answer.
    AnswerEnded(Box<AssistantMessage>),
    /// Start of a tool call. If no answer contains the call yet, it may belong to the next answer; the remote agent
    /// then sends the event again.
    ToolStarted(ToolCall),
    /// Partial output of the tool of that call, which replaces the previous output.
    ToolUpdated(String, ToolUpdate),
    /// End of the call with the given id.
    ToolEnded(String, ToolOutput),
    /// End of the run.
    RunEnded {
        /// `true` if the same request is repeated.
        will_retry: bool,
    },
    /// Start of a pause before another run repeats the request.
    RetryStarted {
        /// Number of this retry, from 1.
        attempt: u64,
        /// Maximum number of retries.
        limit: u64,
        /// Duration of the pause.
        pause: Duration,
        /// Reason for the failure of the answer.
        error: String,
    },
    /// End of the retries.
    RetryEnded {
        /// `true` if an answer arrived.
        success: bool,
        /// Number of the last retry.
        attempt: u64,
        /// Reason for giving up.
        error: Option<String>,
    },
    /// Start of an automatic compaction.
    CompactionStarted(CompactionReason),
    /// End of an automatic compaction.
    CompactionEnded {
        /// The result; `None` if there is no result.
        result: Option<RemoteCompaction>,
        /// `true` if the compaction was aborted.
        aborted: bool,
        /// `true` if the request that did not fit is repeated.
        will_retry: bool,
        /// The error, if there was one.
        error: Option<String>,
    },
    /// End of all automatic work.
    Settled {
        /// `true` if the work was aborted.
        aborted: bool,
    },
    /// New name of the session.
    SessionNamed(String),
    /// Model of the following requests.
    ModelChanged(Box<Model>),
    /// New thinking level.
    ThinkingChanged(ThinkingLevel),
    /// Failure of an extension, or of another addition by the user in the remote agent.
    ExtensionFailed {
        /// Name of the failed part.
        extension: String,
        /// The event or action during which it failed.
        event: String,
        /// Error message of the extension.
        error: String,
    },
    /// The remote agent has disconnected, for that reason. No event follows.
    Disconnected(String),
}

/// The result of a compaction by the remote agent.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteCompaction {
    /// The result for clients.
    pub result: CompactionResult,
    /// Number of the newest messages that stay unchanged.
    pub kept_messages: usize,
}

/// The session that the remote agent has opened, as far as known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemoteSession {
    /// Name of the session.
    pub name: Option<String>,
    /// Location of the session.
    pub location: ExternalSession,
    /// Provider and id of the model in use.
    pub model: Option<(String, String)>,
    /// Thinking level of the model.
    pub thinking: Option<ThinkingLevel>,
}

/// Kind of delivery for input of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// The input is a prompt. If the agent is working, the queue decides the moment of delivery.
    Prompt(Option<InputQueue>),
    /// The input goes directly into the given queue.
    Queue(InputQueue),
}

/// Tokens and cost of the session, as the remote agent reports them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ReportedUsage {
    /// Number of input tokens without those from a cache.
    pub input: Option<u64>,
    /// Number of output tokens.
    pub output: Option<u64>,
    /// Number of tokens read from a cache.
    pub cache_read: Option<u64>,
    /// Number of tokens written to a cache.
    pub cache_write: Option<u64>,
    /// Cost in US dollars.
    pub cost: Option<f64>,
}

impl ReportedUsage {
    /// Returns the observed numbers, replaced by the reported ones.
    pub(in crate::engine) fn override_stats(self, observed: Stats) -> Stats {
        Stats {
            input: self.input.unwrap_or(observed.input),
            output: self.output.unwrap_or(observed.output),
            cache_read: self.cache_read.unwrap_or(observed.cache_read),
            cache_write: self.cache_write.unwrap_or(observed.cache_write),
            cost: self.cost.unwrap_or(observed.cost),
            ..observed
        }
    }
}

#[cfg(test)]
#[test]
fn unreported_usage_keeps_observed_values() {
    let seen = Stats { input: 1, output: 2, cache_read: 3, cache_write: 4, cost: 0.5, ..Stats::default() };
    let reported = ReportedUsage { input: Some(10), output: Some(20), ..ReportedUsage::default() };
    let stats = reported.override_stats(seen);
    assert_eq!((stats.input, stats.output, stats.cache_read, stats.cache_write), (10, 20, 3, 4));
    assert!((stats.cost - 0.5).abs() < f64::EPSILON);
    assert_eq!(
        ReportedUsage { cache_read: Some(0), ..ReportedUsage::default() }.override_stats(seen).cache_read,
        0,
        "0 is reported"
    );
}

/// Reason for a rejection by the remote agent: a sentence for the user.
pub type RemoteError = String;

/// Does the work of an engine. Most methods have a default for implementations without the feature.
pub trait RemoteAgent: Send + Sync {
    /// Returns the next event. No event is lost if the future is dropped. The future never completes after
    /// [`RemoteEvent::Disconnected`]. Only one engine calls this.
    fn next_event(&self) -> BoxFuture<'_, RemoteEvent>;

    /// Connects the client that displays messages and questions of the remote agent. Called once, before any input is
    /// forwarded. Must not block.
    fn connect(&self, ui: Arc<dyn Ui>) {
        let _ = ui;
    }

    /// Called after the engine has handled the disconnection; no further calls follow. Must not block.
    fn on_disconnected(&self) {}

    /// Delivers input of the user. Returns when the remote agent has accepted it.
    fn submit<'a>(
        &'a self,
        text: &'a str,
        images: &'a [ImageContent],
        delivery: Delivery,
    ) -> BoxFuture<'a, Result<(), RemoteError>>;

    /// Stops the current work. Returns when the remote agent has received the request. An event reports the end of
    /// the work later.
    fn abort(&self) -> BoxFuture<'_, ()>;

    /// Cancels the pending retry.
    fn abort_retry(&self) -> BoxFuture<'_, ()> {
        futures::future::ready(()).boxed()
    }

    /// Empties the queues of the remote agent. Must not block.
    fn clear_queues(&self) {}

    /// Sets the moment at which steering reaches the run. Must not block.
    fn set_interrupt_mode(&self, mode: InterruptMode) {
        let _ = mode;
    }

    /// Names the session. Must not block.
    fn rename(&self, name: &str) {
        let _ = name;
    }

    /// Returns the known commands that a prompt can invoke in the remote agent with `/name`.
    fn commands(&self) -> BoxFuture<'_, Vec<CommandInfo>> {
        futures::future::ready(Vec::new()).boxed()
    }

    /// Returns the usage of the session; `None` without a report.
    fn usage(&self) -> BoxFuture<'_, Option<ReportedUsage>> {
        futures::future::ready(None).boxed()
    }

    /// Compacts the conversation.
    fn compact<'a>(&'a self, focus: Option<&'a str>) -> BoxFuture<'a, Result<RemoteCompaction, RemoteError>> {
        let _ = focus;
        unsupported("compact the conversation")
    }

    /// Runs a command of the user; `shown` receives its output. Fails for a `hidden` command if the model of the remote
    /// agent would see the output.
    fn bash<'a>(
        &'a self,
        command: &'a str,
        hidden: bool,
        shown: &'a mut (dyn FnMut(&str) + Send),
    ) -> BoxFuture<'a, Result<RpcBashOutput, RemoteError>> {
        let _ = (command, hidden, shown);
        unsupported("run commands of the user")
    }

    /// Stops the commands of the user. Must not block.
    fn abort_bash(&self) {}

    /// Writes the conversation as a page and returns its file.
    fn export<'a>(&'a self, path: Option<&'a str>) -> BoxFuture<'a, Result<PathBuf, RemoteError>> {
        let _ = path;
        unsupported("write pages")
    }

    /// Starts a fresh session. Returns `false` if the remote side cancelled it.
    fn new_session(&self) -> BoxFuture<'_, Result<bool, RemoteError>> {
        unsupported("begin a fresh session")
    }

    /// Opens the session of a file. Returns `false` if the remote side cancelled it.
    fn switch_session<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<bool, RemoteError>> {
        let _ = path;
        unsupported("open another session")
    }

    /// Returns the path with which the remote agent opens the session `id`; `None` if there is no such session.
    /// Fails if the remote agent does not report the path.
    fn find_session<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<PathBuf>, RemoteError>> {
        let _ = id;
        futures::future::ready(Ok(None)).boxed()
    }

    /// Opens a fork that ends before a message of the user. `number` is the index of the message among the messages
    /// of the user, from 0; `text` is its text. Returns `false` if the remote side cancelled the fork.
    fn fork<'a>(&'a self, number: usize, text: &'a str) -> BoxFuture<'a, Result<bool, RemoteError>> {
        let _ = (number, text);
        unsupported("fork the conversation")
    }

    /// Returns the details of the session that the remote agent has opened. Called before [`RemoteAgent::history`].
    fn session(&self) -> BoxFuture<'_, RemoteSession> {
        futures::future::ready(RemoteSession::default()).boxed()
    }

    /// Returns all messages of the conversation; `None` if they are not available.
    fn history(&self) -> BoxFuture<'_, Result<Option<Vec<AgentMessage>>, RemoteError>> {
        futures::future::ready(Ok(None)).boxed()
    }
}

/// Returns the error for a feature that the remote agent does not support.
pub(crate) fn unsupported<T: Send + 'static>(what: &str) -> BoxFuture<'static, Result<T, RemoteError>> {
    futures::future::ready(Err(format!("the remote agent cannot {what}"))).boxed()
}
