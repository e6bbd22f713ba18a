//! The table of open questions.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// The open questions of one connection. Each connection has its own table. Questions of a restarted agent
/// therefore never mix with questions of the earlier process, even if their ids are equal.
#[derive(Default)]
pub(super) struct OpenDialogs {
    entries: Mutex<Vec<DialogEntry>>,
    pub next_number: AtomicU64,
}

/// A question of the agent without an answer yet.
pub(super) struct DialogEntry {
    pub number: u64,
    pub id: String,
    pub withdrawn: CancellationToken,
}

impl OpenDialogs {
    pub fn entries(&self) -> MutexGuard<'_, Vec<DialogEntry>> {
        // A panic under the lock cannot leave the list half changed: each change is one call.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `true` if a question is open.
    pub fn any(&self) -> bool {
        !self.entries().is_empty()
    }

    /// Withdraws the open questions with an id. Ids of answered or unknown questions have no effect.
    pub fn withdraw(&self, id: &str) {
        for question in self.entries().iter().filter(|question| question.id == id) {
            question.withdrawn.cancel();
        }
    }
}
