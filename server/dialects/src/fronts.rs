//! Fronts: adapters between the wire of a dialect and the desk. A front decides nothing. Behaviour of all
//! dialects belongs to [`crate::desk`], behaviour of the agent to [`crate::engine`].
//!
//! A new dialect is a folder here with a [`Front`], and a line in [`FRONTENDS`]. Nothing else in the
//! server names a dialect.

pub mod acp;
pub mod family;
mod frontend;
pub mod omp;
pub mod opal;
pub mod operator;
pub mod pi;
pub mod pisces;

pub use frontend::{Front, Frontend, NoFront};

/// ACP, which is not a dialect: editors select it with an option of its own.
pub static ACP: Frontend = Frontend::of::<acp::Front>();

/// The revisions that the server speaks, the oldest of each dialect first. Without a choice, the server
/// speaks the first entry.
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
