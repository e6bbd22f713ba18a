//! The protocol between the agent and its extensions. The agent starts extensions as child processes and
//! exchanges frames with them over their stdin and stdout.
//!
//! Each frame is one line of JSON with a `type`. A frame with an `id` is a request and requires exactly one `response`
//! with the same id, in either direction. Each side assigns its own ids. One process may serve several extensions:
//! `extension`, a path from the agent, identifies the extension of a frame.
//!
//! | file | content |
//! |---|---|
//! | `host` | frames of the agent |
//! | `hooks` | events for extensions |
//! | `frames` | frames of an extension |
//! | `dialogs`, `actions` | requests of an extension |
//! | `registration` | contributions of an extension |
//! | `state` | state of the agent for extensions |
//! | `answers` | results by request |

pub mod actions;
pub mod answers;
pub mod dialogs;
pub mod frames;
pub mod hooks;
pub mod host;
pub mod registration;
pub mod state;

use crate::model::Row;

/// The version of this protocol.
pub const VERSION: u64 = 1;

/// All rows of the extension protocol.
pub const ROWS: &[&[Row]] = &[
    registration::ROWS,
    state::ROWS,
    hooks::ROWS,
    host::ROWS,
    dialogs::ROWS,
    actions::ROWS,
    frames::ROWS,
    answers::ROWS,
];

/// The root types, to which no other type refers: the frames of both sides, and the results by request.
pub const ROOTS: &[&str] = &["HostFrame", "ExtensionFrame", "HostAnswers", "HookAnswers", "ExtensionAnswers"];
