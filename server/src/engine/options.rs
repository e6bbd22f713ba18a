//! What an engine is made of.

use std::sync::Arc;

use agentese::types::{QueueMode, ThinkingLevel};

use crate::config::{CompactionSettings, Persist, RetrySettings};
use crate::prompt::SystemPrompt;
use crate::providers::{Catalog, Chosen};
use crate::session::Store;
use crate::tools::{ToolContext, ToolSet};
use crate::world::{Clock, Ids};

/// The parts of an engine; all of them stay as they are while it lives.
#[derive(Clone)]
pub struct Options {
    /// The models that there are.
    pub catalog: Catalog,
    /// The model to begin with.
    pub model: Option<Chosen>,
    /// Why there is no model, where there is none: the end of a sentence for the user.
    pub no_model: String,
    /// The models that cycling goes through; empty: all of them.
    pub scope: Vec<Chosen>,
    /// How hard models think unless their name says so; the nearest level that a model has counts.
    pub thinking: Option<ThinkingLevel>,
    /// The level where nobody asked for one, nor the session names one; medium by default.
    pub default_thinking: Option<ThinkingLevel>,
    /// How steering messages are delivered, to begin with.
    pub steering_mode: QueueMode,
    /// How follow-ups are delivered, to begin with.
    pub follow_up_mode: QueueMode,
    /// How the agent tries again, to begin with.
    pub retry: RetrySettings,
    /// How the agent compacts, to begin with.
    pub compaction: CompactionSettings,
    /// Where sessions are kept; none where they are not.
    pub store: Option<Store>,
    /// Keeps what a client sets.
    pub persist: Arc<dyn Persist>,
    /// What models are told beforehand.
    pub system_prompt: SystemPrompt,
    /// The tools.
    pub tools: ToolSet,
    /// What surrounds each call: directory, spawner, shell. Its abort and updates are not used.
    pub context: ToolContext,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Identifiers.
    pub ids: Arc<dyn Ids>,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Options")
            .field("catalog", &self.catalog)
            .field("model", &self.model)
            .field("cwd", &self.context.cwd)
            .finish_non_exhaustive()
    }
}
