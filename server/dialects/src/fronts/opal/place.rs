//! Reservation of the id of a starting session, so that no other request can use it.

use std::collections::BTreeSet;
use std::sync::{MutexGuard, PoisonError};

use super::Front;

/// A reservation of a session's id until the session is open or its start has failed. Dropping the value ends
/// the reservation.
pub(super) struct Place<'a> {
    front: &'a Front,
    id: String,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.front.beginning().remove(&self.id);
    }
}

impl Front {
    /// Reserves the id of a session. With `alone`, no other session may be open or starting. Fails with a
    /// sentence if the reservation is not possible.
    pub(super) fn place(&self, id: &str, alone: bool) -> Result<Place<'_>, String> {
        let (all, mut beginning) = (self.all(), self.beginning());
        if alone && !(all.is_empty() && beginning.is_empty()) {
            return Err("the agent behind this one has one conversation at a time".to_owned());
        }
        if all.contains_key(id) || !beginning.insert(id.to_owned()) {
            return Err(format!("the session \"{id}\" is open already"));
        }
        Ok(Place { front: self, id: id.to_owned() })
    }

    fn beginning(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.beginning.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
