//! Changes of session with a remote agent: the remote agent changes the session, and the engine adopts the result.

use std::path::Path;
use std::sync::Arc;

use agentese::types::AgentMessage;

use super::event_loop::append_reported_input;
use crate::engine::shared::RemoteState;
use crate::engine::state::EngineState;
use crate::engine::{Engine, Event, RemoteError, RemoteSession, Shared, input_queues};
use crate::session::{Body, Entry, ForkError, Session};

/// Name of the source in an error event. The event is emitted if the remote agent rejected a request for which the
/// client's dialect has no error response.
const ERROR_SOURCE: &str = "agent";

/// Reason for rejecting a return to an entry.
const ONLY_BEFORE: &str = "the agent can only return to a position before a user message";

impl Engine {
    pub(in crate::engine) async fn new_remote_session(
        &self,
        remote: &RemoteState,
        parent: Option<String>,
    ) -> bool {
        let done = self.adopt_remote_session(remote, parent, None, remote.agent.new_session()).await;
        done.unwrap_or_else(|error| {
            let event = Event::ExtensionFailed { extension: ERROR_SOURCE, event: "session", error: &error };
            self.shared.sink.push(event);
            false
        })
    }

    pub(in crate::engine) async fn switch_remote_session(
        &self,
        remote: &RemoteState,
        path: &Path,
    ) -> Result<bool, RemoteError> {
        self.adopt_remote_session(remote, None, None, remote.agent.switch_session(path)).await
    }

    /// Requests a fork that ends before a message of the user from the remote agent. Returns the text of the
    /// message, and `false` if the fork was cancelled.
    pub(in crate::engine) async fn fork_remote(
        &self,
        remote: &RemoteState,
        entry: &str,
    ) -> Result<(String, bool), ForkError> {
        let points = self.fork_messages();
        let found = points.iter().enumerate().find(|(_, (id, _))| id.as_str() == entry);
        let Some((number, (_, text))) = found else { return Err(ForkError::Unknown) };
        // The current work is stopped first in any case: some agents continue it in the fork, and some reject the fork.
        drop(self.abort_and_lock().await);
        let done =
            self.adopt_remote_session(remote, None, Some(entry), remote.agent.fork(number, text)).await;
        Ok((text.clone(), done.map_err(ForkError::Remote)?))
    }

    /// Requests a return to an entry from the remote agent, which forks before the message of the user that follows
    /// the entry. Fails if the entry is followed by anything else, because the remote agent would then keep too
    /// much.
    pub(in crate::engine) async fn go_to_remote(
        &self,
        remote: &RemoteState,
        entry: &str,
    ) -> Result<bool, ForkError> {
        let point = {
            let state = self.shared.state();
            let entries = state.session.path();
            let Some(at) = entries.iter().position(|one| one.id().as_str() == entry) else {
                return Err(ForkError::Unknown);
            };
            let Some(next) = entries[at + 1..].iter().find(|one| is_conversation_entry(one)) else {
                return Ok(true);
            };
            let mut points = state.session.fork_messages().into_iter().enumerate();
            points.find(|(_, (id, _))| id == next.id())
        };
        let Some((number, (id, text))) = point else {
            return Err(ForkError::Remote(ONLY_BEFORE.to_owned()));
        };
        drop(self.abort_and_lock().await);
        let forked = self
            .adopt_remote_session(remote, None, Some(id.as_str()), remote.agent.fork(number, &text))
            .await;
        forked.map_err(ForkError::Remote)
    }

    /// Awaits `request`, which replaces the conversation of the remote agent, and adopts the new messages. If these
    /// are not available, uses the messages before `entry`. Returns `false` if the remote side cancelled the
    /// request.
    async fn adopt_remote_session(
        &self,
        remote: &RemoteState,
        parent: Option<String>,
        entry: Option<&str>,
        request: impl Future<Output = Result<bool, RemoteError>>,
    ) -> Result<bool, RemoteError> {
        if !request.await? {
            return Ok(false);
        }
        // Earlier reported messages belong to the previous session.
        append_reported_input(&self.shared);
        let remote_session = remote.agent.session().await;
        let messages = remote.agent.history().await?;
        let mut state = self.abort_and_lock().await;
        self.shared.adopt_session_settings(&mut state, &remote_session);
        let kept = entry.and_then(|entry| state.session.fork(entry, None).ok()).map(|(kept, _)| kept);
        // The kept messages keep their entries if the remote agent has the same messages.
        let is_same =
            |kept: &Session| messages.as_ref().is_none_or(|messages| have_same_messages(kept, messages));
        let (mut session, messages) = match kept.filter(is_same) {
            Some(kept) => (kept, None),
            None => (self.shared.options.fresh_session(parent), messages),
        };
        session.record_thinking_level(state.thinking);
        messages.into_iter().flatten().for_each(|message| drop(session.append(Arc::new(message))));
        if let Some(name) = &remote_session.name {
            // An empty name counts as no name.
            let _ = session.rename(name);
        }
        session.set_external(remote_session.location);
        drop(state.replace_session(session));
        Ok(true)
    }
}

impl Shared {
    /// Adopts the model and the thinking level of the session that the remote agent has opened.
    fn adopt_session_settings(&self, state: &mut EngineState, remote_session: &RemoteSession) {
        let model = remote_session.model.as_ref();
        let model = model.and_then(|(provider, id)| self.options.catalog.get_available(provider, id));
        if let Some(model) = model {
            state.model = Some(model.clone());
        }
        if let Some(level) = remote_session.thinking {
            state.thinking = level;
        }
    }
}

/// Returns `true` if the session has the same conversation: messages of the same kinds in the same order, and the
/// same texts of the user.
fn have_same_messages(session: &Session, messages: &[AgentMessage]) -> bool {
    let is_like = |(one, other): (&Arc<AgentMessage>, &AgentMessage)| match (&**one, other) {
        (AgentMessage::User(_), AgentMessage::User(_)) => {
            input_queues::text(one) == input_queues::text(other)
        }
        (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
    };
    session.message_count() == messages.len() && session.messages().iter().zip(messages).all(is_like)
}

/// Returns `true` if an entry is a part of the conversation, and not a setting or a name.
fn is_conversation_entry(entry: &Entry) -> bool {
    use Body::{BranchSummary, Compaction, CustomMessage, Message};
    matches!(entry.body(), Message(_) | Compaction(_) | BranchSummary(_) | CustomMessage { .. })
}
