//! Options of a bridge.

use std::ffi::OsString;
use std::path::PathBuf;

/// Options of a bridge.
#[derive(Debug, Clone, Default)]
pub struct BridgeOptions {
    /// Protocol of the client: a dialect, `acp` or `ag-ui`, optionally with a revision.
    pub to: String,
    /// Protocol of the agent: a dialect or `acp`, optionally with a revision. If it is `None`, the dialect is detected.
    pub from: Option<String>,
    /// Port on 127.0.0.1 for `ag-ui`; 0 selects a free one.
    pub port: u16,
    /// Origins of web pages that may connect to the port, besides the port's own origin.
    pub allow_origin: Vec<String>,
    /// File for the loss report, which is written when the bridge ends.
    pub report: Option<PathBuf>,
    /// Command line of the agent.
    pub command: Vec<OsString>,
}
