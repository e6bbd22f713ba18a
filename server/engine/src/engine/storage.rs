//! What is said where the session does not reach its file.

use std::time::Duration;

use super::state::State;
use super::{Event, Shared};
use crate::session::Session;

/// How long the disk is waited for. Longer counts as trouble, and what is going on goes on.
const PATIENCE: Duration = Duration::from_secs(5);

const NO_ANSWER: &str = "the disk does not answer";

impl Shared {
    /// Looks at the session. What that decodes is not kept while nothing goes on.
    pub(super) fn look<T>(&self, look: impl FnOnce(&Session) -> T) -> T {
        let mut state = self.state();
        let seen = look(&state.session);
        if state.work.is_none() {
            state.session.forget_decoded();
        }
        seen
    }

    /// Waits until what was said so far is handed to the system, or could not be. A disk that does not answer is waited
    /// for once, and not for long; it is told of then.
    pub(super) async fn written(&self) {
        let (written, id) = {
            let state = self.state();
            if state.session.is_late() || state.session.is_written() {
                return;
            }
            (state.session.written(), state.session.id().to_owned())
        };
        tokio::select! {
            biased;
            () = written => {}
            () = self.options.clock.sleep(PATIENCE) => {
                let mut state = self.state();
                // Another one may have taken its place meanwhile.
                if state.session.id() == id {
                    state.session.note_late();
                    self.tell_of_storage(&mut state);
                }
            }
        }
    }

    /// Ends a session that was left, and waits until its file can be opened again; not for ever, where the disk does not
    /// answer. Takes down what its file lacks.
    pub(super) async fn leave(&self, session: Session) {
        let lost = tokio::select! {
            biased;
            trouble = session.close() => trouble.map(|trouble| trouble.to_string()),
            () = self.options.clock.sleep(PATIENCE) => Some(NO_ANSWER.to_owned()),
        };
        if let Some(lost) = lost {
            self.state().lost.get_or_insert(lost);
        }
    }

    /// Waits until what was said is safe on the disk; not for ever, where the disk does not answer.
    pub(super) async fn flush(&self) {
        let flushed = {
            let mut state = self.state();
            if state.work.is_none() {
                state.keep_deferred();
            }
            state.session.flush()
        };
        let mut timed_out = false;
        let result = tokio::select! {
            biased;
            result = flushed => result.map_err(|trouble| trouble.to_string()),
            () = self.options.clock.sleep(PATIENCE) => {
                timed_out = true;
                Err(NO_ANSWER.to_owned())
            }
        };
        let mut state = self.state();
        if timed_out {
            state.session.note_late();
        }
        self.tell_of_storage(&mut state);
        if let Err(trouble) = result
            && (timed_out || state.session.unsaved().is_some())
        {
            tracing::error!(trouble, "what was said is not on the disk");
            if timed_out {
                state.lost.get_or_insert(trouble);
                if state.closing {
                    state.session.abandon();
                }
            }
        }
        self.options.unsaved.set(state.unsaved());
    }

    /// Says that something that was said is not in the session's file, and why: once. Says once that all of it is
    /// there again.
    pub(super) fn tell_of_storage(&self, state: &mut State) {
        let trouble = state.session.unsaved().map(|trouble| trouble.to_string());
        if trouble.is_some() == state.told_of_storage {
            return;
        }
        state.told_of_storage = trouble.is_some();
        if let Some(trouble) = &trouble {
            tracing::error!(trouble, "the session is not kept");
        }
        self.sink.push(Event::Storage { trouble: trouble.as_deref() });
    }
}

impl State {
    /// Why something is in no file: of this session, or of one that was left.
    pub(super) fn unsaved(&self) -> Option<String> {
        self.lost.clone().or_else(|| self.session.unsaved().map(|trouble| trouble.to_string()))
    }
}
