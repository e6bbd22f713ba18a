//! Actions of the user that have not started: a prompt, another session, a fork, a compaction. The request to an
//! extension before such an action may wait for the user. If the action is cancelled, the request is withdrawn.

use std::pin::pin;
use std::sync::PoisonError;
use std::time::Duration;

use super::host::Host;
use super::pre_hooks::PendingPromptGuard;

impl Host {
    /// Waits like [`Host::ready`]. Returns false if the pending actions are cancelled before the extensions are ready.
    pub async fn ready_unless_cancelled(&self) -> bool {
        self.pre_hooks.unless_cancelled(self.ready()).await.is_some()
    }

    /// Records that a prompt is on its way to the engine, until the guard is dropped.
    pub fn register_prompt(&self) -> PendingPromptGuard {
        self.pre_hooks.pending_prompts.send_modify(|coming| *coming += 1);
        PendingPromptGuard(self.pre_hooks.pending_prompts.clone())
    }

    /// Waits for extensions that are still loading. Then waits for at most `timeout` until the pending prompts have
    /// started and requests to extensions have ended. Returns at once if no prompt is pending.
    pub async fn start_pending_prompts(&self, timeout: Duration) {
        // A waiting prompt may still be on its way when the extensions have just loaded.
        if *self.pre_hooks.pending_prompts.borrow() == 0 {
            return;
        }
        self.ready().await;
        let prompts_started = async {
            let mut pending = self.pre_hooks.pending_prompts.subscribe();
            let _ = pending.wait_for(|pending| *pending == 0).await;
            self.wait_until_idle(timeout).await;
        };
        let _ = tokio::time::timeout(timeout, prompts_started).await;
    }

    /// Cancels all pending actions, as after an abort. Their requests to extensions are withdrawn, and their dialogs
    /// are closed.
    pub fn cancel_pending(&self) {
        std::mem::take(&mut *self.pre_hooks.cancel.lock().unwrap_or_else(PoisonError::into_inner)).cancel();
    }

    /// Runs `work`, an action of the user. If another action replaces it while a dialog delays its start, cancels the
    /// pending actions, so that the other action need not wait.
    pub async fn until_replaced<T>(
        &self,
        replaced: impl Future<Output = ()>,
        work: impl Future<Output = T>,
    ) -> T {
        let mut work = pin!(work);
        let mut dialogs = self.pre_hooks.open_dialogs.subscribe();
        let stuck = async {
            replaced.await;
            let _ = dialogs.wait_for(|open| *open > 0).await;
        };
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = stuck => {}
        }
        self.cancel_pending();
        work.await
    }
}
