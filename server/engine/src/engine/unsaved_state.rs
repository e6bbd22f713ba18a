//! Reasons why a part of a conversation was not stored.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Reasons why a part of a conversation was not stored, as of the last flush. All engines of a program report to
/// the same list; the program keeps a clone to read it.
#[derive(Debug, Clone, Default)]
pub struct UnsavedState {
    reasons: Arc<Mutex<BTreeMap<u64, String>>>,
    /// Number of the engine that reports through this clone.
    engine: u64,
}

impl UnsavedState {
    /// Returns the first reason that an engine reported, with the number of other sessions. Returns `None` if
    /// everything was stored.
    pub fn reason(&self) -> Option<String> {
        let reasons = self.reasons();
        let more = reasons.len().saturating_sub(1);
        let first = reasons.values().next()?;
        Some(if more == 0 { first.clone() } else { format!("{first} (and {more} other sessions)") })
    }

    /// Returns a clone for another engine, with a number of its own.
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
