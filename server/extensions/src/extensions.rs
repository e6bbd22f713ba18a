//! Extensions: programs in any language that the user adds. They run as processes that speak the protocol of
//! `docs/reference/extensions.md`.
//!
//! | file | concept |
//! |---|---|
//! | `discover`, `manifest`, `node_host` | search for extensions and their start commands |
//! | `settings` | time limits and other limits |
//! | `pre_hooks`, `pending_prompts` | requests about actions that have not started; these requests can be withdrawn |
//! | `process`, `outbox`, `calls`, `rate_limiter` | one process, its queue, its pending requests, its rate limit |
//! | `host`, `start`, `pending_starts`, `restart` | the set of extensions, requests to them; their start and end |
//! | `hooks`, `event_forwarder` | actions and events of the engine for extensions |
//! | `guards` | guards of tools that are not running |
//! | `commands`, `tool`, `flags`, `command_line_flag`, `resources` | contributions of extensions |
//! | `dispatch`, `response`, `actions`, `dialogs`, `cancelled_dialogs` | requests of extensions |
//! | `state_updates`, `state_subscribers` | notification of subscribers about every change |
//! | `wire` | types of frames, and objects within them |

mod actions;
mod calls;
mod cancelled_dialogs;
mod command_line_flag;
mod commands;
mod dialogs;
mod discover;
mod dispatch;
mod event_forwarder;
mod flags;
mod guards;
mod hooks;
mod host;
mod manifest;
mod node_host;
mod outbox;
mod pending_prompts;
mod pending_starts;
mod pre_hooks;
mod process;
mod rate_limiter;
mod resources;
mod response;
mod restart;
mod settings;
mod start;
mod state_subscribers;
mod state_updates;
mod tool;
mod wire;

pub use command_line_flag::CommandLineFlag;
pub use commands::CommandInvocation;
pub use discover::{
    DiscoveredExtension, DiscoveryError, ExtensionPaths, LaunchMethod, contains_extensions, discover,
};
pub use event_forwarder::EventForwarder;
pub use flags::{MESSAGES_IGNORED, flag_warnings};
pub use hooks::{CANCELLED, InputHookResult};
pub use host::{Host, HostOptions};
pub use node_host::{NODE_HOST, NodeHost};
pub use settings::ExtensionLimits;
