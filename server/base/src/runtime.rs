//! The engine's sources of time and randomness, as traits. Processes are started by the `Spawner` of `processes`.
//!
//! Tests implement the traits themselves, so that every run of a test is the same.

mod clock;
mod ids;

pub use clock::{Clock, SystemClock};
pub use ids::{Ids, NumberedIds, RandomIds};
