//! Providers that are called over HTTP, each in the wire format of its API.
//!
//! The crate `agentese-server-models` has the trait of providers and the part of them that an engine depends on.
//!
//! | file | concept |
//! |---|---|
//! | `load`, `definitions`, `catalog.json` | available models: the built-in table and `models.json` |
//! | `remote_provider`, `draft`, `apis`, `http` | providers on the network: wire formats and transport |
//! | `copilot` | the provider behind a login with a device code |
//!
//! Applications use the crate `agentese-server`, which re-exports this one.

mod apis;
mod copilot;
mod definitions;
mod draft;
mod http;
mod load;
mod remote_provider;

use agentese_server_base::{config, runtime};
use agentese_server_models::*;

pub use load::{Sources, load};
