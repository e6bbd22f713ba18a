//! Counting of extensions that are being started.

use tokio::sync::watch;

/// Number of starts in progress.
pub(super) struct PendingStarts(watch::Sender<usize>);

impl Default for PendingStarts {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

/// Counts a start as in progress until it is dropped.
pub(super) struct PendingStartGuard(watch::Sender<usize>);

impl Drop for PendingStartGuard {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl PendingStarts {
    /// Counts a further start until the guard is dropped.
    pub fn start(&self) -> PendingStartGuard {
        self.0.send_modify(|count| *count += 1);
        PendingStartGuard(self.0.clone())
    }

    /// Waits until no start is in progress.
    pub async fn wait_finished(&self) {
        self.wait_finished_when(|| true).await;
    }

    /// Waits until no start is in progress and `holds` returns true. `holds` is checked after each start.
    pub async fn wait_finished_when(&self, holds: impl Fn() -> bool) {
        let _ = self.0.subscribe().wait_for(|count| *count == 0 && holds()).await;
    }
}
