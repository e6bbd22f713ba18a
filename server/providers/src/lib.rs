//! Providers on the network: a model is asked in the wire format of its API, over HTTP.
//!
//! The trait that they implement, and all that an engine knows of models, is in `agentese-server-models`.
//!
//! | file | concept |
//! |---|---|
//! | `load`, `definitions`, `catalog.json` | the models that there are: the built-in table and `models.json` |
//! | `remote`, `draft`, `apis`, `http` | providers on the network: wire formats, and the way there |
//! | `copilot` | the provider behind a login with a device code |
//!
//! Applications use the crate `agentese-server`, which re-exports this one.

mod apis;
mod copilot;
mod definitions;
mod draft;
mod http;
mod load;
mod remote;

use agentese_server_base::{config, world};
use agentese_server_models::*;

pub use load::{Sources, load};
