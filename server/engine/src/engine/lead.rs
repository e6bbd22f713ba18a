//! Another agent that does the work of this one. The engine knows this trait and nothing of who implements it: it hands
//! words over, and what the other one does it tells and keeps as if it were its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentese::types::{
    AgentMessage, AssistantMessage, CompactionReason, CompactionResult, ImageContent, InterruptMode, Model,
    ThinkingLevel, ToolCall,
};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::StreamingBehavior;
use crate::providers::StreamEvent;
use crate::resources::CommandInfo;
use crate::session::{Elsewhere, Stats};
use crate::tools::{RpcBashOutput, ToolOutput, ToolUpdate};
use crate::ui::Ui;

/// Something that the other agent did.
#[derive(Debug, Clone, PartialEq)]
pub enum Deed {
    /// A run begins.
    RunBegan,
    /// A message stands in the conversation: the user's, or an extension's.
    Said(Box<AgentMessage>),
    /// An answer begins or grows. `Done` and `Error` mean nothing here: [`Deed::Answered`] ends it.
    Grew(StreamEvent),
    /// An answer is complete: all of it.
    Answered(Box<AssistantMessage>),
    /// A tool call begins. One that stands in no answer yet may be in the next, and is told again then.
    ToolBegan(ToolCall),
    /// The tool of that call has something to show; it replaces what it showed before.
    ToolShowed(String, ToolUpdate),
    /// The call of that id is over.
    ToolEnded(String, ToolOutput),
    /// The run is over.
    RunOver {
        /// The same request is made again.
        will_retry: bool,
    },
    /// After a pause another run tries again.
    RetryBegan {
        /// The number of this retry, from 1.
        attempt: u64,
        /// How many there will be at most.
        limit: u64,
        /// The pause.
        pause: Duration,
        /// Why the answer failed.
        error: String,
    },
    /// Retrying is over.
    RetryOver {
        /// Whether an answer came.
        success: bool,
        /// The number of the last retry.
        attempt: u64,
        /// Why the agent gave up.
        error: Option<String>,
    },
    /// The agent compacts the conversation on its own.
    CompactionBegan(CompactionReason),
    /// It has, or it has not.
    CompactionOver {
        /// What came of it; none where nothing did.
        result: Option<Compacted>,
        /// Whether somebody stopped it.
        aborted: bool,
        /// Whether the answer that did not fit is asked for again.
        will_retry: bool,
        /// What went wrong, where something did.
        error: Option<String>,
    },
    /// Nothing follows any more that the agent would do on its own.
    Rested {
        /// Whether somebody stopped the work.
        aborted: bool,
    },
    /// The session was named.
    Named(String),
    /// That model is asked from here on.
    Asks(Box<Model>),
    /// The model thinks more, or less, from here on.
    Thinks(ThinkingLevel),
    /// An extension, or something else that the user added there, failed.
    Failed {
        /// Who.
        who: String,
        /// What it was doing.
        doing: String,
        /// What it said.
        error: String,
    },
    /// The agent is gone, for that reason. Nothing follows.
    Gone(String),
}

/// A conversation that was compacted.
#[derive(Debug, Clone, PartialEq)]
pub struct Compacted {
    /// What is told of it.
    pub result: CompactionResult,
    /// How many of the newest messages stay as they are.
    pub kept: usize,
}

/// What the other agent has in a session that it moved to, as far as that is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opened {
    /// What the session is called.
    pub name: Option<String>,
    /// Where it is kept.
    pub elsewhere: Elsewhere,
    /// The provider and the id of the model in use.
    pub model: Option<(String, String)>,
    /// How hard that thinks.
    pub thinking: Option<ThinkingLevel>,
}

/// How words are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// As a prompt; while the agent is at work it becomes of them what that says.
    Prompt(Option<StreamingBehavior>),
    /// Into that queue.
    Queue(StreamingBehavior),
}

/// Tokens and cost of the other agent's session, as it tells them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Used {
    /// Tokens that went in and did not come from a cache.
    pub input: Option<u64>,
    /// Tokens that came out.
    pub output: Option<u64>,
    /// Tokens read from a cache.
    pub cache_read: Option<u64>,
    /// Tokens written to a cache.
    pub cache_write: Option<u64>,
    /// US dollars.
    pub cost: Option<f64>,
}

impl Used {
    /// The same counts, but for what is told here.
    pub(super) fn over(self, seen: Stats) -> Stats {
        Stats {
            input: self.input.unwrap_or(seen.input),
            output: self.output.unwrap_or(seen.output),
            cache_read: self.cache_read.unwrap_or(seen.cache_read),
            cache_write: self.cache_write.unwrap_or(seen.cache_write),
            cost: self.cost.unwrap_or(seen.cost),
            ..seen
        }
    }
}

#[cfg(test)]
#[test]
fn what_the_other_agent_does_not_tell_of_tokens_and_cost_is_as_it_was_seen() {
    let seen = Stats { input: 1, output: 2, cache_read: 3, cache_write: 4, cost: 0.5, ..Stats::default() };
    let told = Used { input: Some(10), output: Some(20), ..Used::default() };
    let stats = told.over(seen);
    assert_eq!((stats.input, stats.output, stats.cache_read, stats.cache_write), (10, 20, 3, 4));
    assert!((stats.cost - 0.5).abs() < f64::EPSILON);
    assert_eq!(Used { cache_read: Some(0), ..Used::default() }.over(seen).cache_read, 0, "0 is told");
}

/// Why the other agent did not do something: a sentence for the user.
pub type Unwilling = String;

/// Does the work of an engine. Every method has a default for those who cannot do that.
pub trait Lead: Send + Sync {
    /// What it does next. Dropping the future loses nothing; after [`Deed::Gone`] it never ends. Asked by one engine.
    fn next(&self) -> BoxFuture<'_, Deed>;

    /// The client is there: what the agent shows and asks goes to it. Called once, before anything is handed over. Must
    /// not block.
    fn connect(&self, ui: Arc<dyn Ui>) {
        let _ = ui;
    }

    /// That it is gone was told: nothing of it is asked any more. Must not block.
    fn parted(&self) {}

    /// Takes words of the user; returns when it has taken them.
    fn say<'a>(
        &'a self,
        text: &'a str,
        images: &'a [ImageContent],
        manner: Manner,
    ) -> BoxFuture<'a, Result<(), Unwilling>>;

    /// Stops what it does; returns when it was told. Its end comes as a deed.
    fn abort(&self) -> BoxFuture<'_, ()>;

    /// Gives up the retry that it waits for.
    fn abort_retry(&self) -> BoxFuture<'_, ()> {
        futures::future::ready(()).boxed()
    }

    /// Drops what waits in its queues. Must not block.
    fn clear_queues(&self) {}

    /// Sets when steering reaches its run. Must not block.
    fn interrupt(&self, mode: InterruptMode) {
        let _ = mode;
    }

    /// Names its session. Must not block.
    fn rename(&self, name: &str) {
        let _ = name;
    }

    /// What a prompt can invoke there with `/name`, as far as that is known.
    fn commands(&self) -> BoxFuture<'_, Vec<CommandInfo>> {
        futures::future::ready(Vec::new()).boxed()
    }

    /// What its session has used; none where it does not say.
    fn used(&self) -> BoxFuture<'_, Option<Used>> {
        futures::future::ready(None).boxed()
    }

    /// Compacts its conversation.
    fn compact<'a>(&'a self, focus: Option<&'a str>) -> BoxFuture<'a, Result<Compacted, Unwilling>> {
        let _ = focus;
        cannot("compact the conversation")
    }

    /// Runs a command of the user; `shown` is told what it writes. One that is `hidden` from the model there is refused where
    /// it would see the output.
    fn bash<'a>(
        &'a self,
        command: &'a str,
        hidden: bool,
        shown: &'a mut (dyn FnMut(&str) + Send),
    ) -> BoxFuture<'a, Result<RpcBashOutput, Unwilling>> {
        let _ = (command, hidden, shown);
        cannot("run commands of the user")
    }

    /// Stops the commands of the user. Must not block.
    fn abort_bash(&self) {}

    /// Writes the conversation as a page; gives its file.
    fn export<'a>(&'a self, path: Option<&'a str>) -> BoxFuture<'a, Result<PathBuf, Unwilling>> {
        let _ = path;
        cannot("write pages")
    }

    /// Begins a fresh session; false where somebody there stopped it.
    fn new_session(&self) -> BoxFuture<'_, Result<bool, Unwilling>> {
        cannot("begin a fresh session")
    }

    /// Goes on with the session of a file; false where somebody there stopped it.
    fn switch_session<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<bool, Unwilling>> {
        let _ = path;
        cannot("open another session")
    }

    /// What opens the session of that id there; none where it keeps no such session. Fails where it does not say.
    fn kept<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<PathBuf>, Unwilling>> {
        let _ = id;
        futures::future::ready(Ok(None)).boxed()
    }

    /// Goes on with a fork that ends before the message of the user with that number, from 0, and that text; false where
    /// somebody there stopped it.
    fn fork<'a>(&'a self, number: usize, text: &'a str) -> BoxFuture<'a, Result<bool, Unwilling>> {
        let _ = (number, text);
        cannot("fork the conversation")
    }

    /// What it has in the session that it moved to. Asked before [`Lead::history`].
    fn session(&self) -> BoxFuture<'_, Opened> {
        futures::future::ready(Opened::default()).boxed()
    }

    /// All messages of its conversation; none where nobody can tell them.
    fn history(&self) -> BoxFuture<'_, Result<Option<Vec<AgentMessage>>, Unwilling>> {
        futures::future::ready(Ok(None)).boxed()
    }
}

/// What somebody says who cannot do that.
pub(crate) fn cannot<T: Send + 'static>(what: &str) -> BoxFuture<'static, Result<T, Unwilling>> {
    futures::future::ready(Err(format!("the agent behind this one cannot {what}"))).boxed()
}
