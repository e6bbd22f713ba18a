//! Reducers of the state outside of the messages: queue, dialogs, notices, status, settings, tasks.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::super::conversation::Conversation;
use super::super::panel::{Delivery, Draft, Notice, OpenQuestion, PendingInput, PendingInputState};
use super::slots::{ReducerContext, Slots, id_text, record, text};

/// Maximum number of stored notices.
const NOTICES: usize = 100;

pub(in super::super) fn wait(conversation: &mut Conversation, slots: &Slots, about: &ReducerContext<'_>) {
    let key = conversation.next_key();
    let mode = slots.get("mode").and_then(|mode| serde_json::from_value(mode.clone()).ok());
    conversation.waiting.push(PendingInput {
        key,
        text: text(slots, "text").unwrap_or_default().to_owned(),
        images: slots.get("images").and_then(Value::as_u64).unwrap_or(0),
        mode: mode.unwrap_or_default(),
        state: PendingInputState::Sent,
        id: about.id.cloned(),
    });
}

pub(in super::super) fn waited(conversation: &mut Conversation, slots: &Slots, about: &ReducerContext<'_>) {
    let Some(id) = about.id else { return };
    let is_meant = |item: &PendingInput| id_text(item.id.as_ref()) == id_text(Some(id));
    let Some(place) = conversation.waiting.iter().position(is_meant) else { return };
    match slots.get("state").cloned().map(serde_json::from_value::<PendingInputState>) {
        Some(Ok(state)) => conversation.waiting[place].state = state,
        _ => {
            conversation.waiting.remove(place);
        }
    }
}

pub(in super::super) fn queue(conversation: &mut Conversation, slots: &Slots) {
    let mut left = std::mem::take(&mut conversation.waiting);
    let mut queued = Vec::new();
    for (mode, name) in [(Delivery::Steer, "steering"), (Delivery::FollowUp, "followUp")] {
        let texts = slots.get(name).and_then(Value::as_array).into_iter().flatten();
        for text in texts.filter_map(Value::as_str) {
            // A prompt sent during a run is in one of the queues.
            let same = |item: &PendingInput| {
                item.text == text && (item.mode == mode || item.mode == Delivery::Prompt)
            };
            let item = match left.iter().position(same) {
                Some(place) => left.remove(place),
                None => {
                    let key = conversation.next_key();
                    PendingInput { key, text: text.to_owned(), ..PendingInput::default() }
                }
            };
            queued.push(PendingInput { mode, state: PendingInputState::Queued, ..item });
        }
    }
    left.retain(|item| item.mode == Delivery::Prompt || item.state == PendingInputState::Sent);
    left.extend(queued);
    conversation.waiting = left;
}

/// Sets a member of the conversation by its name. A name with a dot selects a member inside another.
fn assign(conversation: &mut Conversation, name: &str, value: Option<&Value>) {
    fn put<T: DeserializeOwned>(member: &mut Option<T>, value: Option<&Value>) {
        *member = value.and_then(|value| serde_json::from_value(value.clone()).ok());
    }
    let (first, second) = name.split_once('.').unwrap_or((name, ""));
    match (first, second) {
        ("session", "id") => put(&mut conversation.session.id, value),
        ("session", "file") => put(&mut conversation.session.file, value),
        ("session", "name") => put(&mut conversation.session.name, value),
        ("session", "directory") => put(&mut conversation.session.directory, value),
        ("context", "tokens") => put(&mut conversation.context.get_or_insert_default().tokens, value),
        ("context", "window") => put(&mut conversation.context.get_or_insert_default().window, value),
        ("run", "activity") => put(&mut conversation.run.activity, value),
        ("title", "") => put(&mut conversation.title, value),
        ("model", "") => put(&mut conversation.model, value),
        ("thinkingLevel", "") => put(&mut conversation.thinking_level, value),
        ("commands", "") => put(&mut conversation.commands, value),
        ("models", "") => put(&mut conversation.models, value),
        ("forkPoints", "") => put(&mut conversation.fork_points, value),
        ("todos", "") => put(&mut conversation.todos, value),
        ("settings", name) => {
            conversation.settings.shift_remove(name);
            conversation.settings.extend(value.map(|value| (name.to_owned(), value.clone())));
        }
        _ => {}
    }
}

pub(in super::super) fn set(conversation: &mut Conversation, slots: &Slots, about: &ReducerContext<'_>) {
    for name in &about.names {
        assign(conversation, name, slots.get(*name));
    }
}

pub(in super::super) fn keep(conversation: &mut Conversation, slots: &Slots) {
    for (name, value) in slots {
        assign(conversation, name, Some(value));
    }
}

pub(in super::super) fn usage(conversation: &mut Conversation, mut slots: Slots) {
    if let Some(usage) = record(&mut slots, "usage") {
        conversation.usage = usage;
    }
}

pub(in super::super) fn ask(conversation: &mut Conversation, mut slots: Slots, about: &ReducerContext<'_>) {
    let Some(id) = about.id else { return };
    let key = conversation.next_key();
    slots.insert("key".into(), key.into());
    slots.insert("id".into(), id.clone());
    slots.insert("method".into(), about.name.into());
    slots.extend(about.at.map(|at| ("at".to_owned(), at.into())));
    if let Ok(question) = serde_json::from_value::<OpenQuestion>(Value::Object(slots)) {
        conversation.dialogs.push(question);
    }
}

/// Closes the question with the given id.
pub(in super::super) fn remove_question(conversation: &mut Conversation, id: Option<&Value>) {
    conversation.dialogs.retain(|question| id_text(Some(&question.id)) != id_text(id));
}

/// Closes questions whose time has elapsed. The agent has already continued without an answer.
pub(in super::super) fn remove_expired(conversation: &mut Conversation, now: Option<f64>) {
    let Some(now) = now else { return };
    conversation.dialogs.retain(|question| match (question.at, question.timeout_ms) {
        (Some(at), Some(timeout)) => now < at + timeout,
        _ => true,
    });
}

/// Adds a notice.
pub(in super::super) fn notify(
    conversation: &mut Conversation,
    level: &str,
    text: &str,
    source: Option<&str>,
    at: Option<f64>,
) {
    let key = conversation.next_key();
    let excess = (conversation.notices.len() + 1).saturating_sub(NOTICES);
    conversation.notices.drain(..excess);
    conversation.notices.push(Notice {
        key,
        level: level.to_owned(),
        text: text.to_owned(),
        source: source.map(str::to_owned),
        at,
    });
}

pub(in super::super) fn notice(conversation: &mut Conversation, slots: &Slots, about: &ReducerContext<'_>) {
    let Some(message) = text(slots, "text") else { return };
    let level = text(slots, "level").filter(|level| ["warning", "error"].contains(level)).unwrap_or("info");
    notify(conversation, level, message, text(slots, "source"), about.at);
}

pub(in super::super) fn entry(conversation: &mut Conversation, mut slots: Slots) {
    let Some(Value::String(key)) = slots.remove("key") else { return };
    let is_status = text(&slots, "in") == Some("status");
    let table = if is_status { &mut conversation.status } else { &mut conversation.widgets };
    match slots.remove("value") {
        Some(value) => table.insert(key, value),
        None => table.remove(&key),
    };
}

pub(in super::super) fn draft(conversation: &mut Conversation, slots: &Slots) {
    if let Some(text) = text(slots, "text") {
        let count = conversation.draft.as_ref().map_or(0, |draft| draft.count) + 1;
        conversation.draft = Some(Draft { text: text.to_owned(), count });
    }
}

pub(in super::super) fn task(conversation: &mut Conversation, slots: Slots) {
    if !slots.get("id").is_some_and(Value::is_string) {
        return;
    }
    let tasks = &mut conversation.tasks;
    let place = tasks.iter().position(|known| known.get("id") == slots.get("id")).unwrap_or_else(|| {
        tasks.push(Map::from_iter([("state".to_owned(), Value::from("running"))]));
        tasks.len() - 1
    });
    tasks[place].extend(slots);
}
