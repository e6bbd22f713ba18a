//! Bounds of the agents that an agent sets to work.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::tools::AgentsError;

/// How many generations of children there may be, and how many at once.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Generations below the first agent.
    pub depth: usize,
    /// Children of all generations that are there at once.
    pub at_once: usize,
    /// How deep this engine stands; 0 for the first agent.
    pub(super) generation: usize,
    alive: Arc<AtomicUsize>,
}

impl Default for Bounds {
    fn default() -> Self {
        Self::new(1, 64)
    }
}

impl Bounds {
    /// Those of a first agent.
    pub fn new(depth: usize, at_once: usize) -> Self {
        Self { depth, at_once, generation: 0, alive: Arc::default() }
    }

    /// How many generations there may be below this one.
    pub(super) fn left(&self) -> usize {
        self.depth.saturating_sub(self.generation)
    }

    /// Counts a child in; gives the bounds of that child.
    pub(super) fn enter(&self) -> Result<(Self, Place), AgentsError> {
        if self.generation >= self.depth {
            return Err(AgentsError::TooDeep(self.generation));
        }
        let place = Place(self.alive.clone());
        // The place counts itself out again, also where there was no room for it.
        if self.alive.fetch_add(1, Ordering::AcqRel) >= self.at_once {
            return Err(AgentsError::TooMany(self.at_once));
        }
        Ok((Self { generation: self.generation + 1, ..self.clone() }, place))
    }
}

/// One of those that are there at once.
pub(super) struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
