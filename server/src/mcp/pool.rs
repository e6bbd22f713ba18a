//! The servers of a process: conversations that name the same one share it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::server::Server;
use super::{Around, Definition};

/// The servers that run. Cheap to clone; clones are the same one.
#[derive(Clone, Default)]
pub struct Pool(Arc<Mutex<Vec<Entry>>>);

struct Entry {
    server: Arc<Server>,
    users: usize,
}

impl Pool {
    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server of a definition: the one that is there, or one that begins to start. Needs a runtime.
    pub(super) fn enter(&self, definition: &Definition, around: &Around) -> Arc<Server> {
        let mut entries = self.entries();
        if let Some(entry) = entries.iter_mut().find(|entry| entry.server.definition == *definition) {
            entry.users += 1;
            return entry.server.clone();
        }
        let server = Server::start(definition.clone(), around.clone());
        entries.push(Entry { server: server.clone(), users: 1 });
        server
    }

    /// Somebody does not use a server any more. It begins to end when nobody does; gives whether that is so.
    pub(super) fn leave(&self, server: &Arc<Server>) -> bool {
        let mut entries = self.entries();
        let Some(place) = entries.iter().position(|entry| Arc::ptr_eq(&entry.server, server)) else {
            return false;
        };
        entries[place].users -= 1;
        if entries[place].users > 0 {
            return false;
        }
        entries.remove(place).server.stop();
        true
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let entries = self.entries();
        let names = entries.iter().map(|entry| &entry.server.definition.name);
        formatter.debug_list().entries(names).finish()
    }
}
