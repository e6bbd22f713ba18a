//! One module per dialect: from the wire to the desk and back. No front decides anything: what every dialect would do
//! belongs to [`crate::desk`], what the agent does to [`crate::engine`].
//!
//! A new dialect is a folder here with a [`Front`], and a line in [`FRONTENDS`]. Nothing else in the
//! server names one.

pub mod family;
mod frontend;
pub mod omp;
pub mod opal;
pub mod operator;
pub mod pi;
pub mod pisces;

pub use frontend::{Front, Frontend, NoFront};

/// The dialects that the server speaks. The first one is spoken where none is named.
pub static FRONTENDS: &[Frontend] = &[
    Frontend::of::<pi::Front>(),
    Frontend::of::<operator::Front>(),
    Frontend::of::<omp::Front>(),
    Frontend::of::<pisces::Front>(),
    Frontend::of::<opal::Front>(),
];
