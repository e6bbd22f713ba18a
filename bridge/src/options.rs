//! Options of a bridge.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Default of [`BridgeOptions::reconnect_limit`].
pub const DEFAULT_RECONNECT_LIMIT: Duration = Duration::from_secs(5);

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
    /// Time for which a run of `ag-ui` continues without a connection; `None` means [`DEFAULT_RECONNECT_LIMIT`].
    pub reconnect_limit: Option<Duration>,
    /// Allows tool calls and texts of `ag-ui` to overlap with each other and with other events.
    pub overlapping_calls: bool,
    /// File for the loss report, which is written when the bridge ends.
    pub report: Option<PathBuf>,
    /// Command line of the agent.
    pub command: Vec<OsString>,
}

impl BridgeOptions {
    /// Returns the command-line name of an option that only `ag-ui` has, if one is set.
    pub(crate) fn agui_option(&self) -> Option<&'static str> {
        [
            (self.port != 0, "--port"),
            (!self.allow_origin.is_empty(), "--allow-origin"),
            (self.reconnect_limit.is_some(), "--reconnect-seconds"),
            (self.overlapping_calls, "--overlapping-calls"),
        ]
        .into_iter()
        .find_map(|(is_set, name)| is_set.then_some(name))
    }
}
