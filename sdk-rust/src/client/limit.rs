//! How long a call waits for its answer.

use std::time::Duration;

/// How long a call waits for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Limit {
    /// As long as the client's [`timeout`](crate::Builder::timeout) or the command's declaration says.
    #[default]
    Default,
    /// Without a limit.
    Never,
    /// That long.
    After(Duration),
}
