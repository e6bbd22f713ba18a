//! What may follow a run besides retries and compactions: reminders, rules, continuations.

use std::sync::Arc;

use agentese::types::{AgentMessage, AssistantMessage, CompactionReason};

use super::EventSink;
use crate::session::Session;

/// A run that is over.
#[derive(Clone, Copy)]
pub struct RunOver<'a> {
    /// Its last answer; none where it had none.
    pub answer: Option<&'a AssistantMessage>,
    /// All its messages.
    pub messages: &'a [Arc<AgentMessage>],
    /// A hook stopped the answer ([`super::Hooks::stops`]).
    pub stopped: bool,
    /// The conversation.
    pub session: &'a Session,
}

/// Another run, which nobody asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GoOn {
    /// Messages that join the conversation before it, of which nobody is told.
    pub unseen: Vec<AgentMessage>,
    /// The messages that it begins with.
    pub messages: Vec<AgentMessage>,
    /// The last answer leaves the context with the results of its calls; the session's file keeps them.
    pub forgets_answer: bool,
}

/// Decides what follows. The policies of an engine stand in one list, the agent's own (retries, compactions) before these;
/// the first that wants something has it. They are not asked after a failure or an abort, and what the user has said meanwhile comes
/// first, unless a hook has stopped the answer.
pub trait Afterwards: Send + Sync {
    /// What follows a run. Events that are to stand right behind its end go to `sink`. The state of the engine is locked:
    /// this must not block, and must not call the engine.
    fn after(&self, run: &RunOver<'_>, sink: &dyn EventSink) -> Option<GoOn>;

    /// What follows a compaction that the agent has made on its own, and after which nothing is asked for again. The same
    /// is true as for [`Afterwards::after`].
    fn after_compaction(&self, reason: &CompactionReason, sink: &dyn EventSink) -> Option<GoOn> {
        let _ = (reason, sink);
        None
    }
}
