//! The declaration of the protocols that coding agents speak over newline-delimited JSON.
//!
//! Five dialects (pi, omp, pisces, Operator, Opal) are declared as tables of commands, events,
//! dialogs and types. The tables are plain `const` data: no I/O, no dependencies. Generators walk
//! them through [`index::Index`].
//!
//! Each row carries the contract and not only the shape: which members must be there, when a
//! command is answered, what ends a run, which failures are documented. Look at
//! [`dialects::pi`] for how a declaration reads and at [`dsl`] for its forms.

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
pub use dialects::{DIALECTS, PROTOCOLS};
pub use index::Index;

/// The text of [`matching`]: its words are plain data, so that generated code can have the same ones.
pub const MATCHING_WORDS: &str = include_str!("matching.rs");
