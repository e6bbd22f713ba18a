//! Counting of extensions that are being started.

use tokio::sync::watch;

/// Counter of pending starts.
pub(super) struct OnTheirWay(watch::Sender<usize>);

impl Default for OnTheirWay {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

/// Guard of a pending start.
pub(super) struct Underway(watch::Sender<usize>);

impl Drop for Underway {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl OnTheirWay {
    /// Adds a pending start.
    pub fn begin(&self) -> Underway {
        self.0.send_modify(|count| *count += 1);
        Underway(self.0.clone())
    }

    /// Waits until no start is pending.
    pub async fn over(&self) {
        self.over_when(|| true).await;
    }

    /// Waits until no start is pending and `holds` returns true; `holds` is checked after each start.
    pub async fn over_when(&self, holds: impl Fn() -> bool) {
        let _ = self.0.subscribe().wait_for(|count| *count == 0 && holds()).await;
    }
}
