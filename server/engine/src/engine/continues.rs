//! Going on by itself after a compaction.

use std::sync::{Arc, Mutex, PoisonError};

use agentese::types::CompactionReason;

use super::{Afterwards, Event, EventSink, GoOn, Hooks, RunOver};
use crate::config::Settings;
use crate::resources::Resources;
use crate::roles::instruction;
use crate::world::Clock;

/// What the model is told then, as omp 13 does.
const GO_ON: &str = "Continue if you have next steps.";

/// Lets a model go on whose conversation was compacted because it filled up, where the settings say so.
pub struct Continues {
    wanted: Mutex<bool>,
    clock: Arc<dyn Clock>,
}

impl Continues {
    /// Goes on where it is wanted.
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
        // As before every prompt, it is looked at whether the conversation has to be compacted: there is nothing to do
        // right behind a compaction, and omp tells of that.
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
