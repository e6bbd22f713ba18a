//! The requests to an engine: prompts, control, sessions, models, export, shell commands, and the interface for
//! extensions.

pub(in crate::engine) mod commands;
pub(in crate::engine) mod control;
pub(in crate::engine) mod export;
pub(in crate::engine) mod extension_api;
pub(in crate::engine) mod extension_resources;
pub(in crate::engine) mod line_hashes;
pub(in crate::engine) mod mentions;
pub(in crate::engine) mod models;
pub(in crate::engine) mod policy;
pub(in crate::engine) mod prompt;
pub(in crate::engine) mod reservation;
pub(in crate::engine) mod resources;
pub(in crate::engine) mod sessions;
pub(in crate::engine) mod shell;
pub(in crate::engine) mod trust;
pub(in crate::engine) mod user_input;
