//! The engine of the reference agent: prompts, runs and queues, without knowledge of any dialect.
//!
//! | module | concept |
//! |---|---|
//! | [`engine`] | prompts, runs, queues |
//! | [`resources`] | skills and prompt templates |
//! | [`prompt`] | system prompts |
//!
//! Applications use the crate `agentese-server`, which re-exports this one. Hidden items are for its other crates.

pub mod engine;
pub mod prompt;
pub mod resources;

use agentese_server_base::{config, dialect_messages, runtime, ui};
use agentese_server_models as providers;
use agentese_server_sessions::{export, session};
use agentese_server_tools as tools;
