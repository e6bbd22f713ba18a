//! Limits on the subagents of an agent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::tools::AgentsError;

/// Maximum number of generations of children, and of concurrent children.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Maximum number of generations below the first agent.
    pub depth: usize,
    /// Maximum number of concurrent children of all generations.
    pub at_once: usize,
    /// Generation of this engine; 0 for the first agent.
    pub(super) generation: usize,
    alive: Arc<AtomicUsize>,
}

impl Default for Bounds {
    fn default() -> Self {
        Self::new(1, 64)
    }
}

impl Bounds {
    /// Creates the limits of a first agent.
    pub fn new(depth: usize, at_once: usize) -> Self {
        Self { depth, at_once, generation: 0, alive: Arc::default() }
    }

    /// Returns the number of generations that are permitted below this one.
    pub(super) fn left(&self) -> usize {
        self.depth.saturating_sub(self.generation)
    }

    /// Reserves a place for a child and returns the limits of that child. Fails if a limit is reached.
    pub(super) fn enter(&self) -> Result<(Self, Place), AgentsError> {
        if self.generation >= self.depth {
            return Err(AgentsError::TooDeep(self.generation));
        }
        let place = Place(self.alive.clone());
        // If there is no room, dropping the place decrements the count again.
        if self.alive.fetch_add(1, Ordering::AcqRel) >= self.at_once {
            return Err(AgentsError::TooMany(self.at_once));
        }
        Ok((Self { generation: self.generation + 1, ..self.clone() }, place))
    }
}

/// A place among the concurrent children, freed on drop.
pub(super) struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
