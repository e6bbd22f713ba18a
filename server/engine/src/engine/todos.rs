//! Reminders of a model about unfinished todos.

use std::sync::{Arc, Mutex, PoisonError};

use agentese::types::{AgentMessage, AssistantBlock};

use super::{Afterwards, Event, EventSink, GoOn, Hooks, RunOver};
use crate::config::{Settings, TodoSettings};
use crate::resources::Resources;
use crate::roles::instruction;
use crate::tools::{Todo, TodoList};
use crate::world::Clock;

/// Reminds a model that stops with unfinished todos, up to the limit in the settings. Each prompt of the user resets
/// the count.
pub struct Reminders {
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
}

struct State {
    settings: TodoSettings,
    /// Number of reminders since the last input of the user.
    given: u32,
}

impl Reminders {
    /// Creates the policy with those settings.
    pub fn new(settings: TodoSettings, clock: Arc<dyn Clock>) -> Self {
        Self { state: Mutex::new(State { settings, given: 0 }), clock }
    }
}

impl Afterwards for Reminders {
    fn after(&self, run: &RunOver<'_>, sink: &dyn EventSink) -> Option<GoOn> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if run.messages.iter().any(|message| matches!(**message, AgentMessage::User(_))) {
            state.given = 0;
        }
        let limit = state.settings.most_reminders;
        let calls = |block: &AssistantBlock| matches!(block, AssistantBlock::ToolCall(_));
        if run.stopped
            || !state.settings.enabled
            || !state.settings.reminders
            || run.answer?.content.iter().any(calls)
        {
            return None;
        }
        let list = TodoList::of(run.session.last_result(Todo::NAME)?.details.as_option());
        let todos = list.open();
        if todos.is_empty() {
            state.given = 0;
            return None;
        }
        if state.given >= limit {
            return None;
        }
        state.given += 1;
        let attempt = state.given;
        sink.push(Event::Reminded { todos: &todos, attempt: attempt.into(), limit: limit.into() });
        let text = format!(
            "<system-reminder>\nYou stopped, and {} of your todo items are not done:\n{}\nGo on with them, or mark those \
             as completed that are.\n(Reminder {attempt} of {limit})\n</system-reminder>",
            todos.len(),
            list.outline(),
        );
        let unseen = vec![instruction(text, self.clock.now_ms())];
        Some(GoOn { unseen, ..GoOn::default() })
    }
}

impl Hooks for Reminders {
    fn trusted(&self, settings: &Settings, _: &Resources) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).settings = settings.todo;
    }
}
