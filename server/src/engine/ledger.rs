//! What an agent and its children have used.

use std::sync::{Arc, Mutex, PoisonError};

use agentese::types::Usage;

use crate::providers::tokens;

/// Sums of what was used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    /// Tokens of all kinds.
    pub tokens: u64,
    /// Cost in US dollars.
    pub cost: f64,
    /// Requests to models that were answered.
    pub requests: u64,
    /// Calls of tools.
    pub tool_calls: u64,
    /// Children that were started.
    pub children: u64,
}

/// Counts what one engine uses, and tells the ledger of its parent.
#[derive(Debug, Default)]
pub struct Ledger {
    spent: Mutex<Spent>,
    parent: Option<Arc<Ledger>>,
}

impl Ledger {
    /// One whose sums are part of another's.
    pub fn within(parent: Arc<Ledger>) -> Self {
        Self { spent: Mutex::default(), parent: Some(parent) }
    }

    /// What was used so far, by the engine and its children.
    pub fn spent(&self) -> Spent {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A model has answered.
    pub fn answered(&self, usage: &Usage) {
        let (tokens, cost) = (tokens(usage), usage.cost.total.as_f64().unwrap_or_default());
        self.add(&|spent| {
            spent.requests += 1;
            spent.tokens = spent.tokens.saturating_add(tokens);
            spent.cost += cost;
        });
    }

    /// A tool was called.
    pub fn called(&self) {
        self.add(&|spent| spent.tool_calls += 1);
    }

    /// A child was started.
    pub fn started_child(&self) {
        self.add(&|spent| spent.children += 1);
    }

    fn add(&self, change: &dyn Fn(&mut Spent)) {
        change(&mut self.spent.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(parent) = &self.parent {
            parent.add(change);
        }
    }
}
