//! Dialects of the reference agent: from the wire to the engine and back.
//!
//! | module | concept |
//! |---|---|
//! | [`server`] | the server that is made of all components |
//! | [`dialects`] | one dialect each: conversion between the wire and the conversation service |
//! | [`conversation`] | one conversation: the work on a command, in every dialect |
//!
//! Applications use the crate `agentese-server`, which re-exports this one.

pub mod conversation;
pub mod dialects;
pub mod server;

use agentese_server_base::{atomic_write, config, runtime, ui};
use agentese_server_engine::{engine, prompt, resources};
use agentese_server_extensions::{extensions, mcp};
use agentese_server_models as providers;
use agentese_server_sessions::session;
use agentese_server_subagents as subagents;
use agentese_server_tools as tools;

pub use server::{Builder, ServeOutcome, Server};
