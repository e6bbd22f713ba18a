//! Conversations of the reference agent: sessions in files, and their export as pages.
//!
//! Applications use the crate `agentese-server`, which re-exports this one.

pub mod export;
pub mod session;

use agentese_server_base::{atomic_write, runtime};
