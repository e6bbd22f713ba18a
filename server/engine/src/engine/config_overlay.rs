//! Replacement of options in a trusted directory.

use std::sync::Arc;

use crate::prompt::SystemPrompt;
use crate::resources::Resources;
use crate::tools::ToolContext;

/// The replaced options.
pub(super) struct ConfigOverlay {
    pub(super) context: ToolContext,
    pub(super) system_prompt: SystemPrompt,
    pub(super) resources: Arc<Resources>,
}
