//! Actions that have not started: the requests about them, and their open dialogs.

use std::sync::{Mutex, PoisonError};

use agentese::types::{InputHook, SessionBeforeCompactHook, SessionBeforeForkHook, SessionBeforeSwitchHook};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::wire::type_of;

/// State of the actions that have not started.
pub(super) struct PreHooks {
    /// Cancelled when pending actions are cancelled.
    pub cancel: Mutex<CancellationToken>,
    /// Number of open dialogs in such requests.
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

/// Guard of an open dialog.
pub(super) struct PreHookDialogGuard(watch::Sender<usize>);

impl Drop for PreHookDialogGuard {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

/// Guard of a prompt on its way to the engine.
pub struct PendingPromptGuard(pub(super) watch::Sender<usize>);

impl Drop for PendingPromptGuard {
    fn drop(&mut self) {
        self.0.send_modify(|coming| *coming -= 1);
    }
}

impl PreHooks {
    /// Returns true if the event precedes an action that has not started.
    pub fn is_pre_hook(event: &str) -> bool {
        [
            type_of::<InputHook>(),
            type_of::<SessionBeforeSwitchHook>(),
            type_of::<SessionBeforeForkHook>(),
            type_of::<SessionBeforeCompactHook>(),
        ]
        .contains(&event)
    }

    /// Records an open dialog in such a request.
    pub fn open_dialog(&self) -> PreHookDialogGuard {
        self.open_dialogs.send_modify(|open| *open += 1);
        PreHookDialogGuard(self.open_dialogs.clone())
    }

    /// Awaits a request; returns `None` if the pending action is cancelled first.
    pub async fn unless_cancelled<T>(&self, request: impl Future<Output = T>) -> Option<T> {
        let stop = self.cancel.lock().unwrap_or_else(PoisonError::into_inner).clone();
        tokio::select! {
            biased;
            () = stop.cancelled() => None,
            result = request => Some(result),
        }
    }
}
