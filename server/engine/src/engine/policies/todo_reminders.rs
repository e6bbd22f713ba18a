//! Reminders to a model about unfinished todos.

use std::sync::{Arc, Mutex, PoisonError};

use agentese::types::{AgentMessage, AssistantBlock};

use crate::config::{Settings, TodoSettings};
use crate::dialect_messages::developer_message;
use crate::engine::{Event, EventSink, FollowUpRun, Hooks, PostRunPolicy, RunSummary};
use crate::resources::Resources;
use crate::runtime::Clock;
use crate::tools::{TodoList, TodoTool};

/// Reminds a model that stops with unfinished todos, up to the limit in the settings. Each prompt of the user resets
/// the count.
pub struct TodoReminders {
    state: Mutex<ReminderState>,
    clock: Arc<dyn Clock>,
}

struct ReminderState {
    settings: TodoSettings,
    /// Number of reminders since the last input of the user.
    reminders_sent: u32,
}

impl TodoReminders {
    /// Creates the policy with the given settings.
    pub fn new(settings: TodoSettings, clock: Arc<dyn Clock>) -> Self {
        Self { state: Mutex::new(ReminderState { settings, reminders_sent: 0 }), clock }
    }
}

impl PostRunPolicy for TodoReminders {
    fn after_run(&self, run: &RunSummary<'_>, sink: &dyn EventSink) -> Option<FollowUpRun> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if run.messages.iter().any(|message| matches!(**message, AgentMessage::User(_))) {
            state.reminders_sent = 0;
        }
        let limit = state.settings.max_reminders;
        let calls = |block: &AssistantBlock| matches!(block, AssistantBlock::ToolCall(_));
        if run.stopped
            || !state.settings.enabled
            || !state.settings.reminders
            || run.answer?.content.iter().any(calls)
        {
            return None;
        }
        let list = TodoList::of(run.session.last_result(TodoTool::NAME)?.details.as_option());
        let todos = list.open();
        if todos.is_empty() {
            state.reminders_sent = 0;
            return None;
        }
        if state.reminders_sent >= limit {
            return None;
        }
        state.reminders_sent += 1;
        let attempt = state.reminders_sent;
        sink.push(Event::TodoReminder { todos: &todos, attempt: attempt.into(), limit: limit.into() });
        let text = format!(
            "<system-reminder>\nYou stopped, and {} of your todo items are not done:\n{}\nGo on with them, or mark those \
             as completed that are.\n(Reminder {attempt} of {limit})\n</system-reminder>",
            todos.len(),
            list.outline(),
        );
        let unseen = vec![developer_message(text, self.clock.now_ms())];
        Some(FollowUpRun { silent_messages: unseen, ..FollowUpRun::default() })
    }
}

impl Hooks for TodoReminders {
    fn trusted(&self, settings: &Settings, _: &Resources) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).settings = settings.todo;
    }
}
