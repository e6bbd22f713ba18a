//! Several conversations behind one connection.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::join_all;

use super::Desk;

/// The desks of a process, by the ids of their sessions. Each has its own engine, extensions, queue of commands and
/// storage; models, settings and tools are shared, for their parts are.
#[derive(Debug, Default)]
pub struct Registry(Mutex<BTreeMap<String, Arc<Desk>>>);

impl Registry {
    fn desks(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Desk>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a desk under the id of its session. The one that had the id, where there is one, is given back and stays
    /// as it is.
    pub fn add(&self, desk: Arc<Desk>) -> Option<Arc<Desk>> {
        self.desks().insert(desk.engine().view().session_id, desk)
    }

    /// The desk of a session.
    pub fn get(&self, id: &str) -> Option<Arc<Desk>> {
        self.desks().get(id).cloned()
    }

    /// All of them, in the order of their ids.
    pub fn all(&self) -> Vec<Arc<Desk>> {
        self.desks().values().cloned().collect()
    }

    /// Takes a desk out and shuts it down; false where there is none.
    pub async fn close(&self, id: &str) -> bool {
        let Some(desk) = self.desks().remove(id) else { return false };
        desk.shut_down().await;
        true
    }

    /// Shuts all of them down, side by side.
    pub async fn shut_down(&self) {
        join_all(self.all().iter().map(|desk| desk.shut_down())).await;
    }

    /// Waits until all of them are done, side by side.
    pub async fn settle(&self) {
        join_all(self.all().iter().map(|desk| desk.settle())).await;
    }
}
