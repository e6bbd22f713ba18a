//! Options of a bridge.

use std::ffi::OsString;
use std::path::PathBuf;

/// Options of a bridge.
#[derive(Debug, Clone, Default)]
pub struct BridgeOptions {
    /// Dialect of the client, `acp` or `ag-ui`, optionally with a revision.
    pub to: String,
    /// Dialect of the agent, or `acp`, optionally with a revision. It is detected if this is `None`.
    pub from: Option<String>,
    /// Port on 127.0.0.1 for `ag-ui`; 0 selects a free one.
    pub port: u16,
    /// Origins of pages that may use the port, besides its own.
    pub allow_origin: Vec<String>,
    /// File for the loss report, written at the end.
    pub report: Option<PathBuf>,
    /// Command line of the agent.
    pub command: Vec<OsString>,
}
