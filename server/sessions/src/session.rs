//! The conversation that an engine works on, with its name and the file that keeps it.
//!
//! A session is a tree of [`Entry`]s of which one branch is active. Messages are added one at a time and in order. The
//! caller, or a thread for which the caller waits, hands each message to the file. So no client sees a message that a
//! crash would lose. The file appears with the user's first message. The format is that of pi 0.55: lines of JSON, with
//! a [`Header`] first. Lines are only ever added.
//!
//! | file | concept |
//! |---|---|
//! | `live`, `open`, `add`, `save` | the conversation: opening, additions, saving |
//! | `entry`, `entry_id`, `body`, `content`, `line`, `header`, `members` | one line: its content and its text |
//! | `source`, `transcript`, `messages` | decoding of messages when they are read |
//! | `glance` | fast parse of a line with a message |
//! | `foreign` | lenient decoding of messages of other programs |
//! | `load`, `large`, `migrate` | parsing of a file into entries |
//! | `tree`, `context`, `told` | links between entries, the messages that the model sees, system messages |
//! | `text` | the text of a line, which a large file keeps |
//! | `writer`, `file`, `appender`, `sync`, `storage`, `disk` | writing of lines to the disk |
//! | `crew`, `claims` | threads, open files and claims that the sessions of a process share |
//! | `store`, `record`, `names` | the directories with the files |
//! | `fork`, `place` | forks, moves to an earlier entry, deletion |

mod add;
mod appender;
mod body;
mod claims;
mod content;
mod context;
mod crew;
mod disk;
mod entry;
mod entry_id;
mod error;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod faults;
mod file;
mod foreign;
mod fork;
mod glance;
mod header;
mod large;
mod line;
mod live;
mod load;
mod members;
mod messages;
mod migrate;
mod names;
mod open;
mod place;
mod record;
mod save;
mod source;
mod start;
mod stats;
mod storage;
mod store;
mod sync;
mod text;
mod time;
mod told;
mod transcript;
mod tree;
mod writer;

pub use body::{Body, BranchSummary, Compaction, Role};
pub use context::{BranchSettings, EntryMessage};
pub use entry::Entry;
pub use entry_id::EntryId;
pub use error::{DeleteError, EmptyNameError, ForkError, Holder, OpenError, StorageError};
pub use header::{Header, VERSION};
pub use line::EntryLine;
pub use live::{ExternalSession, Session};
pub use load::Repairs;
pub use names::{may_be_id, one_line};
pub use record::Record;
pub use start::SessionOptions;
pub use stats::Stats;
pub use store::{IdClaim, ResolveError, Scope, Store};
pub use transcript::{MessageSnapshot, StoredMessage};
