//! Data shared by the subagents of one call.

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

/// Creates the tool with which a subagent starts subagents of its own.
pub type NestedTool = fn(SharedPolicy, SpawnPolicy) -> Arc<dyn Tool>;

/// Data shared by the subagents of one call.
pub struct Batch {
    pub context: ToolContext,
    pub agents: Arc<dyn SubagentHost>,
    pub policies: SharedPolicy,
    /// Creates the tool of a subagent that may start others.
    pub nested_tool: NestedTool,
    pub policy: Arc<SubagentPolicy>,
    pub definition: AgentDefinition,
    /// The schema of their results.
    pub schema: Option<Value>,
    /// The verification of isolated work.
    pub plan: Option<VerificationPlan>,
    /// The copies in which isolated subagents work.
    pub lease: Option<WorktreeLease>,
    /// Limits the number of concurrent subagents.
    pub slots: Semaphore,
    /// Makes subagents start one after another, in the order of the tasks.
    pub start_lock: Mutex<()>,
    pub progress: Arc<Progress>,
    /// Folder for outputs, patches and similar files.
    pub artifacts: PathBuf,
    /// Folder for their conversations, if these are stored.
    pub histories: Option<PathBuf>,
}
