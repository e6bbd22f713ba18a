//! The pi family: the dialects pi, omp and pisces, and the code that they share.
//!
//! [`PiCommonServer`] has the commands that all three share (`agentese::pi::BaseService`). Each dialect adds its
//! own commands in its own folder: `agentese::pi::DialectCommands` has the commands of pi alone.
//! `agentese::omp::BaseService` has the commands of omp that pisces inherits. Events that a dialect does not
//! declare are not sent.
//!
//! | file | concept |
//! |---|---|
//! | `dialect`, `server` | the dialects, and the server of each |
//! | `revision_features` | the differences between revisions |
//! | `service` | the commands that all of them share |
//! | `sink`, `snapshot`, `append_text` | events, and the updates of an answer |
//! | `convert` | values of the engine in the form of the family |
//! | `pi_1_5_events` | events in the form of pi 1.5 |
//! | `state_cache` | the last state response |
//! | `client_ui` | notices and questions |

mod append_text;
mod client_ui;
pub(in crate::dialects) mod convert;
mod dialect;
mod pi_1_5_events;
mod revision_features;
mod server;
mod service;
mod sink;
mod snapshot;
pub(in crate::dialects) mod state_cache;

pub(super) use convert::{command_error, path_text};
pub use dialect::PiCommon;
pub(super) use revision_features::RevisionFeatures;
pub use server::PiCommonServer;
pub(super) use service::input_receipt;
