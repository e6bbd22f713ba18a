//! Waits for the disk, and events about sessions that are not completely stored.

use std::time::Duration;

use super::state::EngineState;
use super::{Event, Shared};
use crate::session::Session;

/// Time limit for the disk. A longer wait is a storage error, and the work continues.
const DISK_TIMEOUT: Duration = Duration::from_secs(5);

const NO_DISK_RESPONSE: &str = "the disk does not respond";

impl Shared {
    /// Reads the session. If no work is in progress, drops the messages that were decoded for this.
    pub(super) fn read_session<T>(&self, look: impl FnOnce(&Session) -> T) -> T {
        let mut state = self.state();
        let seen = look(&state.session);
        if state.work.is_none() {
            state.session.drop_decoded();
        }
        seen
    }

    /// Waits until the conversation so far was passed to the operating system, or until writing has failed. If the
    /// disk does not respond in time, emits a storage error; later calls do not wait.
    pub(super) async fn wait_until_written(&self) {
        let (written, id) = {
            let state = self.state();
            if state.session.is_unresponsive() || state.session.is_written() {
                return;
            }
            (state.session.wait_written(), state.session.id().to_owned())
        };
        tokio::select! {
            biased;
            () = written => {}
            () = self.options.clock.sleep(DISK_TIMEOUT) => {
                let mut state = self.state();
                // Another session may have replaced it meanwhile.
                if state.session.id() == id {
                    state.session.mark_unresponsive();
                    self.emit_storage_status(&mut state);
                }
            }
        }
    }

    /// Closes a previous session and waits until its file can be opened again, up to the time limit for the disk.
    /// If the file is incomplete, records the reason.
    pub(super) async fn close_session(&self, session: Session) {
        let lost = tokio::select! {
            biased;
            error = session.close() => error.map(|error| error.to_string()),
            () = self.options.clock.sleep(DISK_TIMEOUT) => Some(NO_DISK_RESPONSE.to_owned()),
        };
        if let Some(lost) = lost {
            self.state().lost_reason.get_or_insert(lost);
        }
    }

    /// Waits until the conversation is safely on the disk, within the time limit for the disk.
    pub(super) async fn flush(&self) {
        let flushed = {
            let mut state = self.state();
            if state.work.is_none() {
                state.append_deferred();
            }
            state.session.flush()
        };
        let mut timed_out = false;
        let result = tokio::select! {
            biased;
            result = flushed => result.map_err(|error| error.to_string()),
            () = self.options.clock.sleep(DISK_TIMEOUT) => {
                timed_out = true;
                Err(NO_DISK_RESPONSE.to_owned())
            }
        };
        let mut state = self.state();
        if timed_out {
            state.session.mark_unresponsive();
        }
        self.emit_storage_status(&mut state);
        if let Err(error) = result
            && (timed_out || state.session.unsaved_error().is_some())
        {
            tracing::error!(error, "messages are not saved on the disk");
            if timed_out {
                state.lost_reason.get_or_insert(error);
                if state.closing {
                    state.session.abandon();
                }
            }
        }
        self.options.unsaved_state.set(state.unsaved());
    }

    /// Emits one storage error when a part of the conversation is missing from the session file. Emits one event
    /// when the file is complete again.
    pub(super) fn emit_storage_status(&self, state: &mut EngineState) {
        let error = state.session.unsaved_error().map(|error| error.to_string());
        if error.is_some() == state.storage_error_reported {
            return;
        }
        state.storage_error_reported = error.is_some();
        if let Some(error) = &error {
            tracing::error!(error, "the session is not saved");
        }
        self.sink.push(Event::StorageStatus { error: error.as_deref() });
    }
}

impl EngineState {
    /// Returns the reason why a part of this session or of a previous one was not stored.
    pub(super) fn unsaved(&self) -> Option<String> {
        self.lost_reason.clone().or_else(|| self.session.unsaved_error().map(|error| error.to_string()))
    }
}
