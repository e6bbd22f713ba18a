//! The state as it was told last: who asks again and again mostly hears the same.

use std::sync::{Mutex, PoisonError};

use agentese::serve::Pieces;
use agentese::types::{InterruptMode, QueueMode, ThinkingLevel};
use serde::Serialize;

use crate::engine::{Engine, View};

/// Room for what stands behind the data of an answer, in bytes.
const END: usize = 16;

/// A view of nothing, for what the handler of a call gives that has its answer.
pub(in crate::fronts) fn nothing() -> View {
    View {
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

/// The view that was told last, and its text.
#[derive(Debug, Default)]
pub(in crate::fronts) struct Told(Mutex<Option<(View, String)>>);

impl Told {
    /// The text of what `state` makes of the engine's view: the one that was given last where the view is the same, and
    /// nothing is made or copied but that text then. None where it cannot be written.
    pub fn text<T: Serialize>(&self, engine: &Engine, state: impl FnOnce(View) -> T) -> Option<Pieces> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match &*last {
            Some((view, text)) if engine.is_as(view) => text,
            _ => {
                let view = engine.view();
                let text = serde_json::to_string(&state(view.clone())).ok()?;
                &last.insert((view, text)).1
            }
        };
        let mut pieces = Pieces::with_capacity(text.len() + END);
        pieces.push_str(text);
        Some(pieces)
    }
}
