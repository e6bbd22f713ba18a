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

use std::ffi::OsString;
use std::sync::Arc;

pub use definition::{Definition, Launch};
pub use files::{Found, Places, find, given};
pub use limits::{LONGEST_PAUSE, Limits};
pub use pool::Pool;
pub use prompts::Expanded;
pub use server::{State, Status};
pub use servers::Servers;

use crate::providers::{self, HttpClient};
use crate::tools::Spawner;
use crate::world::{Clock, SystemClock};

/// What the servers of a conversation are made of.
#[derive(Clone)]
pub struct Options {
    /// The servers.
    pub definitions: Vec<Definition>,
    /// How patient the agent is with them.
    pub limits: Limits,
    /// Only these of their tools count; none: all of them. See [`Servers::choose`].
    pub chosen: Option<Vec<String>>,
    /// Variables that servers do not get unless their definition gives them.
    pub hidden: Vec<OsString>,
    /// How servers that listen are reached.
    pub http: Arc<HttpClient>,
    /// The servers that run; conversations with the same pool share them.
    pub pool: Pool,
    /// The clock that spaces out the lists of a server which tells of many changes.
    pub clock: Arc<dyn Clock>,
}

impl Default for Options {
    fn default() -> Self {
        let nothing = |_: &str| None;
        Self {
            definitions: Vec::new(),
            limits: Limits::default(),
            chosen: None,
            hidden: Vec::new(),
            http: Arc::new(HttpClient::new(&providers::Settings::default(), &nothing)),
            pool: Pool::default(),
            clock: Arc::new(SystemClock),
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Options")
            .field("definitions", &self.definitions)
            .field("limits", &self.limits)
            .field("chosen", &self.chosen)
            .finish_non_exhaustive()
    }
}

/// What surrounds a server.
#[derive(Clone)]
struct Around {
    spawner: Arc<dyn Spawner>,
    hidden: Vec<OsString>,
    limits: Limits,
    http: Arc<HttpClient>,
    clock: Arc<dyn Clock>,
}
