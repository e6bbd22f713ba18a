//! Actions that have not started: the requests about them, and their open dialogs.

use std::sync::{Mutex, PoisonError};

use agentese::types::{InputHook, SessionBeforeCompactHook, SessionBeforeForkHook, SessionBeforeSwitchHook};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::wire::type_of;

/// State of the actions that have not started.
pub(super) struct Before {
    /// Cancelled when pending actions are cancelled.
    pub stop: Mutex<CancellationToken>,
    /// Number of open dialogs in such requests.
    pub dialogs: watch::Sender<usize>,
    /// Number of prompts on their way to the engine.
    pub coming: watch::Sender<usize>,
}

impl Default for Before {
    fn default() -> Self {
        Self { stop: Mutex::default(), dialogs: watch::Sender::new(0), coming: watch::Sender::new(0) }
    }
}

/// Guard of an open dialog.
pub(super) struct OpenBefore(watch::Sender<usize>);

impl Drop for OpenBefore {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

/// Guard of a prompt on its way to the engine.
pub struct Coming(pub(super) watch::Sender<usize>);

impl Drop for Coming {
    fn drop(&mut self) {
        self.0.send_modify(|coming| *coming -= 1);
    }
}

impl Before {
    /// Returns true if the event precedes an action that has not started.
    pub fn is_one(event: &str) -> bool {
        [
            type_of::<InputHook>(),
            type_of::<SessionBeforeSwitchHook>(),
            type_of::<SessionBeforeForkHook>(),
            type_of::<SessionBeforeCompactHook>(),
        ]
        .contains(&event)
    }

    /// Records an open dialog in such a request.
    pub fn dialog(&self) -> OpenBefore {
        self.dialogs.send_modify(|open| *open += 1);
        OpenBefore(self.dialogs.clone())
    }

    /// Awaits a request; returns `None` if the pending action is cancelled first.
    pub async fn unless_given_up<T>(&self, asked: impl Future<Output = T>) -> Option<T> {
        let stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner).clone();
        tokio::select! {
            biased;
            () = stop.cancelled() => None,
            said = asked => Some(said),
        }
    }
}
