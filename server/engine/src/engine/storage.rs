//! Notices about a session that does not reach its file.

use std::time::Duration;

use super::state::State;
use super::{Event, Shared};
use crate::session::Session;

/// Time limit for the disk. A longer wait is a storage error, and the work continues.
const PATIENCE: Duration = Duration::from_secs(5);

const NO_ANSWER: &str = "the disk does not answer";

impl Shared {
    /// Reads the session. If no work is in progress, messages decoded for this are dropped afterwards.
    pub(super) fn look<T>(&self, look: impl FnOnce(&Session) -> T) -> T {
        let mut state = self.state();
        let seen = look(&state.session);
        if state.work.is_none() {
            state.session.forget_decoded();
        }
        seen
    }

    /// Waits until the conversation so far has been handed to the system, or the write has failed. If the disk does not
    /// respond in time, emits a storage error; later calls do not wait.
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
                // Another session may have replaced it meanwhile.
                if state.session.id() == id {
                    state.session.note_late();
                    self.tell_of_storage(&mut state);
                }
            }
        }
    }

    /// Closes a previous session, and waits until its file can be opened again, within the time limit for the disk.
    /// Records the reason if its file is incomplete.
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

    /// Waits until the conversation is safely on the disk, within the time limit for the disk.
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

    /// Emits a storage error if a part of the conversation is missing from the session file, once. Emits one event when
    /// the file is complete again.
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
    /// Returns the reason why data of this session or of a previous one is in no file.
    pub(super) fn unsaved(&self) -> Option<String> {
        self.lost.clone().or_else(|| self.session.unsaved().map(|trouble| trouble.to_string()))
    }
}
