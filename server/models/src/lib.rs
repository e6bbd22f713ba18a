//! Models and their providers.
//!
//! A [`Provider`] accepts a request and returns a stream of small events. An [`Assembler`] builds the message from
//! these events. This crate does not depend on sessions, queues or wire formats.
//!
//! | file | concept |
//! |---|---|
//! | `provider`, `request`, `messages`, `event`, `provider_error` | requests to providers, their events and failures |
//! | `assemble`, `partial_json`, `price` | assembly of a message from events |
//! | `history`, `blank` | the part of a conversation that is sent to a model; texts without visible characters |
//! | `catalog`, `select`, `levels` | models by name, the initial model, thinking levels |
//! | `keys`, `key`, `key_variables`, `config_value` | sources and redaction of keys |
//! | `auth_file`, `auth_entry`, `auth_cache` | the file with the user's stored keys |
//! | `device_login` | login with a device code |
//! | `tool_schema` | tools in the form that the API of a model accepts |
//! | `http` | the HTTP client |
//! | `settings`, `config_warning` | the user's settings, and faults in the user's files |
//! | `scripted` | the scripted model |
//!
//! Applications use the crate `agentese-server`, which re-exports this one. Hidden items are for its other crates.

mod assemble;
mod auth_cache;
#[doc(hidden)]
pub mod auth_entry;
#[doc(hidden)]
pub mod auth_file;
mod blank;
mod catalog;
#[doc(hidden)]
pub mod config_value;
mod config_warning;
#[doc(hidden)]
pub mod device_login;
mod event;
mod excerpt;
pub mod history;
#[doc(hidden)]
pub mod http;
#[doc(hidden)]
pub mod key;
mod key_variables;
#[doc(hidden)]
pub mod keys;
#[doc(hidden)]
pub mod levels;
mod messages;
mod partial_json;
mod price;
mod provider;
mod provider_error;
mod request;
pub mod scripted;
mod select;
#[doc(hidden)]
pub mod settings;
#[doc(hidden)]
pub mod tool_schema;

use agentese_server_base::{atomic_write, config, dialect_messages, processes, runtime};

pub use assemble::{Answer, Assembler, UnusableCall, Update};
pub use auth_file::{AuthError, AuthFile};
pub use blank::is_blank;
pub use catalog::{Catalog, ModelSelection, StoreKeyError};
pub use config_warning::ConfigWarning;
pub use device_login::{DeviceCode, DeviceLogin, LoginError};
pub use event::{FinishReason, StreamEvent, TokenCounts};
#[doc(hidden)]
pub use excerpt::excerpt;
pub use http::Client as HttpClient;
pub use keys::{ModelUnavailableError, key_variables};
#[doc(hidden)]
pub use levels::{Efforts, implies_xhigh, levels_with};
pub use levels::{ThinkingLevelRules, levels, nearest_level};
pub use messages::{MessageIter, Messages};
pub use partial_json::JsonDelta;
pub use price::{number, sum_of, tokens};
pub use provider::Provider;
pub use provider_error::{ProviderError, ProviderErrorKind};
pub use request::{Request, ToolDescription, default_max_tokens};
pub use secrecy::{ExposeSecret, SecretString};
pub use select::{InitialModel, SelectError, SelectOptions};
pub use settings::{CacheRetention, Settings, ThinkingTokens};
#[doc(hidden)]
pub use tool_schema::problem as schema_problem;
