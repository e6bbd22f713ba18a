//! Options that replace others once the working directory is trusted.

use std::sync::Arc;

use crate::prompt::SystemPrompt;
use crate::resources::Resources;
use crate::tools::ToolContext;

/// The options that the trusted configuration replaces.
pub(super) struct ConfigOverlay {
    pub(super) context: ToolContext,
    pub(super) system_prompt: SystemPrompt,
    pub(super) resources: Arc<Resources>,
}
