//! The engine's sources of time and randomness, as traits. Processes are in [`crate::processes::Spawner`].
//!
//! Tests use their own implementations, so that every run is the same.

mod clock;
mod ids;

pub use clock::{Clock, SystemClock};
pub use ids::{Ids, NumberedIds, RandomIds};
