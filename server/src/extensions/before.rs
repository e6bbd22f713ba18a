//! What extensions are asked before something begins that the user asked for: a prompt, another session, a
//! fork, a compaction. Such questions may wait for the user, and are taken back where nobody wants to begin any more.

use std::pin::pin;
use std::sync::{Mutex, PoisonError};

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
}

impl Default for Before {
    fn default() -> Self {
        Self { stop: Mutex::default(), dialogs: watch::Sender::new(0) }
    }
}

/// A dialog is open until this is dropped.
pub(super) struct OpenBefore(watch::Sender<usize>);

impl Drop for OpenBefore {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
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
