//! What an extension host speaks with its extensions: the agent starts them as child processes and talks
//! with them over their stdin and stdout.
//!
//! Each frame is one line of JSON with a `type`. A frame with an `id` wants exactly one `response` with
//! the same id, in either direction; the two sides count their ids on their own. One process may serve
//! several extensions: `extension`, the path that the agent named, says which one is meant.
//!
//! | file | what |
//! |---|---|
//! | `host` | frames of the agent |
//! | `hooks` | the events that it tells of |
//! | `frames` | frames of an extension |
//! | `dialogs`, `actions` | what an extension asks for |
//! | `registration` | what an extension brings |
//! | `state` | what an extension can look at |
//! | `answers` | which result belongs to which question |

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

/// All rows of the host's protocol.
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

/// The types that nothing else refers to: the frames of both sides, and the results by question.
pub const ROOTS: &[&str] = &["HostFrame", "ExtensionFrame", "HostAnswers", "HookAnswers", "ExtensionAnswers"];
