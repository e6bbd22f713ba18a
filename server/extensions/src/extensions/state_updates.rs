//! Notification of subscribed extensions about changes of the agent's state and of the session.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use agentese::types::{ContextUsage, HostEntries, HostState, HostStateChanged, KnownTool};
use agentese::wire::Maybe;
use serde_json::{Map, Number, Value};

use super::host::Host;
use super::process::Process;
use super::wire::object;
use crate::engine::Engine;
use crate::tools::ToolSet;

/// Minimum interval between notifications while a value changes continuously.
const MIN_INTERVAL: Duration = Duration::from_millis(200);

/// Approximate maximum size of the session entries in one frame, in bytes.
const MAX_FRAME_BYTES: usize = 4 << 20;

impl Host {
    /// Schedules a notification of subscribers after a possible change. May be called while the lock of the engine's
    /// state is held.
    pub(super) fn schedule_refresh(&self) {
        let Some(me) = self.me.upgrade().filter(|_| self.state_subscribers.has_subscribers()) else { return };
        if tokio::runtime::Handle::try_current().is_ok()
            && !self.state_subscribers.is_scheduled.swap(true, Ordering::AcqRel)
        {
            tokio::spawn(async move {
                me.state_subscribers.is_scheduled.store(false, Ordering::Release);
                *me.state_subscribers.last_notified() = Some(Instant::now());
                for process in me.processes() {
                    me.refresh(&process);
                }
            });
        }
    }

    /// Does the same as [`Host::schedule_refresh`] for frequent changes: only if the last notification is at least
    /// [`MIN_INTERVAL`] old.
    pub(super) fn schedule_throttled_refresh(&self) {
        let long_ago =
            self.state_subscribers.last_notified().is_none_or(|last| last.elapsed() >= MIN_INTERVAL);
        if long_ago {
            self.schedule_refresh();
        }
    }

    /// Sends a subscribed process the changes since its last notification.
    pub(super) fn refresh(&self, process: &Arc<Process>) {
        let Some(engine) = self.engine().filter(|_| self.state_subscribers.has_subscribers()) else { return };
        let mut subscribers = self.state_subscribers.subscribers();
        let Some(subscriber) =
            subscribers.iter_mut().find(|subscriber| Arc::ptr_eq(&subscriber.process, process))
        else {
            return;
        };
        if let Some(known) = &mut subscriber.state {
            let now = object(serde_json::to_value(host_state(self, &engine)).unwrap_or_default());
            let changed: Map<String, Value> = now
                .iter()
                .filter(|(name, value)| known.get(*name) != Some(value))
                .map(|(n, v)| (n.clone(), v.clone()))
                .collect();
            if !changed.is_empty()
                && let Ok(changed) = serde_json::from_value::<HostState>(Value::Object(changed))
            {
                process.send_now(HostStateChanged::new(changed));
            }
            *known = now;
        }
        if let Some((session, count, leaf)) = &mut subscriber.entries {
            let Some(changes) = engine.entries_after(session, *count, leaf.as_deref()) else { return };
            let (id, reset, entries) = changes;
            *count = if reset { entries.entries.len() } else { *count + entries.entries.len() };
            *session = id;
            leaf.clone_from(&entries.leaf);
            let mut header = reset.then(|| object(entries.header));
            for piece in chunks(entries.entries) {
                let entries_ = piece.into_iter().map(object).collect();
                let mut frame = HostEntries::new(header.is_some(), entries_, leaf.clone());
                frame.header = header.take();
                process.send_now(frame);
            }
        }
    }
}

/// Divides entries into groups, one group for each frame. Returns one empty group if there are no entries.
fn chunks(entries: Vec<Value>) -> Vec<Vec<Value>> {
    let (mut pieces, mut size) = (vec![Vec::new()], 0);
    for entry in entries {
        let more = size_of(&entry);
        if size > 0 && size + more > MAX_FRAME_BYTES {
            pieces.push(Vec::new());
            size = 0;
        }
        size += more;
        pieces.last_mut().expect("there is one").push(entry);
    }
    pieces
}

/// Returns the approximate length of a value as JSON.
fn size_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| size_of(item) + 1).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| name.len() + size_of(value) + 4).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 5,
    }
}

/// Returns the whole state.
pub(super) fn host_state(host: &Host, engine: &Engine) -> HostState {
    let view = engine.status();
    let mut state = HostState::new();
    state.idle = Some(engine.is_idle());
    state.pending_messages = Some(view.pending as u64);
    state.model = Maybe::or_null(view.model);
    state.models = Some(engine.models());
    state.thinking_level = Some(view.thinking);
    state.session_id = Some(view.session_id);
    state.session_file = Maybe::or_null(view.session_file.map(|file| file.to_string_lossy().into_owned()));
    state.session_name = Maybe::or_null(view.session_name);
    state.system_prompt = Some(engine.system_prompt());
    state.context_usage = Maybe::or_null(engine.context_usage().map(|(tokens, model)| {
        let window = model.context_window;
        let percent = (window > 0).then(|| tokens as f64 * 100.0 / window as f64).and_then(Number::from_f64);
        ContextUsage::new(Some(tokens), window, percent)
    }));
    let active = engine.tools();
    state.active_tools = Some(active.names().map(str::to_owned).collect());
    state.tools = Some(known_tools(&active));
    state.commands = Some(host.commands());
    state.flags = Some(host.flags());
    state
}

/// Returns all known tools: the tools that the model can call, and the other built-in tools.
fn known_tools(active: &ToolSet) -> Vec<KnownTool> {
    let mut all = ToolSet::available();
    for tool in active.iter() {
        all.add(tool.clone());
    }
    let known = |tool: &Arc<dyn crate::tools::Tool>| {
        KnownTool::new(tool.name(), tool.description(), object(tool.parameters()))
    };
    all.iter().map(known).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_session_is_sent_in_pieces_in_its_order() {
        let entry = |number: usize, bytes: usize| json!({"id": number, "data": "x".repeat(bytes)});
        let entries = vec![
            entry(0, 10),
            entry(1, MAX_FRAME_BYTES / 2),
            entry(2, MAX_FRAME_BYTES / 2),
            entry(3, 3 * MAX_FRAME_BYTES),
            entry(4, 1),
        ];
        let pieces = chunks(entries.clone());
        let sizes: Vec<usize> = pieces.iter().map(Vec::len).collect();
        assert_eq!(sizes, [2, 1, 1, 1]);
        assert_eq!(pieces.concat(), entries);
        assert_eq!(chunks(Vec::new()), [Vec::<Value>::new()]);
    }
}
