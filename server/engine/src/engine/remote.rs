//! A remote agent that does the work of an engine in place of its model and tools.

pub(in crate::engine) mod agent;
pub(in crate::engine) mod delivery;
pub(in crate::engine) mod event_loop;
pub(in crate::engine) mod run;
pub(in crate::engine) mod sessions;
