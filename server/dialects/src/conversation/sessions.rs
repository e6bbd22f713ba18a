//! Operations that replace the conversation or a part of it. Extensions may open dialogs before such an operation.
//! If another command has to wait for the operation, these dialogs are withdrawn.

use std::path::Path;

use agentese::types::CompactionResult;

use super::{ConversationService, RequestContext};
use crate::engine::CompactError;
use crate::session::{ForkError, OpenError};

impl ConversationService {
    /// Starts a new session; see [`crate::engine::Engine::new_session`].
    pub async fn new_session(&self, parent: Option<String>, context: RequestContext) -> bool {
        self.run_replacing(context, self.engine.new_session(parent)).await
    }

    /// Switches to the session of a file; see [`crate::engine::Engine::switch_session`].
    pub async fn switch_session(&self, path: &Path, context: RequestContext) -> Result<bool, OpenError> {
        self.run_replacing(context, self.engine.switch_session(path)).await
    }

    /// Creates a fork that ends before one of the user's messages; see [`crate::engine::Engine::fork`].
    pub async fn fork(&self, entry: &str, context: RequestContext) -> Result<(String, bool), ForkError> {
        self.run_replacing(context, self.engine.fork(entry)).await
    }

    /// Creates a copy that ends at the current entry of the session; see [`crate::engine::Engine::copy`].
    pub async fn copy(&self, context: RequestContext) -> Result<bool, ForkError> {
        self.run_replacing(context, self.engine.copy()).await
    }

    /// Goes back to an entry of the session, in place; see [`crate::engine::Engine::go_to`].
    pub async fn go_to(&self, entry: &str, context: RequestContext) -> Result<bool, ForkError> {
        self.run_replacing(context, self.engine.go_to(entry)).await
    }

    /// Compacts the conversation now; see [`crate::engine::Engine::compact`].
    pub async fn compact(
        &self,
        focus: Option<&str>,
        context: RequestContext,
    ) -> Result<CompactionResult, CompactError> {
        self.run_replacing(context, self.engine.compact(focus)).await
    }

    /// Compacts the conversation now, and keeps at most `keep_recent` tokens of the newest messages unchanged; see
    /// [`crate::engine::Engine::compact_to`].
    pub async fn compact_to(
        &self,
        keep_recent: Option<u64>,
        context: RequestContext,
    ) -> Result<CompactionResult, CompactError> {
        self.run_replacing(context, self.engine.compact_to(None, keep_recent)).await
    }

    async fn run_replacing<T>(&self, context: RequestContext, work: impl Future<Output = T>) -> T {
        self.host.ready().await;
        self.host.until_replaced(context.replaced, work).await
    }
}
