//! Actions of the user that have not started, with the requests to extensions about them and the open dialogs of these
//! requests.

use std::sync::{Mutex, PoisonError};

use agentese::types::{InputHook, SessionBeforeCompactHook, SessionBeforeForkHook, SessionBeforeSwitchHook};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::wire::type_of;

/// State of the actions that have not started.
pub(super) struct PreHooks {
    /// Cancelled to cancel the pending actions, and then replaced.
    pub cancel: Mutex<CancellationToken>,
    /// Number of open dialogs in requests about pending actions.
    pub open_dialogs: watch::Sender<usize>,
    /// Number of prompts on their way to the engine.
    pub pending_prompts: watch::Sender<usize>,
}

impl Default for PreHooks {
    fn default() -> Self {
        Self {
            cancel: Mutex::default(),
            open_dialogs: watch::Sender::new(0),
            pending_prompts: watch::Sender::new(0),
        }
    }
}

/// Counts a dialog as open until it is dropped.
pub(super) struct PreHookDialogGuard(watch::Sender<usize>);

impl Drop for PreHookDialogGuard {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

/// Counts a prompt as pending until it is dropped.
pub struct PendingPromptGuard(pub(super) watch::Sender<usize>);

impl Drop for PendingPromptGuard {
    fn drop(&mut self) {
        self.0.send_modify(|coming| *coming -= 1);
    }
}

impl PreHooks {
    /// Returns true if extensions receive the event before an action of the user starts.
    pub fn is_pre_hook(event: &str) -> bool {
        [
            type_of::<InputHook>(),
            type_of::<SessionBeforeSwitchHook>(),
            type_of::<SessionBeforeForkHook>(),
            type_of::<SessionBeforeCompactHook>(),
        ]
        .contains(&event)
    }

    /// Counts a dialog in a request about a pending action as open, until the guard is dropped.
    pub fn open_dialog(&self) -> PreHookDialogGuard {
        self.open_dialogs.send_modify(|open| *open += 1);
        PreHookDialogGuard(self.open_dialogs.clone())
    }

    /// Waits for `request`. Returns `None` if the pending actions are cancelled first.
    pub async fn unless_cancelled<T>(&self, request: impl Future<Output = T>) -> Option<T> {
        let stop = self.cancel.lock().unwrap_or_else(PoisonError::into_inner).clone();
        tokio::select! {
            biased;
            () = stop.cancelled() => None,
            result = request => Some(result),
        }
    }
}
