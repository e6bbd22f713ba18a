//! Evidence for the agent's revision, stored so that most events need no lock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::revision_detector::{Contradiction, EventEvidence, RevisionDetector};
use crate::spec::Spec;

/// Evidence for the revision from the frames of a connection.
pub(super) struct RevisionEvidence {
    detector: Mutex<RevisionDetector>,
    /// `true` if no further frame can change the result. This is the usual state. It is readable without the
    /// lock.
    pub is_settled: AtomicBool,
    /// The revision, once it is known.
    pub revision: OnceLock<&'static Spec>,
    /// For each row of an event, the evidence that such events can give.
    pub event_evidence: Box<[EventEvidence]>,
}

impl RevisionEvidence {
    pub fn new(spec: &'static Spec, named: Option<&'static Spec>) -> Self {
        let known = RevisionDetector::new(spec, named);
        let seen = RevisionEvidence {
            is_settled: AtomicBool::default(),
            revision: OnceLock::new(),
            event_evidence: spec
                .events
                .iter()
                .map(|event| EventEvidence::of(spec.revisions, event.name))
                .collect(),
            detector: Mutex::new(known.clone()),
        };
        seen.note(&known);
        seen
    }

    /// Publishes the detector's result for readers that do not take the lock.
    pub fn note(&self, known: &RevisionDetector) {
        self.is_settled.store(known.is_settled(), Ordering::Relaxed);
        if let Some(revision) = known.revision() {
            self.revision.get_or_init(|| revision);
        }
    }

    pub fn known(&self) -> MutexGuard<'_, RevisionDetector> {
        // A panic under the lock cannot leave the value half changed.
        self.detector.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn observe(
        &self,
        look: impl FnOnce(&mut RevisionDetector) -> Option<Contradiction>,
    ) -> Option<Contradiction> {
        if self.is_settled.load(Ordering::Relaxed) {
            return None;
        }
        let mut known = self.known();
        let contradiction = look(&mut known);
        self.note(&known);
        contradiction
    }
}
