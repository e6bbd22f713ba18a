//! Limit of concurrent cases.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

/// Number of free places; at first the number of jobs.
#[derive(Debug, Clone)]
pub(crate) struct Rooms(Arc<watch::Sender<i64>>);

impl Rooms {
    /// Creates this number of places.
    pub(crate) fn new(jobs: u32) -> Self {
        Self(Arc::new(watch::Sender::new(i64::from(jobs))))
    }

    /// Takes `parts` places when they are free. Must not be called concurrently.
    pub(crate) async fn take(&self, parts: u32) -> Room {
        let parts = i64::from(parts);
        let mut free = self.0.subscribe();
        // The sender lives as long as this receiver.
        let _ = free.wait_for(|free| *free >= parts).await;
        let room = Room(Arc::new(Held { rooms: Some(self.clone()), parts, is_taken: Mutex::new(false) }));
        room.come_back();
        room
    }
}

/// The place of a case. A case that waits for a silent agent gives up its place, so that other cases begin
/// meanwhile and waits run in parallel. If its agent writes again, the case takes a place at once, even
/// without a free one. No case begins until there is a free place. Clones belong to one case; the place is
/// free when the last clone is dropped.
#[derive(Debug, Clone, Default)]
pub struct Room(Arc<Held>);

#[derive(Debug, Default)]
struct Held {
    /// `None` for a case that is played by itself.
    rooms: Option<Rooms>,
    parts: i64,
    is_taken: Mutex<bool>,
}

impl Held {
    fn set(&self, taken: bool) {
        let mut is_taken = self.is_taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(rooms), true) = (&self.rooms, *is_taken != taken) {
            rooms.0.send_modify(|free| *free += if taken { -self.parts } else { self.parts });
        }
        *is_taken = taken;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.set(false);
    }
}

impl Room {
    /// Gives up the place. The case goes on without it.
    pub(crate) fn leave(&self) {
        self.0.set(false);
    }

    /// Takes a place again.
    pub(crate) fn come_back(&self) {
        self.0.set(true);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    /// Returns `true` if a case can begin now.
    fn has_room(rooms: &Rooms) -> bool {
        rooms.take(1).now_or_never().is_some()
    }

    #[test]
    fn a_case_that_comes_back_is_counted_again() {
        let rooms = Rooms::new(1);
        let first = rooms.take(1).now_or_never().unwrap();
        assert!(!has_room(&rooms));
        first.leave();
        first.leave();
        let second = rooms.take(1).now_or_never().unwrap();
        first.clone().come_back();
        drop(second);
        assert!(!has_room(&rooms), "the first one goes on");
        first.leave();
        assert!(has_room(&rooms));
        first.come_back();
        drop(first);
        assert!(has_room(&rooms));
    }

    #[test]
    fn a_case_that_is_alone_takes_all_of_it() {
        let rooms = Rooms::new(2);
        let one = rooms.take(1).now_or_never().unwrap();
        assert!(rooms.take(2).now_or_never().is_none());
        drop(one);
        let alone = rooms.take(2).now_or_never().unwrap();
        assert!(!has_room(&rooms));
        drop(alone);
        assert!(rooms.take(2).now_or_never().is_some());
    }
}
