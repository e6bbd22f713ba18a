//! Data that the subagents of one call share.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{Mutex, Semaphore};

use super::agent::{AgentDefinition, SpawnPolicy};
use super::isolation::WorktreeLease;
use super::policy::{SharedPolicy, SubagentPolicy};
use super::progress::Progress;
use super::verification::VerificationPlan;
use crate::tools::{SubagentHost, Tool, ToolContext};

/// A function that creates the tool `task` for a subagent.
pub type NestedTool = fn(SharedPolicy, SpawnPolicy) -> Arc<dyn Tool>;

/// Data that the subagents of one call share.
pub struct Batch {
    pub context: ToolContext,
    pub agents: Arc<dyn SubagentHost>,
    pub policies: SharedPolicy,
    /// Creates the tool `task` for a subagent that may start others.
    pub nested_tool: NestedTool,
    pub policy: Arc<SubagentPolicy>,
    pub definition: AgentDefinition,
    /// The JSON Schema of the subagents' results.
    pub schema: Option<Value>,
    /// The verification of the work of isolated subagents.
    pub plan: Option<VerificationPlan>,
    /// The copies in which isolated subagents work.
    pub lease: Option<WorktreeLease>,
    /// Limits the number of concurrent subagents.
    pub slots: Semaphore,
    /// Held during the start of a subagent, so that subagents start one after another in the order of the tasks.
    pub start_lock: Mutex<()>,
    pub progress: Arc<Progress>,
    /// Folder for the outputs, patches and other files of the call.
    pub artifacts: PathBuf,
    /// Folder for the subagents' conversations. `None` if they are not stored.
    pub histories: Option<PathBuf>,
}
