//! The context that all servers of a conversation share.

use std::ffi::OsString;
use std::sync::Arc;

use super::limits::McpLimits;
use crate::providers::HttpClient;
use crate::runtime::Clock;
use crate::tools::Spawner;

/// Shared context of the servers.
#[derive(Clone)]
pub(super) struct ServerContext {
    pub spawner: Arc<dyn Spawner>,
    pub hidden: Vec<OsString>,
    pub limits: McpLimits,
    pub http: Arc<HttpClient>,
    pub clock: Arc<dyn Clock>,
}
