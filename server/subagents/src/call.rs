//! Data shared by the subagents of one call.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{Mutex, Semaphore};

use super::agent::{Definition, Spawns};
use super::isolate::Lease;
use super::policy::{Policies, Policy};
use super::progress::Progress;
use super::verify::Plan;
use crate::tools::{Agents, Tool, ToolContext};

/// Creates the tool with which a subagent starts subagents of its own.
pub type NestedTool = fn(Policies, Spawns) -> Arc<dyn Tool>;

/// Data shared by the subagents of one call.
pub struct Batch {
    pub context: ToolContext,
    pub agents: Arc<dyn Agents>,
    pub policies: Policies,
    /// Creates the tool of a subagent that may start others.
    pub nested: NestedTool,
    pub policy: Arc<Policy>,
    pub definition: Definition,
    /// The schema of their results.
    pub schema: Option<Value>,
    /// The verification of isolated work.
    pub plan: Option<Plan>,
    /// The copies in which isolated subagents work.
    pub lease: Option<Lease>,
    /// Limits the number of concurrent subagents.
    pub room: Semaphore,
    /// Makes subagents start one after another, in the order of the tasks.
    pub door: Mutex<()>,
    pub progress: Arc<Progress>,
    /// Folder for outputs, patches and similar files.
    pub artifacts: PathBuf,
    /// Folder for their conversations, if these are stored.
    pub histories: Option<PathBuf>,
}
