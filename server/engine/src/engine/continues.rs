//! Automatic continuation after a compaction.

use std::sync::{Arc, Mutex, PoisonError};

use agentese::types::CompactionReason;

use super::{Afterwards, Event, EventSink, GoOn, Hooks, RunOver};
use crate::config::Settings;
use crate::resources::Resources;
use crate::roles::instruction;
use crate::world::Clock;

/// Instruction to the model, as in omp 13.
const GO_ON: &str = "Continue if you have next steps.";

/// Continues the work of a model after an automatic compaction, if the settings enable it.
pub struct Continues {
    wanted: Mutex<bool>,
    clock: Arc<dyn Clock>,
}

impl Continues {
    /// Creates the policy; `wanted` enables it.
    pub fn new(wanted: bool, clock: Arc<dyn Clock>) -> Self {
        Self { wanted: Mutex::new(wanted), clock }
    }
}

impl Afterwards for Continues {
    fn after(&self, _: &RunOver<'_>, _: &dyn EventSink) -> Option<GoOn> {
        None
    }

    fn after_compaction(&self, reason: &CompactionReason, sink: &dyn EventSink) -> Option<GoOn> {
        if !*self.wanted.lock().unwrap_or_else(PoisonError::into_inner) {
            return None;
        }
        // As before every prompt, the need for a compaction is checked. Directly after a compaction there is nothing to
        // do, and omp emits these events nevertheless.
        sink.push(Event::CompactionStarted { reason });
        sink.push(Event::CompactionEnded { result: None, aborted: false, will_retry: false, error: None });
        Some(GoOn { messages: vec![instruction(GO_ON, self.clock.now_ms())], ..GoOn::default() })
    }
}

impl Hooks for Continues {
    fn trusted(&self, settings: &Settings, _: &Resources) {
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = settings.compaction.auto_continue;
    }
}
