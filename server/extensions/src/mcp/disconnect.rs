//! Reason for an unexpected end of a connection.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

/// Signal that ends a connection. Its first reason is kept. Clones share the signal.
#[derive(Debug, Clone, Default)]
pub(super) struct DisconnectSignal(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    reason: OnceLock<String>,
    token: CancellationToken,
}

impl DisconnectSignal {
    /// Ends the connection. The first call sets the reason.
    pub fn set(&self, why: impl Into<String>) {
        let _ = self.0.reason.set(why.into());
        self.0.token.cancel();
    }

    pub fn is_set(&self) -> bool {
        self.0.token.is_cancelled()
    }

    /// Waits until the signal is set.
    pub async fn wait(&self) {
        self.0.token.cancelled().await;
    }

    /// Returns the reason, if set.
    pub fn reason(&self) -> Option<&str> {
        self.0.reason.get().map(String::as_str)
    }
}
