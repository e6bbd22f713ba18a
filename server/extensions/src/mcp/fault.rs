//! Reason for an unexpected end of a connection.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

/// Ends a connection with the first reason that is set. Clones share the state.
#[derive(Debug, Clone, Default)]
pub(super) struct Fault(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    why: OnceLock<String>,
    told: CancellationToken,
}

impl Fault {
    /// Ends the connection for this reason.
    pub fn set(&self, why: impl Into<String>) {
        let _ = self.0.why.set(why.into());
        self.0.told.cancel();
    }

    pub fn is_set(&self) -> bool {
        self.0.told.is_cancelled()
    }

    /// Waits for a reason.
    pub async fn wait(&self) {
        self.0.told.cancelled().await;
    }

    /// Returns the reason, if set.
    pub fn why(&self) -> Option<&str> {
        self.0.why.get().map(String::as_str)
    }
}
