//! Time limit of a call.

use std::time::Duration;

/// Time limit of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Limit {
    /// The client's [`timeout`](crate::Builder::timeout) if it is set, otherwise the limit that the command
    /// declares.
    #[default]
    Default,
    /// The call has no limit.
    Never,
    /// The given duration is the limit.
    After(Duration),
}
