//! A conversation of an engine, with its name and its file.
//!
//! A session is a tree of [`Entry`]s of which one branch is active. Messages are added one at a time. Each message is
//! written by the caller, or by a thread for which the caller waits. So no client receives a message that a crash of
//! this process would lose. The file is created with the user's first message. The format is that of pi 0.55: lines of
//! JSON, beginning with a [`Header`]. Lines are only added, never changed.
//!
//! | file | concept |
//! |---|---|
//! | `live_session`, `open`, `add`, `save` | the conversation: opening, additions, saving |
//! | `entry`, `entry_id`, `body`, `content`, `header`, `members`, `time` | one line: its content and its text |
//! | `entry_line` | a new entry as a line, without a session |
//! | `source`, `message_snapshot`, `messages` | decoding of messages when they are read |
//! | `fast_parse` | fast parse of a line with a message |
//! | `lenient_decode` | lenient decoding of messages of other programs |
//! | `load`, `load_large`, `migrate` | parsing of a file into entries |
//! | `tree`, `context`, `system_messages` | links between entries, the messages that the model sees, system messages |
//! | `stats` | counts, tokens and cost |
//! | `line_text` | the text of a line, in memory or in its file |
//! | `session_writer`, `file`, `appender`, `sync`, `storage`, `disk` | writing of lines to the disk |
//! | `thread_pool`, `claims` | threads, open files and claims that the sessions of a process share |
//! | `options` | parameters that all sessions share |
//! | `store`, `session_summary`, `file_names` | the directories with the files |
//! | `fork`, `delete` | forks, moves to an earlier entry, deletion |

mod add;
mod appender;
mod body;
mod claims;
mod content;
mod context;
mod delete;
mod disk;
mod entry;
mod entry_id;
mod entry_line;
mod error;
mod fast_parse;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod faults;
mod file;
mod file_names;
mod fork;
mod header;
mod lenient_decode;
mod line_text;
mod live_session;
mod load;
mod load_large;
mod members;
mod message_snapshot;
mod messages;
mod migrate;
mod open;
mod options;
mod save;
mod session_summary;
mod session_writer;
mod source;
mod stats;
mod storage;
mod store;
mod sync;
mod system_messages;
mod thread_pool;
mod time;
mod tree;

pub use body::{Body, BranchSummary, Compaction, Role};
pub use context::{BranchSettings, EntryMessage};
pub use entry::Entry;
pub use entry_id::EntryId;
pub use entry_line::EntryLine;
pub use error::{DeleteError, EmptyNameError, ForkError, Holder, OpenError, StorageError};
pub use file_names::{may_be_id, one_line};
pub use header::{Header, VERSION};
pub use live_session::{ExternalSession, Session};
pub use load::Repairs;
pub use message_snapshot::{MessageSnapshot, StoredMessage};
pub use options::SessionOptions;
pub use session_summary::SessionSummary;
pub use stats::Stats;
pub use store::{IdClaim, ResolveError, Scope, Store};
