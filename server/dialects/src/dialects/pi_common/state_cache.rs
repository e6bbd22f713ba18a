//! Cache of the last state response: repeated requests mostly get the same text.

use std::sync::{Mutex, PoisonError};

use agentese::serve::Segments;
use agentese::types::{InterruptMode, QueueMode, ThinkingLevel};
use serde::Serialize;

use crate::engine::{Engine, EngineStatus};

/// Space that is reserved after the data of a response, in bytes.
const TAIL_CAPACITY: usize = 16;

/// Returns a placeholder status for a handler whose response has been sent already.
pub(in crate::dialects) fn empty_view() -> EngineStatus {
    EngineStatus {
        model: None,
        thinking: ThinkingLevel::Off,
        streaming: false,
        working: false,
        waiting: false,
        compacting: false,
        auto_compaction: false,
        steering_mode: QueueMode::All,
        follow_up_mode: QueueMode::All,
        interrupt_mode: InterruptMode::Wait,
        session_id: String::new(),
        session_file: None,
        session_name: None,
        messages: 0,
        pending: 0,
    }
}

/// The last status and its text.
#[derive(Debug, Default)]
pub(in crate::dialects) struct StateCache(Mutex<Option<(EngineStatus, String)>>);

impl StateCache {
    /// Returns the state as text. `state` builds the state from the engine's status; if the status has not changed,
    /// the last text is copied. Returns `None` if the state cannot be serialized.
    pub fn text<T: Serialize>(
        &self,
        engine: &Engine,
        state: impl FnOnce(EngineStatus) -> T,
    ) -> Option<Segments> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match &*last {
            Some((status, text)) if engine.has_status(status) => text,
            _ => {
                let status = engine.status();
                let text = serde_json::to_string(&state(status.clone())).ok()?;
                &last.insert((status, text)).1
            }
        };
        let mut pieces = Segments::with_capacity(text.len() + TAIL_CAPACITY);
        pieces.push_str(text);
        Some(pieces)
    }
}
