//! One module per dialect: from the wire to the desk and back. No front decides anything: what every dialect would do
//! belongs to [`crate::desk`], what the agent does to [`crate::engine`].
//!
//! A new dialect is a folder here with a [`Front`], and a line in [`FRONTENDS`]. Nothing else in the
//! server names one.

pub mod acp;
pub mod family;
mod frontend;
pub mod omp;
pub mod opal;
pub mod operator;
pub mod pi;
pub mod pisces;

pub use frontend::{Front, Frontend, NoFront};

/// ACP, which is no dialect: editors name it in another way.
pub static ACP: Frontend = Frontend::of::<acp::Front>();

/// The revisions that the server speaks, of each dialect the oldest first. The first one is spoken where none is named.
pub static FRONTENDS: &[Frontend] = &[
    Frontend::of::<pi::Front>(),
    Frontend::at::<pi::Front>(1),
    Frontend::at::<pi::Front>(2),
    Frontend::of::<operator::Front>(),
    Frontend::of::<omp::Front>(),
    Frontend::at::<omp::Front>(1),
    Frontend::of::<pisces::Front>(),
    Frontend::of::<opal::Front>(),
];
