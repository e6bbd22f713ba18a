//! The settings and places that count for subagents.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use super::definition::{Definition, load};
use crate::config::TaskSettings;

/// What counts for the subagents of a session.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// `task.*`.
    pub settings: TaskSettings,
    /// The folder with the user's agents.
    pub user_agents: Option<PathBuf>,
    /// The folder with the project's agents; none where the project is not trusted.
    pub project_agents: Option<PathBuf>,
    /// Whether the working directory is trusted: git then follows the configuration of its repository.
    pub trusted: bool,
    /// The folder for copies of repositories.
    pub worktrees: PathBuf,
    /// The agents, once somebody has asked for them.
    agents: OnceLock<Vec<Definition>>,
}

impl Policy {
    /// Those settings, and copies of repositories in that folder. Agents are the bundled ones alone.
    pub fn new(settings: TaskSettings, worktrees: PathBuf) -> Self {
        Self { settings, worktrees, ..Self::default() }
    }

    /// The agents that there are. The first call reads files.
    pub(super) fn agents(&self) -> &[Definition] {
        self.agents.get_or_init(|| load(self))
    }
}

/// The policy of now: another one counts once the working directory is trusted.
#[derive(Debug, Clone, Default)]
pub struct Policies(Arc<RwLock<Arc<Policy>>>);

impl Policies {
    /// Begins with that one.
    pub fn new(policy: Policy) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(policy))))
    }

    /// The one that counts now.
    pub fn now(&self) -> Arc<Policy> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on that one counts.
    pub fn replace(&self, policy: Policy) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
    }
}
