//! Programs that users add to the reference agent: extensions in the agent's own protocol, and MCP servers.
//!
//! Applications use the crate `agentese-server`, which re-exports this one.

pub mod extensions;
pub mod mcp;

use agentese_server_base::{config, runtime, ui};
use agentese_server_engine::{engine, resources};
use agentese_server_models as providers;
use agentese_server_tools as tools;
