//! Reasons for what is in no file.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Why something that was said is in no file, as of the last time when everything was to be brought to one. Whoever
/// has put engines together keeps a clone.
#[derive(Debug, Clone, Default)]
pub struct Unsaved {
    reasons: Arc<Mutex<BTreeMap<u64, String>>>,
    /// The engine that this clone belongs to.
    engine: u64,
}

impl Unsaved {
    /// A reason, of whichever engine; none where everything is in its file.
    pub fn reason(&self) -> Option<String> {
        let reasons = self.reasons();
        let more = reasons.len().saturating_sub(1);
        let first = reasons.values().next()?;
        Some(if more == 0 { first.clone() } else { format!("{first} (and {more} other sessions)") })
    }

    /// One for another engine.
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
