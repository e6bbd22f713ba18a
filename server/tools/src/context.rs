//! Members of the context of a call: the receiver of partial results, the conversation, the files of an editor.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use super::output::ToolContent;

/// A partial result of a running call. It replaces the previous partial result.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUpdate {
    /// Content so far.
    pub content: Vec<ToolContent>,
    /// Details as in a result; an empty object if there are no details.
    pub details: Option<Value>,
}

/// The receiver of partial results. The default discards them.
#[derive(Clone, Default)]
pub struct Updates(Option<Arc<dyn Fn(ToolUpdate) + Send + Sync>>);

impl Updates {
    /// Returns a receiver that discards every update.
    pub fn none() -> Self {
        Self(None)
    }

    /// Returns a receiver that passes each update to a callback. The callback must not block, because the loop that
    /// reads the output calls it.
    pub fn to(receiver: impl Fn(ToolUpdate) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(receiver)))
    }

    /// Returns true if a callback receives the updates. Otherwise callers need not create updates.
    pub fn wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Sends an update to the receiver.
    pub fn send(&self, update: ToolUpdate) {
        if let Some(receiver) = &self.0 {
            receiver(update);
        }
    }
}

impl fmt::Debug for Updates {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Updates(wanted: {})", self.wanted())
    }
}

/// The conversation to which a call belongs.
pub trait Conversation: Send + Sync {
    /// Returns the details of a tool's newest successful result, or `None` if no result is successful.
    fn last_details(&self, tool: &str) -> Option<Value>;

    /// Returns true if the conversation is stored in a file.
    fn has_file(&self) -> bool;
}

/// Access to files through an editor of the client. Errors are texts for the model.
pub trait EditorFiles: Send + Sync {
    /// Returns true if the editor can read files.
    fn can_read(&self) -> bool;

    /// Returns true if the editor can write files.
    fn can_write(&self) -> bool;

    /// Returns the text of a file.
    fn read<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<String, String>>;

    /// Sets the text of a file.
    fn write<'a>(&'a self, path: &'a Path, text: String) -> BoxFuture<'a, Result<(), String>>;
}
