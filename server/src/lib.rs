//! The reference agent of agentese, as a library: a headless coding agent that speaks to a client
//! in lines of JSON.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! use agentese_server::Server;
//!
//! let (ours, theirs) = agentese::transport::memory_pair(1 << 16);
//! let server = Server::builder().cwd(std::env::temp_dir()).build();
//! let served = tokio::spawn(server.serve(theirs));
//! drop(ours); // A client would speak here; this one hangs up.
//! served.await?;
//! # Ok::<(), tokio::task::JoinError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Layers, each knowing only those below it:
//!
//! | layer | what it knows |
//! |---|---|
//! | [`server`] | how the parts become one agent |
//! | [`fronts`] | one dialect each: from the wire to the desk and back |
//! | [`desk`] | one conversation: what is done with a command whatever its dialect |
//! | [`extensions`], [`mcp`] | programs that the user adds, in the agent's own protocol and in MCP |
//! | [`engine`] | prompts, runs, queues |
//! | [`ui`] | the person behind the client, as a trait |
//! | [`resources`] | skills and prompt templates |
//! | [`prompt`] | what a model is told beforehand |
//! | [`providers`], [`tools`], [`session`], [`config`] | models, what they can do, what was said, where things are and what the user has decided |
//! | [`export`] | sessions as pages that people read |
//! | `roles` | messages that only some dialects have |
//! | [`world`] | time and chance |

pub mod desk;
pub mod engine;
pub mod extensions;
pub mod fronts;
pub mod mcp;
pub mod prompt;
pub mod providers {
    //! Models, and the providers that answer for them.
    pub use agentese_server_models::*;
    pub use agentese_server_providers::{Sources, load};
}
pub mod resources;
pub mod server;
pub mod subagents;

pub use agentese_server_base::{config, replace, ui, world};
use agentese_server_base::{encoding, processes, roles};
pub use agentese_server_sessions::{export, session};
pub use agentese_server_tools as tools;
pub use server::{Builder, Served, Server};
