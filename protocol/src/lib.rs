//! The declaration of the protocols between coding agents and clients over newline-delimited JSON.
//!
//! The five dialects (pi, omp, pisces, Operator, Opal) are declared as tables of commands, events, dialogs and types.
//! The tables are plain `const` data: no I/O, no dependencies. Generators read them through [`index::Index`].
//!
//! Each row declares a contract in addition to a shape: required members, the time of an answer, the end of a run,
//! documented failures. [`dialects::pi`] shows an example of a declaration, and [`dsl`] describes its syntax.

#![recursion_limit = "512"]

pub mod acp;
pub mod agui;
pub mod check;
mod declared_types;
pub mod dialect;
pub mod dialects;
pub mod dsl;
pub mod extension;
pub mod index;
pub mod intent;
pub mod matching;
pub mod meaning;
pub mod measure;
pub mod model;
pub mod secrets;
pub mod typed;
pub mod types;
pub mod view;

pub use dialect::{Dialect, Revision};
pub use dialects::{BRIDGED, DIALECTS, PROTOCOLS};
pub use index::Index;

/// The source text of [`matching`]. Its definitions are plain data, so that generated code can contain the same ones.
pub const MATCHING_SOURCE: &str = include_str!("matching.rs");
