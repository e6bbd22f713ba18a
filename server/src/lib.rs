//! The reference agent of agentese, as a library: a headless coding agent that communicates with a client in
//! lines of JSON.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! use agentese_server::Server;
//!
//! let (ours, theirs) = agentese::transport::memory_pair(1 << 16);
//! let server = Server::builder().cwd(std::env::temp_dir()).build();
//! let served = tokio::spawn(server.serve(theirs));
//! drop(ours); // A client would send commands here; this one closes the connection.
//! served.await?;
//! # Ok::<(), tokio::task::JoinError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate is a facade: its modules are in separate crates, which compile side by side
//! (`agentese-server-base`, `-tools`, `-sessions`, `-models`, `-providers`, `-engine`, `-extensions`,
//! `-subagents`, `-dialects`).
//!
//! Layers, each dependent only on those below it:
//!
//! | layer | purpose |
//! |---|---|
//! | [`server`] | assembly of the components to one agent |
//! | [`dialects`] | one dialect each: conversion between the wire and the conversation |
//! | [`conversation`] | one conversation: the work on a command, in every dialect |
//! | [`extensions`], [`mcp`] | programs that the user adds, in the agent's own protocol and in MCP |
//! | [`engine`] | prompts, runs, queues |
//! | [`ui`] | the user of the client, as a trait |
//! | [`resources`] | skills and prompt templates |
//! | [`prompt`] | system prompts |
//! | [`providers`], [`tools`], [`session`], [`config`] | models, tools, conversations, paths and the user's decisions |
//! | [`export`] | sessions as readable pages |
//! | [`runtime`] | time and randomness |

#[doc(inline)]
pub use agentese_server_base::{config, runtime, ui};
#[doc(inline)]
pub use agentese_server_dialects::{conversation, dialects, server};
#[doc(inline)]
pub use agentese_server_engine::{engine, prompt, resources};
#[doc(inline)]
pub use agentese_server_extensions::{extensions, mcp};
#[doc(inline)]
pub use agentese_server_sessions::{export, session};
#[doc(inline)]
pub use agentese_server_subagents as subagents;
#[doc(inline)]
pub use agentese_server_tools as tools;
pub use server::{Builder, ServeOutcome, Server};

/// Models, and the providers that serve them.
pub mod providers {
    pub use agentese_server_models::{
        Answer, Assembler, AuthError, AuthFile, CacheRetention, Catalog, ConfigWarning, DeviceCode,
        DeviceLogin, ExposeSecret, FinishReason, HttpClient, InitialModel, JsonDelta, LoginError,
        MessageIter, Messages, ModelSelection, ModelUnavailableError, Provider, ProviderError,
        ProviderErrorKind, Request, SecretString, SelectError, SelectOptions, Settings, StoreKeyError,
        StreamEvent, ThinkingLevelRules, ThinkingTokens, TokenCounts, ToolDescription, UnusableCall, Update,
        default_max_tokens, history, is_blank, key_variables, levels, nearest_level, number, scripted,
        sum_of, tokens,
    };
    pub use agentese_server_providers::{Sources, load};
}

/// Atomic replacement of the content of files.
pub mod atomic_write {
    pub use agentese_server_base::atomic_write::log_abandoned_backups;
}
