//! Limit of concurrent cases.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

/// Number of free slots; initially one for each job. The number is negative if cases have reacquired slots
/// while no slot was free.
#[derive(Debug, Clone)]
pub(crate) struct JobSlots(Arc<watch::Sender<i64>>);

impl JobSlots {
    /// Creates this number of slots.
    pub(crate) fn new(jobs: u32) -> Self {
        Self(Arc::new(watch::Sender::new(i64::from(jobs))))
    }

    /// Waits until `parts` slots are free, and takes them. Must not be called concurrently.
    pub(crate) async fn acquire(&self, parts: u32) -> JobSlot {
        let parts = i64::from(parts);
        let mut free = self.0.subscribe();
        // The sender exists as long as this receiver, so the wait cannot fail.
        let _ = free.wait_for(|free| *free >= parts).await;
        let slot = JobSlot(Arc::new(SlotState {
            slots: Some(self.clone()),
            size: parts,
            is_occupied: Mutex::new(false),
        }));
        slot.reacquire();
        slot
    }
}

/// The slot of a case.
///
/// A case that waits for a silent agent releases its slot, so that another case can begin. When the agent
/// writes again, the case reacquires a slot at once, even without a free one. New cases begin only when a slot
/// is free.
///
/// Clones belong to the same case. The slot becomes free when the last clone is dropped.
#[derive(Debug, Clone, Default)]
pub struct JobSlot(Arc<SlotState>);

#[derive(Debug, Default)]
struct SlotState {
    /// The slots of the run; `None` for a case without a limit.
    slots: Option<JobSlots>,
    size: i64,
    is_occupied: Mutex<bool>,
}

impl SlotState {
    fn set_occupied(&self, occupied: bool) {
        let mut is_taken = self.is_occupied.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(job_slots), true) = (&self.slots, *is_taken != occupied) {
            job_slots.0.send_modify(|free| *free += if occupied { -self.size } else { self.size });
        }
        *is_taken = occupied;
    }
}

impl Drop for SlotState {
    fn drop(&mut self) {
        self.set_occupied(false);
    }
}

impl JobSlot {
    /// Releases the slot. The case continues without it.
    pub(crate) fn release(&self) {
        self.0.set_occupied(false);
    }

    /// Reacquires the slot, even if no slot is free.
    pub(crate) fn reacquire(&self) {
        self.0.set_occupied(true);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    /// Returns `true` if a case can begin now.
    fn has_free_slot(job_slots: &JobSlots) -> bool {
        job_slots.acquire(1).now_or_never().is_some()
    }

    #[test]
    fn a_reacquired_slot_is_occupied_again() {
        let job_slots = JobSlots::new(1);
        let first = job_slots.acquire(1).now_or_never().unwrap();
        assert!(!has_free_slot(&job_slots));
        first.release();
        first.release();
        let second = job_slots.acquire(1).now_or_never().unwrap();
        first.clone().reacquire();
        drop(second);
        assert!(!has_free_slot(&job_slots), "the first job continues");
        first.release();
        assert!(has_free_slot(&job_slots));
        first.reacquire();
        drop(first);
        assert!(has_free_slot(&job_slots));
    }

    #[test]
    fn an_exclusive_case_occupies_all_slots() {
        let job_slots = JobSlots::new(2);
        let one = job_slots.acquire(1).now_or_never().unwrap();
        assert!(job_slots.acquire(2).now_or_never().is_none());
        drop(one);
        let alone = job_slots.acquire(2).now_or_never().unwrap();
        assert!(!has_free_slot(&job_slots));
        drop(alone);
        assert!(job_slots.acquire(2).now_or_never().is_some());
    }
}
