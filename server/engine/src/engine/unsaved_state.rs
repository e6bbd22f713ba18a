//! Reasons why data is in no file.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Reasons why a part of a conversation is in no file, as of the last flush. All engines of a program report here; the
/// program keeps a clone.
#[derive(Debug, Clone, Default)]
pub struct UnsavedState {
    reasons: Arc<Mutex<BTreeMap<u64, String>>>,
    /// Number of the engine of this clone.
    engine: u64,
}

impl UnsavedState {
    /// Returns the reason of one of the engines; `None` if all data is in files.
    pub fn reason(&self) -> Option<String> {
        let reasons = self.reasons();
        let more = reasons.len().saturating_sub(1);
        let first = reasons.values().next()?;
        Some(if more == 0 { first.clone() } else { format!("{first} (and {more} other sessions)") })
    }

    /// Returns a clone for another engine.
    pub(super) fn fresh(&self) -> Self {
        static ENGINES: AtomicU64 = AtomicU64::new(1);
        Self { reasons: self.reasons.clone(), engine: ENGINES.fetch_add(1, Ordering::Relaxed) }
    }

    pub(super) fn set(&self, reason: Option<String>) {
        match reason {
            Some(reason) => self.reasons().insert(self.engine, reason),
            None => self.reasons().remove(&self.engine),
        };
    }

    fn reasons(&self) -> MutexGuard<'_, BTreeMap<u64, String>> {
        self.reasons.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
