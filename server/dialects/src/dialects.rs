//! Dialect servers convert between the wire of one dialect and the conversation service. They make no decisions:
//! behaviour of all dialects belongs to [`crate::conversation`], behaviour of the agent to [`crate::engine`].
//!
//! A new dialect is a folder here with a [`DialectServer`], and a line in [`DIALECTS`]. Nothing else in the
//! server names a dialect.

pub mod acp;
mod blocking;
mod dialect_server;
pub mod omp;
pub mod opal;
pub mod operator;
pub mod pi;
pub mod pi_common;
pub mod pisces;
mod registry;

pub use dialect_server::{DialectEntry, DialectServer};
pub use registry::{ACP, DIALECTS, DialectLookupError};
