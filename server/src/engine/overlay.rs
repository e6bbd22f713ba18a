//! What counts in place of the options in a directory that is trusted.

use std::sync::Arc;

use crate::prompt::SystemPrompt;
use crate::resources::Resources;
use crate::tools::ToolContext;

/// What is kept of it.
pub(super) struct Overlay {
    pub(super) context: ToolContext,
    pub(super) system_prompt: SystemPrompt,
    pub(super) resources: Arc<Resources>,
}
