//! The place of a session that begins: nobody else can take it meanwhile.

use std::collections::BTreeSet;
use std::sync::{MutexGuard, PoisonError};

use super::Front;

/// A place that is kept free for a session until it is open, or could not begin: dropped, it is given back.
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
    /// Keeps the place of that session free, which has to be the only one where it is `alone`. Fails, with a sentence,
    /// where the place is taken.
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
