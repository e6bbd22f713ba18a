//! The base of the reference agent: modules that its other crates use, without dependencies on those crates.
//!
//! | module | concept |
//! |---|---|
//! | [`config`] | directories, settings, trust |
//! | [`runtime`] | time and randomness, as traits |
//! | [`processes`] | starting programs under a guard |
//! | [`ui`] | the user behind the client, as a trait |
//! | [`atomic_write`] | replacement of the content of a file |
//! | [`encoding`], [`clean`], [`escape_sequences`] | encodings of text files, texts of terminals |
//! | [`os_error`] | errors of the operating system as text |
//! | [`dialect_messages`] | messages that only some dialects have |
//!
//! Applications use the crate `agentese-server`, which re-exports the public items. Hidden items are for its other
//! crates.

pub mod atomic_write;
pub mod clean;
pub mod config;
pub mod dialect_messages;
pub mod encoding;
pub mod escape_sequences;
pub mod os_error;
pub mod processes;
pub mod runtime;
pub mod ui;
