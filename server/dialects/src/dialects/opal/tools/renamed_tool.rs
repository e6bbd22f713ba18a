//! A tool under another name.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::tools::{Tool, ToolContext, ToolOutput};

/// Another name for a tool.
pub(super) struct RenamedTool {
    name: &'static str,
    description: String,
    inner: Arc<dyn Tool>,
}

/// Names of other tools in a description, each with the name that replaces it.
const NAME_REPLACEMENTS: [(&str, &str); 3] =
    [("use edit.", "use edit_file."), ("use write.", "use write_file."), ("use read.", "use read_file.")];

impl RenamedTool {
    pub fn new(name: &'static str, inner: Arc<dyn Tool>) -> Self {
        let description = NAME_REPLACEMENTS
            .iter()
            .fold(inner.description().to_owned(), |text, (theirs, ours)| text.replace(theirs, ours));
        Self { name, description, inner }
    }
}

impl Tool for RenamedTool {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> Value {
        self.inner.parameters()
    }

    fn normalize_arguments(&self, arguments: Value) -> Value {
        self.inner.normalize_arguments(arguments)
    }

    fn read_only(&self) -> bool {
        self.inner.read_only()
    }

    fn shared(&self) -> bool {
        self.inner.shared()
    }

    fn is_terminal(&self) -> bool {
        self.inner.is_terminal()
    }

    fn execute<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        self.inner.execute(context, arguments)
    }
}
