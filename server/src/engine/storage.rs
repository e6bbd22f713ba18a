//! What is said where the session does not reach its file.

use std::sync::{Arc, Mutex, PoisonError};

use super::state::State;
use super::{Event, Shared};

/// Why something that was said is in no file, as of the last time when everything was to be brought to one. Whoever
/// has put the engine together keeps a clone.
#[derive(Debug, Clone, Default)]
pub struct Unsaved(Arc<Mutex<Option<String>>>);

impl Unsaved {
    /// The reason; none where everything is in its file.
    pub fn reason(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, reason: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = reason;
    }
}

impl Shared {
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
    /// Takes down that a session is left with something that its file lacks.
    pub(super) fn note_what_is_lost(&mut self) {
        if let Some(trouble) = self.session.unsaved() {
            self.lost.get_or_insert_with(|| trouble.to_string());
        }
        self.told_of_storage = false;
    }

    /// Why something is in no file: of this session, or of one that was left.
    pub(super) fn unsaved(&self) -> Option<String> {
        self.lost.clone().or_else(|| self.session.unsaved().map(|trouble| trouble.to_string()))
    }
}
