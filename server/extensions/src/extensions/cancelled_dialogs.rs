//! Open dialogs of an extension, and the dialogs that it has withdrawn. A dialog can be withdrawn before it arrives.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// Maximum number of stored ids of dialogs that were withdrawn before they arrived.
const MAX_EARLY: usize = 64;

/// Open dialogs, and ids of dialogs that were withdrawn before they arrived.
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

    /// Records an open dialog. The returned token is cancelled if the extension withdraws the dialog.
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

    /// Returns true if a dialog that now arrives was already withdrawn. Forgets the withdrawal.
    pub fn take_withdrawn(&self, id: &str) -> bool {
        let mut state = self.state();
        let known = state.early_withdrawals.iter().position(|early| early == id);
        known.is_some_and(|at| state.early_withdrawals.remove(at).is_some())
    }
}
