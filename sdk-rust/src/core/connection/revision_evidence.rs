//! Evidence for the agent's revision, kept so that most events are checked without a lock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::revision::{Contradiction, Known, Says};
use crate::spec::Spec;

/// Evidence for the revision from the frames of a connection.
pub(super) struct Seen {
    known: Mutex<Known>,
    /// `true` if further frames cannot add evidence. This is the usual state, and it can be read without the
    /// lock.
    pub is_settled: AtomicBool,
    /// The revision, once it is known.
    pub revision: OnceLock<&'static Spec>,
    /// Possible evidence in events, in the order of the dialect's rows.
    pub says: Box<[Says]>,
}

impl Seen {
    pub fn new(spec: &'static Spec, told: Option<&'static Spec>) -> Self {
        let known = Known::new(spec, told);
        let seen = Seen {
            is_settled: AtomicBool::default(),
            revision: OnceLock::new(),
            says: spec.events.iter().map(|event| Says::of(spec.revisions, event.name)).collect(),
            known: Mutex::new(known.clone()),
        };
        seen.note(&known);
        seen
    }

    /// Publishes the result for readers without the lock.
    pub fn note(&self, known: &Known) {
        self.is_settled.store(known.is_settled(), Ordering::Relaxed);
        if let Some(revision) = known.revision() {
            self.revision.get_or_init(|| revision);
        }
    }

    pub fn known(&self) -> MutexGuard<'_, Known> {
        // A panic under the lock cannot leave the value half changed.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn look(&self, look: impl FnOnce(&mut Known) -> Option<Contradiction>) -> Option<Contradiction> {
        if self.is_settled.load(Ordering::Relaxed) {
            return None;
        }
        let mut known = self.known();
        let contradiction = look(&mut known);
        self.note(&known);
        contradiction
    }
}
