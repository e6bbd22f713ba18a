//! The bound of every wait in the tests of all crates.

use std::time::Duration;

/// Ends a wait for something that does not come. Nothing that is awaited takes as long, however busy the machine is.
pub const LONG: Duration = Duration::from_secs(60);
