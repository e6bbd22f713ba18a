//! Counting of extensions that are being started.

use tokio::sync::watch;

/// Counter of pending starts.
pub(super) struct PendingStarts(watch::Sender<usize>);

impl Default for PendingStarts {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

/// Guard of a pending start.
pub(super) struct PendingStartGuard(watch::Sender<usize>);

impl Drop for PendingStartGuard {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl PendingStarts {
    /// Adds a pending start.
    pub fn start(&self) -> PendingStartGuard {
        self.0.send_modify(|count| *count += 1);
        PendingStartGuard(self.0.clone())
    }

    /// Waits until no start is pending.
    pub async fn wait_finished(&self) {
        self.wait_finished_when(|| true).await;
    }

    /// Waits until no start is pending and `holds` returns true; `holds` is checked after each start.
    pub async fn wait_finished_when(&self, holds: impl Fn() -> bool) {
        let _ = self.0.subscribe().wait_for(|count| *count == 0 && holds()).await;
    }
}
