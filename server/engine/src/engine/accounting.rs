//! Usage of the agent and its subagents, and the limits on it.

pub(in crate::engine) mod budget;
pub(in crate::engine) mod run_limits;
pub(in crate::engine) mod usage_tracker;
