//! MCP servers: programs and addresses that configuration files name. The model can call their tools, and their prompts
//! are slash commands.
//!
//! | file | concept |
//! |---|---|
//! | `files`, `definition`, `variables` | the definitions of servers in files |
//! | `limits`, `secrets` | time limits, and values that are never displayed |
//! | `stdio`, `http` | the transport to a server |
//! | `running_server`, `handler`, `connection` | one connection: its start, its messages, its requests |
//! | `disconnect`, `error_messages` | the end of a connection, and messages for errors of the SDK |
//! | `server`, `pool` | a server with restarts, and its use by several conversations of a process |
//! | `servers`, `options`, `context` | the servers of one conversation |
//! | `tool`, `result`, `prompts`, `names`, `lenient` | tools and prompts in their form for models and users |
//!
//! The SDK (`rmcp`) implements the protocol. A dialect server requests the states of servers from
//! `ConversationService::mcp`.

mod connection;
mod context;
mod definition;
mod disconnect;
mod error_messages;
mod files;
mod handler;
mod http;
mod lenient;
mod limits;
mod names;
mod options;
mod pool;
mod prompts;
mod result;
mod running_server;
mod secrets;
mod server;
mod servers;
mod stdio;
mod tool;
mod variables;

pub use definition::{ServerDefinition, TransportConfig};
pub use files::{McpConfig, McpPaths, parse_client_servers, read_config};
pub use limits::{LONGEST_PAUSE, McpLimits};
pub use options::McpOptions;
pub use pool::Pool;
pub use prompts::PromptExpansion;
pub use server::{ServerState, ServerStatus};
pub use servers::Servers;
