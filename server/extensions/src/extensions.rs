//! Extensions: programs in any language that the user adds, as processes that speak the protocol of
//! `docs/reference/extensions.md`.
//!
//! | file | concept |
//! |---|---|
//! | `discover`, `manifest`, `node_host` | search for extensions and their start commands |
//! | `settings` | time limits and other limits |
//! | `before` | requests that can be withdrawn, because an action has not started |
//! | `process`, `outbox`, `calls`, `flood` | one process, its queue, its pending requests, its rate limit |
//! | `host`, `start`, `restart` | the set of extensions, requests to them; their start and end |
//! | `hooks`, `told` | actions and events of the engine for extensions |
//! | `guards` | guards of tools that are not running |
//! | `commands`, `tool`, `flags`, `resources` | contributions of extensions |
//! | `requests`, `actions`, `dialogs`, `withdrawn` | requests of extensions |
//! | `watch` | notification of subscribers about every change |

mod actions;
mod before;
mod calls;
mod commands;
mod dialogs;
mod discover;
mod flags;
mod flood;
mod guards;
mod hooks;
mod host;
mod manifest;
mod node_host;
mod outbox;
mod process;
mod requests;
mod resources;
mod restart;
mod settings;
mod start;
mod told;
mod tool;
mod watch;
mod withdrawn;

use agentese::wire::{ConstantValue, Record};

pub use commands::Invoked;
pub use discover::{Found, Start, Unusable, Wanted, brings_any, discover};
pub use flags::{GivenFlag, NO_MESSAGES, complaints};
pub use hooks::{GIVEN_UP, Heard};
pub use host::{Host, Options};
pub use node_host::{NODE_HOST, NodeHost};
pub use settings::Limits;
pub use told::Told;

/// Returns the type of an event or a frame, as on the wire.
fn type_of<T: Record>() -> &'static str {
    match T::CONSTANTS {
        [(_, ConstantValue::String(name)), ..] => name,
        _ => "",
    }
}
