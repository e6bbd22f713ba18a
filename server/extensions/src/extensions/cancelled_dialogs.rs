//! Dialogs that an extension may withdraw, even before they have arrived.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// Maximum number of withdrawn dialogs that have not arrived yet.
const MAX_EARLY: usize = 64;

/// The open dialogs, and dialogs withdrawn before their arrival.
#[derive(Default)]
pub(super) struct CancelledDialogs {
    state: Mutex<DialogState>,
}

#[derive(Default)]
struct DialogState {
    open: HashMap<String, CancellationToken>,
    early_withdrawals: VecDeque<String>,
}

impl CancelledDialogs {
    fn state(&self) -> MutexGuard<'_, DialogState> {
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
                state.early_withdrawals.push_back(id.to_owned());
                if state.early_withdrawals.len() > MAX_EARLY {
                    state.early_withdrawals.pop_front();
                }
            }
        }
    }

    /// Returns true if an arriving dialog was withdrawn before.
    pub fn take_withdrawn(&self, id: &str) -> bool {
        let mut state = self.state();
        let known = state.early_withdrawals.iter().position(|early| early == id);
        known.is_some_and(|at| state.early_withdrawals.remove(at).is_some())
    }
}
