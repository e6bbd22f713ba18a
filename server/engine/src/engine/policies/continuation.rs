//! Automatic continuation after a compaction.

use std::sync::{Arc, Mutex, PoisonError};

use agentese::types::CompactionReason;

use crate::config::Settings;
use crate::dialect_messages::developer_message;
use crate::engine::{Event, EventSink, FollowUpRun, Hooks, PostRunPolicy, RunSummary};
use crate::resources::Resources;
use crate::runtime::Clock;

/// Instruction to the model, as in omp 13.
const CONTINUE_INSTRUCTION: &str = "Continue if you have next steps.";

/// Continues the work of a model after an automatic compaction, if the settings enable it.
pub struct ContinueAfterCompaction {
    enabled: Mutex<bool>,
    clock: Arc<dyn Clock>,
}

impl ContinueAfterCompaction {
    /// Creates the policy; `enabled` turns it on.
    pub fn new(enabled: bool, clock: Arc<dyn Clock>) -> Self {
        Self { enabled: Mutex::new(enabled), clock }
    }
}

impl PostRunPolicy for ContinueAfterCompaction {
    fn after_run(&self, _: &RunSummary<'_>, _: &dyn EventSink) -> Option<FollowUpRun> {
        None
    }

    fn after_compaction(&self, reason: &CompactionReason, sink: &dyn EventSink) -> Option<FollowUpRun> {
        if !*self.enabled.lock().unwrap_or_else(PoisonError::into_inner) {
            return None;
        }
        // As before every prompt, the need for a compaction is checked. Directly after a compaction there is nothing to
        // do, and omp emits these events nevertheless.
        sink.push(Event::CompactionStarted { reason });
        sink.push(Event::CompactionEnded { result: None, aborted: false, will_retry: false, error: None });
        Some(FollowUpRun {
            messages: vec![developer_message(CONTINUE_INSTRUCTION, self.clock.now_ms())],
            ..FollowUpRun::default()
        })
    }
}

impl Hooks for ContinueAfterCompaction {
    fn trusted(&self, settings: &Settings, _: &Resources) {
        *self.enabled.lock().unwrap_or_else(PoisonError::into_inner) = settings.compaction.auto_continue;
    }
}
