//! Policies for the work after a run, besides retries and compactions: reminders, rules, continuations.

use std::sync::Arc;

use agentese::types::{AgentMessage, AssistantMessage, CompactionReason};

use crate::engine::EventSink;
use crate::session::Session;

/// A run that has ended.
#[derive(Clone, Copy)]
pub struct RunSummary<'a> {
    /// The last answer of the run; `None` if there was no answer.
    pub answer: Option<&'a AssistantMessage>,
    /// All messages of the run.
    pub messages: &'a [Arc<AgentMessage>],
    /// `true` if a hook stopped the answer ([`crate::engine::Hooks::should_stop`]).
    pub stopped: bool,
    /// The conversation after the run.
    pub session: &'a Session,
}

/// A run that a policy requests, without a prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FollowUpRun {
    /// Messages that join the conversation before the run, without events.
    pub silent_messages: Vec<AgentMessage>,
    /// The messages at the start of the run.
    pub messages: Vec<AgentMessage>,
    /// `true` if the last answer and the results of its calls are removed from the context. The session file keeps
    /// them.
    pub drops_answer: bool,
}

/// Decides about the work after a run. An engine calls its policies in order, after the agent's own policies
/// (retries, compactions), until one returns a run. No policy is called after a failure or an abort. Input that the
/// user sent during the run takes precedence, unless a hook stopped the answer.
pub trait PostRunPolicy: Send + Sync {
    /// Returns the run that follows `run`, if there is one. `sink` receives events that must directly follow the
    /// end of `run`. The state of the engine is locked: this must not block, and must not call the engine.
    fn after_run(&self, run: &RunSummary<'_>, sink: &dyn EventSink) -> Option<FollowUpRun>;

    /// Returns the run that follows an automatic compaction. Not called if a request is repeated after the
    /// compaction. The constraints of [`PostRunPolicy::after_run`] apply.
    fn after_compaction(&self, reason: &CompactionReason, sink: &dyn EventSink) -> Option<FollowUpRun> {
        let _ = (reason, sink);
        None
    }
}
