//! Time limit of every wait in the tests of all crates.

use std::time::Duration;

/// Time limit of a wait for an event that never arrives. No awaited event takes that long, even on a busy
/// machine.
pub const LONG: Duration = Duration::from_secs(60);
