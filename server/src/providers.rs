//! Models and whoever answers for them.
//!
//! A [`Provider`] takes a request and gives a stream of small events; [`Assembler`] makes the
//! message of them. Nothing here knows sessions or queues; wire formats are known in `apis` alone.
//!
//! | file | concept |
//! |---|---|
//! | `provider`, `request`, `messages`, `event`, `failure` | what a provider is asked, what it says, why it fails |
//! | `assemble`, `partial_json`, `price` | from events to a message |
//! | `history`, `blank` | what of a conversation a model gets to see; texts that show nothing |
//! | `catalog`, `select`, `levels` | models by name, the one to begin with, thinking levels |
//! | `load`, `definitions`, `complaint`, `catalog.json` | the models that there are: the built-in table and `models.json` |
//! | `keys`, `key`, `auth_file`, `auth_entry`, `auth_seen`, `value` | keys: where they come from, and how they stay hidden |
//! | `device_login`, `copilot` | logging in with a device code, and the provider behind that |
//! | `remote`, `draft`, `apis`, `http` | providers on the network: wire formats, and the way there |
//! | `settings` | what the user can set about all this |
//! | `scripted` | the embedded model |

mod apis;
mod assemble;
mod auth_entry;
mod auth_file;
mod auth_seen;
mod blank;
mod catalog;
mod complaint;
mod copilot;
mod declarations;
mod definitions;
mod device_login;
mod draft;
mod event;
mod failure;
pub mod history;
mod http;
mod key;
mod key_variables;
mod keys;
mod levels;
mod load;
mod messages;
mod partial_json;
mod price;
mod provider;
mod remote;
mod request;
pub mod scripted;
mod select;
mod settings;
mod value;

pub use apis::most_tokens;
pub use assemble::{Answer, Assembler, UnusableCall, Update};
pub use auth_file::{AuthError, AuthFile};
pub use blank::is_blank;
pub use catalog::{Catalog, Chosen, StoreKeyError};
pub use complaint::Complaint;
pub(crate) use declarations::problem as schema_problem;
pub use device_login::{DeviceCode, DeviceLogin, LoginError};
pub use event::{Done, StreamEvent, TokenCounts};
pub use failure::{Failure, FailureKind};
pub use http::Client as HttpClient;
pub use keys::{NotReady, key_variables};
pub use levels::{LevelCustoms, levels, nearest_level};
pub use load::{Sources, load};
pub use messages::{MessageIter, Messages};
pub use partial_json::Grown;
pub use price::{number, sum_of, tokens};
pub use provider::Provider;
pub use request::{Request, ToolDescription};
pub use secrecy::{ExposeSecret, SecretString};
pub use select::{SelectError, Selected, Wanted};
pub use settings::{Budgets, Cache, Settings};
