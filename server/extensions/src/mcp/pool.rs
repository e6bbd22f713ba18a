//! The servers of a process: conversations with the same server share it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::around::Around;
use super::definition::Definition;
use super::server::{Server, State};

/// The running servers. Clones share the pool.
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

    /// Returns the server of a definition: the running server, or a server that starts now. A failed server
    /// stays with its current users. Requires a runtime.
    pub(super) fn enter(&self, definition: &Definition, around: &Around) -> Arc<Server> {
        let mut entries = self.entries();
        let usable = |server: &Server| {
            server.definition == *definition && !matches!(server.now().state, State::Failed | State::Stopped)
        };
        if let Some(entry) = entries.iter_mut().find(|entry| usable(&entry.server)) {
            entry.users += 1;
            return entry.server.clone();
        }
        let server = Server::start(definition.clone(), around.clone());
        entries.push(Entry { server: server.clone(), users: 1 });
        server
    }

    /// Removes a user of a server. Returns true if it was the last user; the server then starts to end.
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::mcp::{Launch, Limits};
    use crate::tools::LocalSpawner;

    #[tokio::test]
    async fn a_server_that_failed_is_begun_anew_for_whoever_comes_later() {
        let around = Around {
            spawner: Arc::new(LocalSpawner::new(None)),
            hidden: Vec::new(),
            limits: Limits::default(),
            http: crate::mcp::Options::default().http,
            clock: crate::mcp::Options::default().clock,
        };
        let definition = |launch| Definition {
            name: "s".to_owned(),
            file: PathBuf::new(),
            launch,
            filled: Default::default(),
            disabled: false,
            enabled_tools: None,
            disabled_tools: Vec::new(),
            call_timeout: None,
        };
        let never = definition(Launch::Never("it is of no use".to_owned()));
        let pool = Pool::default();
        let failed = pool.enter(&never, &around);
        failed.started().await;
        assert_eq!(failed.now().state, State::Failed);
        let anew = pool.enter(&never, &around);
        assert!(!Arc::ptr_eq(&failed, &anew), "the first conversation still has the one that failed");
        assert!(pool.leave(&failed) && pool.leave(&anew));
    }
}
