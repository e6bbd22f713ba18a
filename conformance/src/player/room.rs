//! The room that cases take which are played side by side.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedSemaphorePermit;

/// The room of a case. A case that waits for an agent that says nothing leaves it, so that others begin meanwhile: each
/// may wait as long as it says, and waits that are in vain go by side by side. Clones are of one case.
#[derive(Debug, Clone, Default)]
pub struct Room(Arc<Mutex<Option<OwnedSemaphorePermit>>>);

impl Room {
    /// The room that a permit gives.
    pub(crate) fn new(permit: OwnedSemaphorePermit) -> Self {
        Self(Arc::new(Mutex::new(Some(permit))))
    }

    /// Leaves it to others. The case goes on without.
    pub(crate) fn leave(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
