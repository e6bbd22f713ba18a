//! What an engine is made of.

use std::sync::Arc;

use agentese::types::{Model, ThinkingLevel};

use super::{Afterwards, Bounds, Chain, Customs, Fairness, Lead, Ledger, Unsaved};
use crate::config::{Persist, Settings};
use crate::prompt::SystemPrompt;
use crate::providers::{Catalog, Chosen};
use crate::resources::{ExtensionCommands, Resources};
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
    /// What the session to begin with is called, in place of the name that it has.
    pub session_name: Option<String>,
    /// Where sessions are kept; none where they are not.
    pub store: Option<Store>,
    /// What models are told beforehand.
    pub system_prompt: SystemPrompt,
    /// Skills and prompt templates.
    pub resources: Arc<Resources>,
    /// The commands that extensions registered.
    pub extension_commands: Arc<dyn ExtensionCommands>,
    /// What the user has decided beforehand.
    pub settings: Settings,
    /// Keeps what a client sets.
    pub persist: Arc<dyn Persist>,
    /// Who looks into what the engine does.
    pub hooks: Chain,
    /// How it behaves where agents differ.
    pub customs: Customs,
    /// What may follow a run besides retries and compactions, in the order in which they are asked.
    pub afterwards: Vec<Arc<dyn Afterwards>>,
    /// How many agents it may set to work.
    pub bounds: Bounds,
    /// The agent that does the work, where that is another one: models, tools and policies of these options are not used
    /// then.
    pub lead: Option<Arc<dyn Lead>>,
    /// Counts what is used.
    pub ledger: Arc<Ledger>,
    /// The tools.
    pub tools: ToolSet,
    /// Whether those are all the tools: hooks add none.
    pub only_these_tools: bool,
    /// What surrounds each call: directory, spawner, shell. Its abort and updates are not used.
    pub context: ToolContext,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Identifiers.
    pub ids: Arc<dyn Ids>,
    /// The line in which the work of all engines of a process waits, so that much of it holds nobody up.
    pub fairness: Fairness,
    /// Where the engine says, when it has ended, what it could not keep.
    pub unsaved: Unsaved,
}

impl Options {
    /// The level nearest to the one that is wanted, of those that the model has.
    pub(super) fn nearest_level(&self, model: Option<&Model>, wanted: ThinkingLevel) -> ThinkingLevel {
        model.map_or(ThinkingLevel::Off, |model| self.catalog.nearest_level(model, wanted))
    }
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
