//! The interface for hooks, which observe and change the actions of the engine. The engine knows only this trait, not
//! its implementations. A [`super::HookChain`] holds them.

pub(in crate::engine) mod approvals;
pub(in crate::engine) mod chain;
use std::path::Path;
use std::sync::Arc;

use agentese::types::{
    AgentMessage, AssistantMessage, CompactionPlan, CompactionResult, CustomMessage, ImageContent, Model,
    StreamRule, ToolCall,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use super::PostRunPolicy;
use crate::config::Settings;
use crate::providers::Update;
use crate::resources::Resources;
use crate::session::Session;
use crate::tools::{ToolOutput, ToolSet};

/// Reason for a change of session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionSwitch<'a> {
    /// A client requested a fresh session.
    New,
    /// A client requested the session of the given file.
    Resume(&'a Path),
}

/// Additions to a run before its start.
#[derive(Debug, Default)]
pub struct RunAdditions {
    /// Messages after the message of the user.
    pub messages: Vec<CustomMessage>,
    /// Replacement for the system prompt.
    pub system_prompt: Option<String>,
}

/// Decision about a compaction.
#[derive(Debug, Default)]
pub enum CompactionDecision {
    /// The model writes the summary.
    #[default]
    Proceed,
    /// The conversation is not compacted.
    Cancelled,
    /// The hook supplies the summary.
    Supplied(Box<CompactionResult>),
}

/// Reason for the use of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectionReason {
    /// A command named the model.
    Set,
    /// A command selected the next model.
    Cycled,
    /// The opened session was stored with this model.
    Restored,
}

/// Observes and changes the actions of the engine. Every method has a default that changes nothing. A method that
/// returns a future may take any time. Dropping the future means that its result is no longer needed.
pub trait Hooks: Send + Sync {
    /// Returns the tools of the engine. `own` are the tools in its options.
    fn tools(&self, own: &ToolSet) -> ToolSet {
        own.clone()
    }

    /// Returns `true` if another session may replace this one.
    fn before_switch<'a>(&'a self, switch: SessionSwitch<'a>) -> BoxFuture<'a, bool> {
        let _ = switch;
        futures::future::ready(true).boxed()
    }

    /// Reports that another session has replaced the previous one. `previous` is the file of the previous session.
    fn switched<'a>(&'a self, switch: SessionSwitch<'a>, previous: Option<&'a Path>) -> BoxFuture<'a, ()> {
        let _ = (switch, previous);
        futures::future::ready(()).boxed()
    }

    /// Returns `true` if a fork may be made from the given entry.
    fn before_fork<'a>(&'a self, entry: &'a str) -> BoxFuture<'a, bool> {
        let _ = entry;
        futures::future::ready(true).boxed()
    }

    /// Reports a fork. `previous` is the file of the session before the fork.
    fn forked<'a>(&'a self, previous: Option<&'a Path>) -> BoxFuture<'a, ()> {
        let _ = previous;
        futures::future::ready(()).boxed()
    }

    /// Returns `true` if the hook handles compactions. Otherwise the engine does not prepare the arguments of
    /// [`Hooks::before_compact`].
    fn handles_compaction(&self) -> bool {
        false
    }

    /// Decides about a compaction. `entries` are the entries of the active branch.
    fn before_compact<'a>(
        &'a self,
        plan: CompactionPlan,
        entries: Vec<Value>,
        focus: Option<&'a str>,
    ) -> BoxFuture<'a, CompactionDecision> {
        let _ = (plan, entries, focus);
        futures::future::ready(CompactionDecision::Proceed).boxed()
    }

    /// Reports a compaction with its entry. `from_extension` is `true` if an extension supplied the summary.
    fn compacted<'a>(&'a self, entry: Value, from_extension: bool) -> BoxFuture<'a, ()> {
        let _ = (entry, from_extension);
        futures::future::ready(()).boxed()
    }

    /// Returns the additions to a run that starts with this input of the user.
    fn before_run<'a>(
        &'a self,
        text: &'a str,
        images: &'a [ImageContent],
        system_prompt: &'a str,
    ) -> BoxFuture<'a, RunAdditions> {
        let _ = (text, images, system_prompt);
        futures::future::ready(RunAdditions::default()).boxed()
    }

    /// Returns `true` if the hook handles the messages for the model. Otherwise the engine does not call
    /// [`Hooks::context`].
    fn handles_context(&self) -> bool {
        false
    }

    /// Returns the replacement for the messages to the model.
    fn context<'a>(&'a self, messages: Vec<Arc<AgentMessage>>) -> BoxFuture<'a, Vec<Arc<AgentMessage>>> {
        futures::future::ready(messages).boxed()
    }

    /// Reports the start of a turn in the given session; `first` marks the first turn of a run. Must not
    /// block, and must not call the engine.
    fn turn_started(&self, session: &Session, first: bool) {
        let _ = (session, first);
    }

    /// Returns `Some` to stop the answer now, with the matched rules for the client. The answer and its run end as
    /// aborted; [`super::PostRunPolicy`] decides about the work after them. `message` is the whole answer so far,
    /// `update` the new part. Must not block.
    fn should_stop(&self, message: &AssistantMessage, update: &Update) -> Option<Vec<StreamRule>> {
        let _ = (message, update);
        None
    }

    /// Permits or rejects a call. If it is rejected, the model receives the error text as the result.
    fn tool_call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<(), String>> {
        let _ = call;
        futures::future::ready(Ok(())).boxed()
    }

    /// Returns the replacement for the output of a call.
    fn tool_result<'a>(&'a self, call: &'a ToolCall, output: ToolOutput) -> BoxFuture<'a, ToolOutput> {
        let _ = call;
        futures::future::ready(output).boxed()
    }

    /// Reports that the working directory is trusted: these settings and resources apply from now on. Must not block.
    fn trusted(&self, settings: &Settings, resources: &Resources) {
        let _ = (settings, resources);
    }

    /// Returns the hooks for a subagent of the engine. Adds their policies for the runs of the subagent to
    /// `policies`. Returns `None` if the subagent uses these same hooks; several engines may then call them
    /// concurrently. Must not block.
    fn for_child(&self, policies: &mut Vec<Arc<dyn PostRunPolicy>>) -> Option<Arc<dyn Hooks>> {
        let _ = policies;
        None
    }

    /// Reports the use of another model. Must not block. The engine may be queried.
    fn model_selected(&self, model: &Model, previous: Option<&Model>, selection: SelectionReason) {
        let _ = (model, previous, selection);
    }
}
