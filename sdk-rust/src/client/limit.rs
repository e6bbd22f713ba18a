//! Time limit of a call.

use std::time::Duration;

/// Time limit of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Limit {
    /// The client's [`timeout`](crate::Builder::timeout), or the limit in the declaration of the command.
    #[default]
    Default,
    /// No limit.
    Never,
    /// This duration.
    After(Duration),
}
