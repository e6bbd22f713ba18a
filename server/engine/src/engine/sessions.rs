//! Moving between sessions.

use std::path::Path;
use std::sync::MutexGuard;

use agentese::types::Model;

use super::Hooks as _;
use super::state::{Phase, State};
use super::{Branching, Engine, Options, Selection, Switch};
use crate::session::{EntryId, ForkError, OpenError, Session, Start};

impl Engine {
    /// Starts a fresh session. `parent` is the session that it comes from, in the words of whoever
    /// says so. What is going on is aborted first, with its closing events; the queues are emptied.
    /// The modes, the model and, where the agent is so, commands that are running stay.
    /// False where a hook stopped it; nothing has changed then.
    pub async fn new_session(&self, parent: Option<String>) -> bool {
        if let Some(led) = &self.shared.led {
            return self.new_session_there(led, parent).await;
        }
        let hooks = &self.shared.options.hooks;
        if !hooks.before_switch(Switch::New).await {
            return false;
        }
        let (previous, left) = {
            let mut state = self.idle().await;
            let previous = state.session.file().map(Path::to_owned);
            let mut session = self.shared.options.fresh_session(parent);
            session.thinking_changed(state.thinking);
            (previous, self.move_to(&mut state, session))
        };
        self.shared.leave(left).await;
        hooks.switched(Switch::New, previous.as_deref()).await;
        true
    }

    /// Goes on with the session of a file. What is going on is aborted first; the queues are emptied.
    /// The model and the level that the session names are restored, where the model is there. A file
    /// that is no session, or that is not there, is refused and changes nothing.
    /// False where a hook stopped it; nothing has changed then.
    pub async fn switch_session(&self, path: &Path) -> Result<bool, OpenError> {
        if let Some(led) = &self.shared.led {
            return self.switch_session_there(led, path).await.map_err(OpenError::Elsewhere);
        }
        let hooks = &self.shared.options.hooks;
        if !hooks.before_switch(Switch::Resume(path)).await {
            return Ok(false);
        }
        let (previous, used) = {
            let state = self.shared.state();
            (state.session.file().map(Path::to_owned), state.model.clone())
        };
        let restored = self.open(path).await?;
        hooks.switched(Switch::Resume(path), previous.as_deref()).await;
        if let Some(model) = restored {
            self.shared.selected(&model, used.as_ref(), Selection::Restored);
        }
        Ok(true)
    }

    /// Gives the model that is in use then.
    async fn open(&self, path: &Path) -> Result<Option<Model>, OpenError> {
        let is_open = self.shared.state().session.is_at(path);
        if blocking(is_open).await {
            let mut state = self.idle().await;
            state.forget_what_waits();
            state.session.reload();
            let restored = state.session.restored();
            self.shared.restore(&mut state, restored);
            return Ok(state.model.clone());
        }
        // Opening comes first: a refusal disturbs nothing.
        let (path, start) = (path.to_owned(), self.shared.options.start());
        let session = blocking(move || Session::open(&path, start)).await?;
        let (model, left) = {
            let mut state = self.idle().await;
            let restored = session.restored();
            let left = self.move_to(&mut state, session);
            self.shared.restore(&mut state, restored);
            (state.model.clone(), left)
        };
        self.shared.leave(left).await;
        Ok(model)
    }

    /// Makes a fork that ends before one of the user's messages, and goes on with it; gives the text
    /// of that message. What is going on is aborted first, or goes along, as the customs have it; the queues are emptied.
    /// The model and the level stay as they are.
    /// False where a hook stopped it; nothing has changed then.
    pub async fn fork(&self, entry: &str) -> Result<(String, bool), ForkError> {
        if let Some(led) = &self.shared.led {
            return self.fork_there(led, entry).await;
        }
        // An unknown entry disturbs nothing.
        let said = self.fork_messages().into_iter().find(|(id, _)| id.as_str() == entry);
        let Some((_, said)) = said else { return Err(ForkError::Unknown) };
        let hooks = &self.shared.options.hooks;
        if !hooks.before_fork(entry).await {
            return Ok((said, false));
        }
        let (text, previous, left) = {
            let mut state = self.ready_to_branch().await;
            let previous = state.session.file().map(Path::to_owned);
            let (mut session, text) = state.session.fork(entry, self.shared.options.store.as_ref())?;
            state.write_settings(&mut session);
            (text, previous, self.move_to(&mut state, session))
        };
        self.shared.leave(left).await;
        self.shared.written().await;
        hooks.forked(previous.as_deref()).await;
        Ok((text, true))
    }

    /// Makes a copy of the session that ends where it stands, and goes on with it. What is going on is aborted first; the
    /// queues are emptied. False where a hook stopped it; nothing has changed then. Fails where nothing was said.
    pub async fn copy(&self) -> Result<bool, ForkError> {
        if self.is_led() {
            return Err(ForkError::Elsewhere("the agent behind this one cannot copy its session".to_owned()));
        }
        let leaf = {
            let state = self.shared.state();
            let said = state.session.message_count() > 0;
            state
                .session
                .leaf()
                .filter(|_| said)
                .map(|leaf| leaf.id().clone())
                .ok_or(ForkError::NothingSaid)?
        };
        let hooks = &self.shared.options.hooks;
        if !hooks.before_fork(leaf.as_str()).await {
            return Ok(false);
        }
        let previous = {
            let mut state = self.idle().await;
            let previous = state.session.file().map(Path::to_owned);
            let mut session = state.session.copy(self.shared.options.store.as_ref());
            state.write_settings(&mut session);
            self.move_to(&mut state, session);
            previous
        };
        hooks.forked(previous.as_deref()).await;
        Ok(true)
    }

    /// Goes back to an entry of the session, in place: what is said next follows it. What is going on is aborted first;
    /// the queues are emptied. Fails for an unknown entry; false where a hook stopped it. Nothing has changed then.
    pub async fn go_to(&self, entry: &str) -> Result<bool, ForkError> {
        if self.shared.state().session.entry(entry).is_none() {
            return Err(ForkError::Unknown);
        }
        if let Some(led) = &self.shared.led {
            return self.go_there(led, entry).await;
        }
        let hooks = &self.shared.options.hooks;
        if !hooks.before_fork(entry).await {
            return Ok(false);
        }
        let file = {
            let mut state = self.idle().await;
            state.forget_what_waits();
            state.session.go_to(entry)?;
            state.session.file().map(Path::to_owned)
        };
        hooks.forked(file.as_deref()).await;
        Ok(true)
    }

    /// The messages of the user from which a fork can be made.
    pub fn fork_messages(&self) -> Vec<(EntryId, String)> {
        self.shared.state().session.fork_messages()
    }

    /// The state in which a fork can take the place of the session.
    async fn ready_to_branch(&self) -> MutexGuard<'_, State> {
        if self.shared.options.customs.branching == Branching::TakesItAlong {
            let state = self.shared.state();
            // A summary that is being made is one of the session that is left.
            if state.phase() != Some(Phase::Compacting) {
                return state;
            }
        }
        self.idle().await
    }

    /// Aborts what is going on, and gives the state of the idle engine.
    pub(super) async fn idle(&self) -> MutexGuard<'_, State> {
        loop {
            self.abort().await;
            let state = self.shared.state();
            // A prompt of somebody else may have come in between.
            if state.work.is_none() {
                return state;
            }
        }
    }
}

impl Engine {
    /// Goes on with another session; gives the one before.
    fn move_to(&self, state: &mut State, session: Session) -> Session {
        if self.shared.options.customs.commands_end_with_session {
            std::mem::take(&mut state.bash).cancel();
        }
        state.move_to(session)
    }
}

impl State {
    /// Goes on with another session; gives the one before, to which what waits belongs.
    pub(super) fn move_to(&mut self, session: Session) -> Session {
        self.forget_what_waits();
        self.told_of_storage = false;
        std::mem::replace(&mut self.session, session)
    }

    /// Has a session say what is set now, where it says something else: whoever opens it later goes on
    /// with that.
    fn write_settings(&self, session: &mut Session) {
        let said = session.restored();
        if let (Some((provider, id)), Some(model)) = (&said.model, &self.model)
            && (*provider != model.provider || *id != model.id)
        {
            session.model_changed(&model.provider, &model.id);
        }
        if said.thinking != Some(self.thinking) {
            session.thinking_changed(self.thinking);
        }
    }

    /// Empties the queues. Commands that ended during a run belong to the session that is left.
    fn forget_what_waits(&mut self) {
        self.queues.clear();
        self.keep_deferred();
    }
}

impl Options {
    /// What a session begins with.
    pub(super) fn start(&self) -> Start {
        let start = Start::new(&self.context.cwd, self.clock.clone(), self.ids.clone()).beside();
        start.needing_directory(self.customs.needs_directory)
    }

    /// A session in which nothing was said.
    pub(super) fn fresh_session(&self, parent: Option<String>) -> Session {
        let start = self.start().parent(parent);
        match &self.store {
            Some(store) => Session::create(store, start),
            None => Session::in_memory(start),
        }
    }
}

/// Work that may block, on a thread for it.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}
