//! What extensions are asked before something begins that the user asked for: a prompt, another session, a
//! fork, a compaction. Such questions may wait for the user, and are taken back where nobody wants to begin any more.

use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use agentese::types::{InputHook, SessionBeforeCompactHook, SessionBeforeForkHook, SessionBeforeSwitchHook};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Host, type_of};

/// What has not begun yet.
pub(super) struct Before {
    /// Cancelled when those who have not begun are to give up.
    stop: Mutex<CancellationToken>,
    /// How many dialogs are open in such questions.
    dialogs: watch::Sender<usize>,
    /// How many prompts are on their way to the engine.
    coming: watch::Sender<usize>,
}

impl Default for Before {
    fn default() -> Self {
        Self { stop: Mutex::default(), dialogs: watch::Sender::new(0), coming: watch::Sender::new(0) }
    }
}

/// A dialog is open until this is dropped.
pub(super) struct OpenBefore(watch::Sender<usize>);

impl Drop for OpenBefore {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

/// A prompt is on its way until this is dropped.
pub struct Coming(watch::Sender<usize>);

impl Drop for Coming {
    fn drop(&mut self) {
        self.0.send_modify(|coming| *coming -= 1);
    }
}

impl Before {
    /// Whether an event comes before something that has not begun.
    pub fn is_one(event: &str) -> bool {
        [
            type_of::<InputHook>(),
            type_of::<SessionBeforeSwitchHook>(),
            type_of::<SessionBeforeForkHook>(),
            type_of::<SessionBeforeCompactHook>(),
        ]
        .contains(&event)
    }

    /// A dialog is open in such a question.
    pub fn dialog(&self) -> OpenBefore {
        self.dialogs.send_modify(|open| *open += 1);
        OpenBefore(self.dialogs.clone())
    }

    /// What is asked, unless those who have not begun give up.
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
    /// As [`Host::ready`]; false where what has not begun is given up before.
    pub async fn ready_to_begin(&self) -> bool {
        self.before.unless_given_up(self.ready()).await.is_some()
    }

    /// A prompt is on its way.
    pub fn coming(&self) -> Coming {
        self.before.coming.send_modify(|coming| *coming += 1);
        Coming(self.before.coming.clone())
    }

    /// Where prompts wait for extensions that still start: waits until these are there, and for `patience` until the prompts
    /// have begun and commands of extensions are over.
    pub async fn let_begin(&self, patience: Duration) {
        // One that waited may be on its way still when the extensions are just there.
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

    /// What was asked for and has not begun is given up, as after an abort: questions to extensions are taken
    /// back, with the dialogs that are open in them.
    pub fn give_up(&self) {
        std::mem::take(&mut *self.before.stop.lock().unwrap_or_else(PoisonError::into_inner)).cancel();
    }

    /// Does something that the user asked for, until something else is to take its place: a dialog that keeps it
    /// from beginning does not keep the other one waiting then.
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
