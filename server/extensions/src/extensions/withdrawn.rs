//! Dialogs that an extension may withdraw, even before they have arrived.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// Maximum number of withdrawn dialogs that have not arrived yet.
const EARLY: usize = 64;

/// The open dialogs, and dialogs withdrawn before their arrival.
#[derive(Default)]
pub(super) struct Withdrawn {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: HashMap<String, CancellationToken>,
    early: VecDeque<String>,
}

impl Withdrawn {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an open dialog; the returned token is cancelled when the dialog is withdrawn.
    pub fn open(&self, id: &str) -> CancellationToken {
        self.state().open.entry(id.to_owned()).or_default().clone()
    }

    /// Removes a closed dialog.
    pub fn close(&self, id: &str) {
        self.state().open.remove(id);
    }

    /// Withdraws a dialog.
    pub fn withdraw(&self, id: &str) {
        let mut state = self.state();
        match state.open.get(id) {
            Some(token) => token.cancel(),
            None => {
                state.early.push_back(id.to_owned());
                if state.early.len() > EARLY {
                    state.early.pop_front();
                }
            }
        }
    }

    /// Returns true if an arriving dialog was withdrawn before.
    pub fn take(&self, id: &str) -> bool {
        let mut state = self.state();
        let known = state.early.iter().position(|early| early == id);
        known.is_some_and(|at| state.early.remove(at).is_some())
    }
}
