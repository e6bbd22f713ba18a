//! The parts of a call's surroundings: the receiver of its updates, the conversation, the files of an editor.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use super::output::ToolContent;

/// A partial result, sent while the call runs. Each replaces the one before it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUpdate {
    /// What is there so far.
    pub content: Vec<ToolContent>,
    /// As in a result, but an empty object where there is nothing to add.
    pub details: Option<Value>,
}

/// Where partial results go. The default discards them.
#[derive(Clone, Default)]
pub struct Updates(Option<Arc<dyn Fn(ToolUpdate) + Send + Sync>>);

impl Updates {
    /// Discards every update.
    pub fn none() -> Self {
        Self(None)
    }

    /// Hands every update to `receiver`, which must not block: it is called from the loop that reads the output.
    pub fn to(receiver: impl Fn(ToolUpdate) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(receiver)))
    }

    /// Whether anybody listens, so that an update nobody sees is not built.
    pub fn wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Passes one update on.
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

/// The conversation that a call belongs to, as far as tools look at it.
pub trait Conversation: Send + Sync {
    /// The details of the newest result of a tool that was no error; none where there is none.
    fn last_details(&self, tool: &str) -> Option<Value>;

    /// Whether it is kept in a file.
    fn is_kept(&self) -> bool;
}

/// Access to the files of an editor. Failures are messages for the model.
pub trait TextFiles: Send + Sync {
    /// Returns true if the editor can read files.
    fn reads(&self) -> bool;

    /// Returns true if the editor can write files.
    fn writes(&self) -> bool;

    /// Returns the text of a file.
    fn read<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<String, String>>;

    /// Sets the text of a file.
    fn write<'a>(&'a self, path: &'a Path, text: String) -> BoxFuture<'a, Result<(), String>>;
}
