//! Reason for an unexpected end of a connection.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

/// Ends a connection with the first reason that is set. Clones share the state.
#[derive(Debug, Clone, Default)]
pub(super) struct DisconnectSignal(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    reason: OnceLock<String>,
    token: CancellationToken,
}

impl DisconnectSignal {
    /// Ends the connection for this reason.
    pub fn set(&self, why: impl Into<String>) {
        let _ = self.0.reason.set(why.into());
        self.0.token.cancel();
    }

    pub fn is_set(&self) -> bool {
        self.0.token.is_cancelled()
    }

    /// Waits for a reason.
    pub async fn wait(&self) {
        self.0.token.cancelled().await;
    }

    /// Returns the reason, if set.
    pub fn reason(&self) -> Option<&str> {
        self.0.reason.get().map(String::as_str)
    }
}
