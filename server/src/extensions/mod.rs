//! Extensions: programs in any language that the user adds, as processes that speak the protocol of
//! `docs/reference/extensions.md`.
//!
//! | file | concept |
//! |---|---|
//! | `discover`, `manifest`, `node_host` | where extensions are and how they are started |
//! | `settings` | how patient the host is |
//! | `before` | questions that can be taken back, because something has not begun |
//! | `process`, `outbox`, `calls`, `flood` | one process, what it is sent, the questions to it, how much it may say |
//! | `host`, `start`, `restart` | which extensions there are, asking them; their beginning and end |
//! | `hooks`, `told` | what the engine does, as extensions hear of it |
//! | `guards` | which of them guard tools, and are not there |
//! | `commands`, `tool`, `flags`, `resources` | what extensions bring |
//! | `requests`, `actions`, `dialogs`, `withdrawn` | what extensions ask for |
//! | `watch` | telling those who want to know of every change |

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

/// The type of an event or a frame, as it stands on the wire.
fn type_of<T: Record>() -> &'static str {
    match T::CONSTANTS {
        [(_, ConstantValue::String(name)), ..] => name,
        _ => "",
    }
}
