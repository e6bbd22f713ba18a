//! Settings and folders that apply to subagents.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use super::agent::AgentDefinition;
use crate::config::TaskSettings;

/// Settings and folders for the subagents of a session.
#[derive(Debug, Clone, Default)]
pub struct SubagentPolicy {
    /// The settings `task.*`.
    pub settings: TaskSettings,
    /// The folder with the user's agents.
    pub user_agents: Option<PathBuf>,
    /// The folder with the project's agents; `None` if the project is not trusted.
    pub project_agents: Option<PathBuf>,
    /// True if the working directory is trusted. Git then uses the configuration of its repository.
    pub trusted: bool,
    /// The folder for copies of repositories.
    pub worktrees: PathBuf,
    /// The available agents. Set when they are first used.
    pub(super) agents: OnceLock<Vec<AgentDefinition>>,
}

impl SubagentPolicy {
    /// Creates a policy with these settings, and with `worktrees` as the folder for copies. It has only the bundled
    /// agents.
    pub fn new(settings: TaskSettings, worktrees: PathBuf) -> Self {
        Self { settings, worktrees, ..Self::default() }
    }
}

/// Holder of the current policy, which is replaced when the working directory becomes trusted.
#[derive(Debug, Clone, Default)]
pub struct SharedPolicy(Arc<RwLock<Arc<SubagentPolicy>>>);

impl SharedPolicy {
    /// Creates a holder with an initial policy.
    pub fn new(policy: SubagentPolicy) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(policy))))
    }

    /// Returns the current policy.
    pub fn current(&self) -> Arc<SubagentPolicy> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the current policy.
    pub fn replace(&self, policy: SubagentPolicy) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
    }
}
