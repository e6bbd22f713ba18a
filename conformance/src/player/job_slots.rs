//! Limit of concurrent cases.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

/// Number of free places; at first the number of jobs.
#[derive(Debug, Clone)]
pub(crate) struct JobSlots(Arc<watch::Sender<i64>>);

impl JobSlots {
    /// Creates this number of places.
    pub(crate) fn new(jobs: u32) -> Self {
        Self(Arc::new(watch::Sender::new(i64::from(jobs))))
    }

    /// Takes `parts` places when they are free. Must not be called concurrently.
    pub(crate) async fn acquire(&self, parts: u32) -> JobSlot {
        let parts = i64::from(parts);
        let mut free = self.0.subscribe();
        // The sender lives as long as this receiver.
        let _ = free.wait_for(|free| *free >= parts).await;
        let room = JobSlot(Arc::new(SlotState {
            slots: Some(self.clone()),
            size: parts,
            is_occupied: Mutex::new(false),
        }));
        room.reacquire();
        room
    }
}

/// The place of a case. A case that waits for a silent agent gives up its place, so that other cases begin
/// meanwhile and waits run in parallel. If its agent writes again, the case takes a place at once, even
/// without a free one. No case begins until there is a free place. Clones belong to one case; the place is
/// free when the last clone is dropped.
#[derive(Debug, Clone, Default)]
pub struct JobSlot(Arc<SlotState>);

#[derive(Debug, Default)]
struct SlotState {
    /// `None` for a case that is played by itself.
    slots: Option<JobSlots>,
    size: i64,
    is_occupied: Mutex<bool>,
}

impl SlotState {
    fn set_occupied(&self, occupied: bool) {
        let mut is_taken = self.is_occupied.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(rooms), true) = (&self.slots, *is_taken != occupied) {
            rooms.0.send_modify(|free| *free += if occupied { -self.size } else { self.size });
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
    /// Gives up the place. The case goes on without it.
    pub(crate) fn release(&self) {
        self.0.set_occupied(false);
    }

    /// Takes a place again.
    pub(crate) fn reacquire(&self) {
        self.0.set_occupied(true);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    /// Returns `true` if a case can begin now.
    fn has_free_slot(rooms: &JobSlots) -> bool {
        rooms.acquire(1).now_or_never().is_some()
    }

    #[test]
    fn a_reacquired_slot_is_occupied_again() {
        let rooms = JobSlots::new(1);
        let first = rooms.acquire(1).now_or_never().unwrap();
        assert!(!has_free_slot(&rooms));
        first.release();
        first.release();
        let second = rooms.acquire(1).now_or_never().unwrap();
        first.clone().reacquire();
        drop(second);
        assert!(!has_free_slot(&rooms), "the first one goes on");
        first.release();
        assert!(has_free_slot(&rooms));
        first.reacquire();
        drop(first);
        assert!(has_free_slot(&rooms));
    }

    #[test]
    fn an_exclusive_case_occupies_all_slots() {
        let rooms = JobSlots::new(2);
        let one = rooms.acquire(1).now_or_never().unwrap();
        assert!(rooms.acquire(2).now_or_never().is_none());
        drop(one);
        let alone = rooms.acquire(2).now_or_never().unwrap();
        assert!(!has_free_slot(&rooms));
        drop(alone);
        assert!(rooms.acquire(2).now_or_never().is_some());
    }
}
