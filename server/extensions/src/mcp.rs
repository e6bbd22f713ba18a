//! MCP servers: programs and addresses that files name, whose tools the model can call and whose prompts are commands.
//!
//! | file | concept |
//! |---|---|
//! | `files`, `definition`, `variables` | which servers there are, as files say |
//! | `limits`, `secrets` | how patient the agent is, and what nobody sees |
//! | `stdio`, `http` | the way to a server |
//! | `life`, `handler`, `connection`, `fault`, `failure` | one connection: its start, what is said over it, its end |
//! | `server`, `pool` | a server that is started again, and shared by the conversations of a process |
//! | `servers` | the servers of one conversation |
//! | `tool`, `result`, `prompts`, `names` | what they offer, as models and users see it |
//!
//! The protocol itself is the SDK's (`rmcp`). A front asks `Desk::mcp` for the state of servers.

mod around;
mod connection;
mod definition;
mod failure;
mod fault;
mod files;
mod handler;
mod http;
mod life;
mod limits;
mod names;
mod options;
mod parts;
mod pool;
mod prompts;
mod result;
mod secrets;
mod server;
mod servers;
mod stdio;
mod tool;
mod variables;

pub use definition::{Definition, Launch};
pub use files::{Found, Places, find, given};
pub use limits::{LONGEST_PAUSE, Limits};
pub use options::Options;
pub use pool::Pool;
pub use prompts::Expanded;
pub use server::{State, Status};
pub use servers::Servers;
