//! Requests to extensions before an action of the user starts: a prompt, another session, a fork, a
//! compaction. Such a request may wait for the user. It is withdrawn if the action is cancelled.

use std::pin::pin;
use std::sync::PoisonError;
use std::time::Duration;

use super::host::Host;
use super::pre_hooks::PendingPromptGuard;

impl Host {
    /// Waits as [`Host::ready`]; returns false if the pending actions are cancelled first.
    pub async fn ready_unless_cancelled(&self) -> bool {
        self.pre_hooks.unless_cancelled(self.ready()).await.is_some()
    }

    /// Records a prompt on its way to the engine.
    pub fn register_prompt(&self) -> PendingPromptGuard {
        self.pre_hooks.pending_prompts.send_modify(|coming| *coming += 1);
        PendingPromptGuard(self.pre_hooks.pending_prompts.clone())
    }

    /// Waits for extensions that are still loading, and then at most `timeout` for the waiting prompts to
    /// start and for commands of extensions to end. Returns at once if no prompt waits.
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

    /// Cancels all pending actions, as after an abort: requests to extensions are withdrawn, together with
    /// their open dialogs.
    pub fn cancel_pending(&self) {
        std::mem::take(&mut *self.pre_hooks.cancel.lock().unwrap_or_else(PoisonError::into_inner)).cancel();
    }

    /// Runs an action of the user until another action replaces it. A dialog that delays the start of the
    /// first action then does not delay the other.
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
