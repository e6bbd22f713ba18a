//! Operations that replace the conversation or a part of it. Extensions may first open dialogs. A command
//! that waits for the end of such an operation withdraws these dialogs.

use std::path::Path;

use agentese::types::CompactionResult;

use super::{Caller, Desk};
use crate::engine::CompactError;
use crate::session::{ForkError, OpenError};

impl Desk {
    /// Starts a new session; see [`crate::engine::Engine::new_session`].
    pub async fn new_session(&self, parent: Option<String>, caller: Caller) -> bool {
        self.replacing(caller, self.engine.new_session(parent)).await
    }

    /// Switches to the session of a file; see [`crate::engine::Engine::switch_session`].
    pub async fn switch_session(&self, path: &Path, caller: Caller) -> Result<bool, OpenError> {
        self.replacing(caller, self.engine.switch_session(path)).await
    }

    /// Creates a fork that ends before one of the user's messages; see [`crate::engine::Engine::fork`].
    pub async fn fork(&self, entry: &str, caller: Caller) -> Result<(String, bool), ForkError> {
        self.replacing(caller, self.engine.fork(entry)).await
    }

    /// Creates a copy that ends at the current entry of the session; see [`crate::engine::Engine::copy`].
    pub async fn copy(&self, caller: Caller) -> Result<bool, ForkError> {
        self.replacing(caller, self.engine.copy()).await
    }

    /// Goes back to an entry of the session, in place; see [`crate::engine::Engine::go_to`].
    pub async fn go_to(&self, entry: &str, caller: Caller) -> Result<bool, ForkError> {
        self.replacing(caller, self.engine.go_to(entry)).await
    }

    /// Compacts the conversation now; see [`crate::engine::Engine::compact`].
    pub async fn compact(
        &self,
        focus: Option<&str>,
        caller: Caller,
    ) -> Result<CompactionResult, CompactError> {
        self.replacing(caller, self.engine.compact(focus)).await
    }

    /// Compacts the conversation now, except for that many tokens of its newest messages; see
    /// [`crate::engine::Engine::compact_to`].
    pub async fn compact_to(
        &self,
        keep_recent: Option<u64>,
        caller: Caller,
    ) -> Result<CompactionResult, CompactError> {
        self.replacing(caller, self.engine.compact_to(None, keep_recent)).await
    }

    async fn replacing<T>(&self, caller: Caller, work: impl Future<Output = T>) -> T {
        self.host.ready().await;
        self.host.until_replaced(caller.replaced, work).await
    }
}
