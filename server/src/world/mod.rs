//! What the engine takes from the world around it, as traits: time and chance. Processes are in
//! [`crate::tools::Spawner`].
//!
//! A test puts its own in their place, and a run becomes the same run every time.

mod clock;
mod ids;

pub use clock::{Clock, SystemClock};
pub use ids::{Ids, NumberedIds, RandomIds};
