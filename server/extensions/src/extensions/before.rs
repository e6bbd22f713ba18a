//! Requests to extensions before an action of the user starts: a prompt, another session, a fork, a
//! compaction. Such a request may wait for the user. It is withdrawn if the action is cancelled.

use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use agentese::types::{InputHook, SessionBeforeCompactHook, SessionBeforeForkHook, SessionBeforeSwitchHook};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Host, type_of};

/// State of the actions that have not started.
pub(super) struct Before {
    /// Cancelled when pending actions are cancelled.
    stop: Mutex<CancellationToken>,
    /// Number of open dialogs in such requests.
    dialogs: watch::Sender<usize>,
    /// Number of prompts on their way to the engine.
    coming: watch::Sender<usize>,
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
pub struct Coming(watch::Sender<usize>);

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

impl Host {
    /// Waits as [`Host::ready`]; returns false if the pending actions are cancelled first.
    pub async fn ready_to_begin(&self) -> bool {
        self.before.unless_given_up(self.ready()).await.is_some()
    }

    /// Records a prompt on its way to the engine.
    pub fn coming(&self) -> Coming {
        self.before.coming.send_modify(|coming| *coming += 1);
        Coming(self.before.coming.clone())
    }

    /// Waits for extensions that are still loading, and then at most `patience` for the waiting prompts to
    /// start and for commands of extensions to end. Returns at once if no prompt waits.
    pub async fn let_begin(&self, patience: Duration) {
        // A waiting prompt may still be on its way when the extensions have just loaded.
        if *self.before.coming.borrow() == 0 {
            return;
        }
        self.ready().await;
        let begun = async {
            let mut coming = self.before.coming.subscribe();
            let _ = coming.wait_for(|coming| *coming == 0).await;
            self.wait_until_idle(patience).await;
        };
        let _ = tokio::time::timeout(patience, begun).await;
    }

    /// Cancels all pending actions, as after an abort: requests to extensions are withdrawn, together with
    /// their open dialogs.
    pub fn give_up(&self) {
        std::mem::take(&mut *self.before.stop.lock().unwrap_or_else(PoisonError::into_inner)).cancel();
    }

    /// Runs an action of the user until another action replaces it. A dialog that delays the start of the
    /// first action then does not delay the other.
    pub async fn until_replaced<T>(
        &self,
        replaced: impl Future<Output = ()>,
        work: impl Future<Output = T>,
    ) -> T {
        let mut work = pin!(work);
        let mut dialogs = self.before.dialogs.subscribe();
        let stuck = async {
            replaced.await;
            let _ = dialogs.wait_for(|open| *open > 0).await;
        };
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = stuck => {}
        }
        self.give_up();
        work.await
    }
}
