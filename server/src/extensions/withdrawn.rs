//! Questions of an extension that it may take back, also before they have arrived.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// How many questions can be taken back that have not arrived.
const EARLY: usize = 64;

/// The questions that are open, and those that were taken back too early.
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

    /// A question is open; what is given is cancelled when it is taken back.
    pub fn open(&self, id: &str) -> CancellationToken {
        self.state().open.entry(id.to_owned()).or_default().clone()
    }

    /// It is not open any more.
    pub fn close(&self, id: &str) {
        self.state().open.remove(id);
    }

    /// Takes a question back.
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

    /// Whether a question that arrives now was taken back before.
    pub fn take(&self, id: &str) -> bool {
        let mut state = self.state();
        let known = state.early.iter().position(|early| early == id);
        known.is_some_and(|at| state.early.remove(at).is_some())
    }
}
