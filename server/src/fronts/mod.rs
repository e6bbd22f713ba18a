//! One module per dialect: from the wire to the engine and back. No front decides anything; a rule
//! that two dialects share belongs below.
//!
//! A new dialect is a folder here with a [`Front`], and a line in [`FRONTENDS`]. Nothing else in the
//! server names one.

mod frontend;
mod parts;
pub mod pi;
pub mod trust;

pub use frontend::{Front, Frontend, NoFront};
pub use parts::{Parts, Updates};

/// The dialects that the server speaks. The first one is spoken where none is named.
pub static FRONTENDS: &[Frontend] = &[Frontend::of::<pi::Front>()];
