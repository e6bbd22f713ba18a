//! Requests that change to another session or another part of a session.

use std::path::Path;
use std::sync::MutexGuard;

use agentese::types::Model;

use crate::engine::Hooks as _;
use crate::engine::state::{EngineState, WorkPhase};
use crate::engine::{BranchEffect, Engine, Options, SelectionReason, SessionSwitch};
use crate::session::{EntryId, ForkError, OpenError, Session, SessionOptions};

impl Engine {
    /// Starts a fresh session. `parent` is the session from which it originates, as the client names it. Current
    /// work is aborted first, with its closing events, and the queues are emptied. The modes and the model stay.
    /// Commands of the user continue to run, unless the profile ends them. Returns `false` if a hook cancelled the
    /// change; the state is then unchanged.
    pub async fn new_session(&self, parent: Option<String>) -> bool {
        if let Some(remote) = &self.shared.remote {
            return self.new_remote_session(remote, parent).await;
        }
        let hooks = &self.shared.options.hooks;
        if !hooks.before_switch(SessionSwitch::New).await {
            return false;
        }
        let (previous, replaced) = {
            let mut state = self.abort_and_lock().await;
            let previous = state.session.file().map(Path::to_owned);
            let mut session = self.shared.options.fresh_session(parent);
            session.record_thinking_level(state.thinking);
            (previous, self.replace_session(&mut state, session))
        };
        self.shared.close_session(replaced).await;
        hooks.switched(SessionSwitch::New, previous.as_deref()).await;
        true
    }

    /// Opens the session of a file. Current work is aborted first, and the queues are emptied. The model and the
    /// level that the session names are restored, if the model is available. Fails if the file does not exist or is
    /// not a session. Returns `false` if a hook cancelled the change. In both cases, the state is unchanged.
    pub async fn switch_session(&self, path: &Path) -> Result<bool, OpenError> {
        if let Some(remote) = &self.shared.remote {
            return self.switch_remote_session(remote, path).await.map_err(OpenError::Remote);
        }
        let hooks = &self.shared.options.hooks;
        if !hooks.before_switch(SessionSwitch::Resume(path)).await {
            return Ok(false);
        }
        let (previous, used) = {
            let state = self.shared.state();
            (state.session.file().map(Path::to_owned), state.model.clone())
        };
        let restored = self.open_session(path).await?;
        hooks.switched(SessionSwitch::Resume(path), previous.as_deref()).await;
        if let Some(model) = restored {
            self.shared.notify_model_selected(&model, used.as_ref(), SelectionReason::Restored);
        }
        Ok(true)
    }

    /// Opens the session of a file and returns the model in use.
    async fn open_session(&self, path: &Path) -> Result<Option<Model>, OpenError> {
        let is_open = self.shared.state().session.is_at(path);
        if blocking(is_open).await {
            let mut state = self.abort_and_lock().await;
            state.clear_pending();
            state.session.reload();
            let restored = state.session.branch_settings();
            self.shared.restore(&mut state, restored);
            return Ok(state.model.clone());
        }
        // Opening comes first, because a failure must change nothing.
        let (path, start) = (path.to_owned(), self.shared.options.start());
        let session = blocking(move || Session::open(&path, start)).await?;
        let (model, replaced) = {
            let mut state = self.abort_and_lock().await;
            let restored = session.branch_settings();
            let replaced = self.replace_session(&mut state, session);
            self.shared.restore(&mut state, restored);
            (state.model.clone(), replaced)
        };
        self.shared.close_session(replaced).await;
        Ok(model)
    }

    /// Opens a fork that ends before a message of the user. The current work is aborted first, or continues in the
    /// fork, as the profile defines. The queues are emptied. The model and the level stay unchanged. Returns the
    /// text of the message, and `false` if a hook cancelled the fork; the state is then unchanged.
    pub async fn fork(&self, entry: &str) -> Result<(String, bool), ForkError> {
        if let Some(remote) = &self.shared.remote {
            return self.fork_remote(remote, entry).await;
        }
        // An unknown entry must change nothing.
        let message_text = self.fork_messages().into_iter().find(|(id, _)| id.as_str() == entry);
        let Some((_, message_text)) = message_text else { return Err(ForkError::Unknown) };
        let hooks = &self.shared.options.hooks;
        if !hooks.before_fork(entry).await {
            return Ok((message_text, false));
        }
        let (text, previous, replaced) = {
            let mut state = self.lock_for_branch().await;
            let previous = state.session.file().map(Path::to_owned);
            let (mut session, text) = state.session.fork(entry, self.shared.options.store.as_ref())?;
            state.write_settings(&mut session);
            (text, previous, self.replace_session(&mut state, session))
        };
        self.shared.close_session(replaced).await;
        self.shared.wait_until_written().await;
        hooks.forked(previous.as_deref()).await;
        Ok((text, true))
    }

    /// Opens a copy of the session up to its current entry. Current work is aborted first, and the queues are emptied.
    /// Returns `false` if a hook cancelled the copy; the state is then unchanged. Fails if the session has no messages,
    /// and with a remote agent.
    pub async fn copy(&self) -> Result<bool, ForkError> {
        if self.is_remote() {
            return Err(ForkError::Remote("the remote agent cannot copy its session".to_owned()));
        }
        let leaf = {
            let state = self.shared.state();
            let has_messages = state.session.message_count() > 0;
            state
                .session
                .leaf()
                .filter(|_| has_messages)
                .map(|leaf| leaf.id().clone())
                .ok_or(ForkError::NoMessages)?
        };
        let hooks = &self.shared.options.hooks;
        if !hooks.before_fork(leaf.as_str()).await {
            return Ok(false);
        }
        let previous = {
            let mut state = self.abort_and_lock().await;
            let previous = state.session.file().map(Path::to_owned);
            let mut session = state.session.copy(self.shared.options.store.as_ref());
            state.write_settings(&mut session);
            self.replace_session(&mut state, session);
            previous
        };
        hooks.forked(previous.as_deref()).await;
        Ok(true)
    }

    /// Returns to an entry in the same session: later messages follow that entry. Current work is aborted first, and
    /// the queues are emptied. Fails if the entry is unknown. Returns `false` if a hook cancelled the return. In both
    /// cases the state is unchanged.
    pub async fn go_to(&self, entry: &str) -> Result<bool, ForkError> {
        if self.shared.state().session.entry(entry).is_none() {
            return Err(ForkError::Unknown);
        }
        if let Some(remote) = &self.shared.remote {
            return self.go_to_remote(remote, entry).await;
        }
        let hooks = &self.shared.options.hooks;
        if !hooks.before_fork(entry).await {
            return Ok(false);
        }
        let file = {
            let mut state = self.abort_and_lock().await;
            state.clear_pending();
            state.session.go_to(entry)?;
            state.session.file().map(Path::to_owned)
        };
        hooks.forked(file.as_deref()).await;
        Ok(true)
    }

    /// Returns the messages of the user before which a fork can end.
    pub fn fork_messages(&self) -> Vec<(EntryId, String)> {
        self.shared.state().session.fork_messages()
    }

    /// Returns the locked state, ready for a fork to replace the session.
    async fn lock_for_branch(&self) -> MutexGuard<'_, EngineState> {
        if self.shared.options.profile.sessions.branch_effect == BranchEffect::MovesRun {
            let state = self.shared.state();
            // A summary in progress belongs to the previous session.
            if state.phase() != Some(WorkPhase::Compacting) {
                return state;
            }
        }
        self.abort_and_lock().await
    }

    /// Aborts the current work, and returns the locked state of the idle engine.
    pub(in crate::engine) async fn abort_and_lock(&self) -> MutexGuard<'_, EngineState> {
        loop {
            self.abort().await;
            let state = self.shared.state();
            // Another prompt may have started meanwhile.
            if state.work.is_none() {
                return state;
            }
        }
    }
}

impl Engine {
    /// Replaces the session, and returns the previous one.
    fn replace_session(&self, state: &mut EngineState, session: Session) -> Session {
        if self.shared.options.profile.shell.ends_with_session {
            std::mem::take(&mut state.bash_abort).cancel();
        }
        state.replace_session(session)
    }
}

impl EngineState {
    /// Replaces the session, and returns the previous one. The outputs of commands that ended during a run are
    /// added to the previous session first.
    pub(in crate::engine) fn replace_session(&mut self, session: Session) -> Session {
        self.clear_pending();
        self.storage_error_reported = false;
        std::mem::replace(&mut self.session, session)
    }

    /// Records the current model and thinking level in a session that has recorded other values, so that
    /// opening the session later restores the current ones.
    fn write_settings(&self, session: &mut Session) {
        let settings = session.branch_settings();
        if let (Some((provider, id)), Some(model)) = (&settings.model, &self.model)
            && (*provider != model.provider || *id != model.id)
        {
            session.record_model(&model.provider, &model.id);
        }
        if settings.thinking != Some(self.thinking) {
            session.record_thinking_level(self.thinking);
        }
    }

    /// Empties the queues. Adds the outputs of commands that ended during a run to the current session.
    fn clear_pending(&mut self) {
        self.queues.clear();
        self.append_deferred();
    }
}

impl Options {
    /// Returns the options with which the engine creates sessions.
    pub(in crate::engine) fn start(&self) -> SessionOptions {
        let start = SessionOptions::new(&self.context.cwd, self.clock.clone(), self.ids.clone())
            .write_in_background();
        start.require_directory(self.profile.sessions.requires_directory)
    }

    /// Creates a session without messages.
    pub(in crate::engine) fn fresh_session(&self, parent: Option<String>) -> Session {
        let start = self.start().parent(parent);
        match &self.store {
            Some(store) => Session::create(store, start),
            None => Session::in_memory(start),
        }
    }
}

/// Runs blocking work on a blocking thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}
