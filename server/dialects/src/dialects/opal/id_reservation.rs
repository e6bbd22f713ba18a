//! Reservation of the id of a starting session, so that no other request can use it.

use std::collections::BTreeSet;
use std::sync::{MutexGuard, PoisonError};

use super::OpalServer;

/// The reservation of an id while its session starts. Dropping the value ends the reservation.
pub(super) struct IdReservation<'a> {
    server: &'a OpalServer,
    id: String,
}

impl Drop for IdReservation<'_> {
    fn drop(&mut self) {
        self.server.starting_ids().remove(&self.id);
    }
}

impl OpalServer {
    /// Reserves the id of a session that starts. With `alone`, fails if any other session is open or starting.
    /// Fails if the id is in use. The error is a sentence for the client.
    pub(super) fn reserve_id(&self, id: &str, alone: bool) -> Result<IdReservation<'_>, String> {
        let (all, mut starting) = (self.sessions(), self.starting_ids());
        if alone && !(all.is_empty() && starting.is_empty()) {
            return Err("the remote agent supports one conversation at a time".to_owned());
        }
        if all.contains_key(id) || !starting.insert(id.to_owned()) {
            return Err(format!("the session \"{id}\" is already open"));
        }
        Ok(IdReservation { server: self, id: id.to_owned() })
    }

    fn starting_ids(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.starting_ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
