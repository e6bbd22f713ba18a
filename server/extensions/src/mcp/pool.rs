//! The running servers of this process. Conversations with the same server definition share the server.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::context::ServerContext;
use super::definition::ServerDefinition;
use super::server::{Server, ServerState};

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

    /// Returns the server for a definition: the running one unless it has failed or was stopped, else a new one, which
    /// starts now. Requires a Tokio runtime.
    pub(super) fn acquire(&self, definition: &ServerDefinition, context: &ServerContext) -> Arc<Server> {
        let mut entries = self.entries();
        let usable = |server: &Server| {
            server.definition == *definition
                && !matches!(server.snapshot().state, ServerState::Failed | ServerState::Stopped)
        };
        if let Some(entry) = entries.iter_mut().find(|entry| usable(&entry.server)) {
            entry.users += 1;
            return entry.server.clone();
        }
        let server = Server::start(definition.clone(), context.clone());
        entries.push(Entry { server: server.clone(), users: 1 });
        server
    }

    /// Removes a user of a server. Returns true if this was the last user; the server is then being ended.
    pub(super) fn release(&self, server: &Arc<Server>) -> bool {
        let mut entries = self.entries();
        let Some(index) = entries.iter().position(|entry| Arc::ptr_eq(&entry.server, server)) else {
            return false;
        };
        entries[index].users -= 1;
        if entries[index].users > 0 {
            return false;
        }
        entries.remove(index).server.stop();
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
    use crate::mcp::{McpLimits, TransportConfig};
    use crate::tools::LocalSpawner;

    #[tokio::test]
    async fn a_failed_server_is_restarted_for_later_conversations() {
        let context = ServerContext {
            spawner: Arc::new(LocalSpawner::new(None)),
            hidden: Vec::new(),
            limits: McpLimits::default(),
            http: crate::mcp::McpOptions::default().http,
            clock: crate::mcp::McpOptions::default().clock,
        };
        let definition = |launch| ServerDefinition {
            name: "s".to_owned(),
            file: PathBuf::new(),
            transport: launch,
            variable_values: Default::default(),
            disabled: false,
            enabled_tools: None,
            disabled_tools: Vec::new(),
            call_timeout: None,
        };
        let never = definition(TransportConfig::Invalid("it is of no use".to_owned()));
        let pool = Pool::default();
        let failed = pool.acquire(&never, &context);
        failed.started().await;
        assert_eq!(failed.snapshot().state, ServerState::Failed);
        let anew = pool.acquire(&never, &context);
        assert!(!Arc::ptr_eq(&failed, &anew), "the first conversation still has the one that failed");
        assert!(pool.release(&failed) && pool.release(&anew));
    }
}
