//! Options of the servers of a conversation.

use std::ffi::OsString;
use std::sync::Arc;

use super::definition::ServerDefinition;
use super::limits::McpLimits;
use super::pool::Pool;
use crate::providers::{self, HttpClient};
use crate::runtime::{Clock, SystemClock};

/// Options of the servers of a conversation.
#[derive(Clone)]
pub struct McpOptions {
    /// Definitions of the servers.
    pub definitions: Vec<ServerDefinition>,
    /// Limits of time and number.
    pub limits: McpLimits,
    /// Names of the enabled tools. `None` if all are enabled. See [`super::Servers::enable_tools`].
    pub enabled_tools: Option<Vec<String>>,
    /// Names of environment variables that servers do not inherit. A server receives such a variable only if its
    /// definition sets it.
    pub hidden: Vec<OsString>,
    /// The HTTP client for servers at an address.
    pub http: Arc<HttpClient>,
    /// The running servers. Conversations with the same pool share them.
    pub pool: Pool,
    /// The clock that measures the pause between two lists of a server that often reports changes.
    pub clock: Arc<dyn Clock>,
}

impl Default for McpOptions {
    fn default() -> Self {
        let nothing = |_: &str| None;
        Self {
            definitions: Vec::new(),
            limits: McpLimits::default(),
            enabled_tools: None,
            hidden: Vec::new(),
            http: Arc::new(HttpClient::new(&providers::Settings::default(), &nothing)),
            pool: Pool::default(),
            clock: Arc::new(SystemClock),
        }
    }
}

impl std::fmt::Debug for McpOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("McpOptions")
            .field("definitions", &self.definitions)
            .field("limits", &self.limits)
            .field("enabled_tools", &self.enabled_tools)
            .finish_non_exhaustive()
    }
}
