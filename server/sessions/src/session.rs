//! The conversation that an engine works on: who said what, in order, what it is called, and the
//! file that keeps it.
//!
//! A session is a tree of [`Entry`]s of which one branch is active. Messages come in one at a time
//! and in order; each is handed to the file, by the caller or by a thread for which the caller waits, so that nobody
//! sees more than a crash leaves. The file comes with the user's first message. The format is that of pi 0.55:
//! lines of JSON, a [`Header`] first, to which lines are only ever added.
//!
//! | file | what it knows |
//! |---|---|
//! | `live`, `open`, `add`, `save` | the conversation itself: how it begins, what is added, how it reaches its file |
//! | `entry`, `entry_id`, `body`, `content`, `line`, `header`, `members` | one line: what it says, and its text |
//! | `source`, `transcript`, `messages` | from the text of a line to its message, when the message is read |
//! | `glance` | a line with a message, taken in without decoding |
//! | `foreign` | messages that another program wrote in a shape of its own |
//! | `load`, `large`, `migrate` | from the bytes of a file to its entries |
//! | `tree`, `context`, `told` | which entry follows which, and what the model sees of it and is told beforehand |
//! | `text` | the text of a line, which a large file keeps |
//! | `writer`, `file`, `appender`, `sync`, `storage`, `disk` | how lines reach the disk |
//! | `crew`, `claims` | what all sessions of a process share: threads, open files, and which sessions are its own |
//! | `store`, `record`, `names` | the directories with the files |
//! | `fork`, `place` | a new session from a part of another; going back in place, deleting |

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
pub use context::{Restored, Spoken};
pub use entry::Entry;
pub use entry_id::EntryId;
pub use error::{DeleteError, EmptyName, ForkError, Holder, OpenError, StorageTrouble};
pub use header::{Header, VERSION};
pub use line::EntryLine;
pub use live::{Elsewhere, Session};
pub use load::Repairs;
pub use names::{may_be_id, one_line};
pub use record::Record;
pub use start::Start;
pub use stats::Stats;
pub use store::{IdClaim, ResolveError, Scope, Store};
pub use transcript::{StoredMessage, Transcript};
