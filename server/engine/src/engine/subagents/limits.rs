//! Limits on the subagents of an agent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::tools::SubagentError;

/// Maximum number of generations of subagents, and of concurrent subagents.
#[derive(Debug, Clone)]
pub struct SubagentLimits {
    /// Maximum number of generations below the first agent.
    pub depth: usize,
    /// Maximum number of concurrent subagents of all generations.
    pub max_concurrent: usize,
    /// Generation of this engine; 0 for the first agent.
    pub(in crate::engine) generation: usize,
    alive: Arc<AtomicUsize>,
}

impl Default for SubagentLimits {
    fn default() -> Self {
        Self::new(1, 64)
    }
}

impl SubagentLimits {
    /// Creates the limits of a first agent.
    pub fn new(depth: usize, max_concurrent: usize) -> Self {
        Self { depth, max_concurrent, generation: 0, alive: Arc::default() }
    }

    /// Returns the number of generations that are permitted below this one.
    pub(in crate::engine) fn remaining_depth(&self) -> usize {
        self.depth.saturating_sub(self.generation)
    }

    /// Reserves a slot for a subagent and returns the limits of that subagent. Fails if a limit is reached.
    pub(in crate::engine) fn reserve_child(&self) -> Result<(Self, ChildSlot), SubagentError> {
        if self.generation >= self.depth {
            return Err(SubagentError::TooDeep(self.generation));
        }
        let slot = ChildSlot(self.alive.clone());
        // If no slot is free, dropping the slot decrements the count again.
        if self.alive.fetch_add(1, Ordering::AcqRel) >= self.max_concurrent {
            return Err(SubagentError::TooMany(self.max_concurrent));
        }
        Ok((Self { generation: self.generation + 1, ..self.clone() }, slot))
    }
}

/// A slot among the concurrent subagents, freed on drop.
pub(in crate::engine) struct ChildSlot(Arc<AtomicUsize>);

impl Drop for ChildSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
