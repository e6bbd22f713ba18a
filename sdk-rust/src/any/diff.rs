//! The differences between two states of a conversation, as events in their order.

use std::sync::Arc;

use super::event::Event;
use crate::view::{Block, Conversation, Message, Role, RunState, ToolBlock, ToolState, Usage};

/// Smallest change of the cost that causes an event, in US dollars.
const MIN_COST_CHANGE: f64 = 1e-9;

/// Returns the events for the changes between two states of a conversation, before and after one frame. Only
/// callers that fold frames themselves need this function.
#[must_use]
pub fn differences(old: &Conversation, new: &Conversation) -> Vec<Event> {
    let mut events = Vec::new();
    let begins = old.run.state == RunState::Idle;
    if begins {
        state(old, new, &mut events);
    }
    if new.run.compaction.is_some() && old.run.compaction.is_none() {
        let reason = new.run.compaction.as_ref().and_then(|compaction| compaction.reason.clone());
        events.push(Event::CompactionStarted { reason });
    }
    messages(old, new, &mut events);
    if old.run.compaction.is_some() && new.run.compaction.is_none() {
        events.push(Event::CompactionEnded);
    }
    if old.waiting != new.waiting {
        events.push(Event::QueueChanged { waiting: new.waiting.clone() });
    }
    for question in old.dialogs.iter().filter(|known| new.dialogs.iter().all(|one| one.key != known.key)) {
        events.push(Event::QuestionClosed { question: question.key.clone() });
    }
    for question in new.dialogs.iter().filter(|one| old.dialogs.iter().all(|known| known.key != one.key)) {
        events.push(Event::QuestionOpened { question: question.clone() });
    }
    // Keys grow: notices after the last known key are new.
    let known = old.notices.last().map(|notice| notice.key.as_str());
    let first = known.and_then(|key| new.notices.iter().position(|notice| notice.key == key));
    for notice in &new.notices[first.map_or(0, |place| place + 1)..] {
        events.push(Event::NoticeAdded { notice: notice.clone() });
    }
    if !usage_is_equal(&old.usage, &new.usage) || old.context != new.context {
        events.push(Event::UsageChanged { usage: new.usage.clone(), context: new.context.clone() });
    }
    match (&old.run.retry, &new.run.retry) {
        (Some(_), None) => events.push(Event::RetryEnded),
        (old, Some(retry)) if old.as_ref() != Some(retry) => {
            events.push(Event::RetryStarted { retry: retry.clone() });
        }
        _ => {}
    }
    let members = changed(old, new);
    if !members.is_empty() {
        events.push(Event::MembersChanged { members });
    }
    if !begins {
        state(old, new, &mut events);
    }
    events
}

/// Returns `true` if the tokens are equal and the costs differ at most by a rounding error.
fn usage_is_equal(old: &Usage, new: &Usage) -> bool {
    let cost = match (old.cost, new.cost) {
        (Some(old), Some(new)) => (old - new).abs() < MIN_COST_CHANGE,
        (old, new) => old == new,
    };
    cost && Usage { cost: None, ..old.clone() } == Usage { cost: None, ..new.clone() }
}

fn state(old: &Conversation, new: &Conversation, events: &mut Vec<Event>) {
    if old.run.state != new.run.state || old.run.error != new.run.error {
        events.push(Event::StateChanged { state: new.run.state, error: new.run.error.clone() });
    }
}

fn changed(old: &Conversation, new: &Conversation) -> Vec<&'static str> {
    let pairs = [
        ("session", old.session != new.session),
        ("model", old.model != new.model),
        ("thinkingLevel", old.thinking_level != new.thinking_level),
        ("settings", old.settings != new.settings),
        ("commands", old.commands != new.commands),
        ("models", old.models != new.models),
        ("forkPoints", old.fork_points != new.fork_points),
        ("todos", old.todos != new.todos),
        ("tasks", old.tasks != new.tasks),
        ("shells", old.shells != new.shells),
        ("status", old.status != new.status),
        ("widgets", old.widgets != new.widgets),
        ("title", old.title != new.title),
        ("draft", old.draft != new.draft),
    ];
    pairs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

fn messages(old: &Conversation, new: &Conversation, events: &mut Vec<Event>) {
    let same = |(old, new): (&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(old, new) || old.key == new.key;
    let is_longer = new.messages.len() >= old.messages.len();
    if !is_longer || !old.messages.iter().zip(&new.messages).all(same) {
        events.push(Event::ConversationReplaced { messages: new.messages.clone() });
        return;
    }
    for (place, message) in new.messages.iter().enumerate() {
        match old.messages.get(place) {
            Some(known) if Arc::ptr_eq(known, message) => {}
            Some(known) => message_growth(known, message, events),
            None => {
                events.push(Event::MessageStarted { message: message.key.clone(), role: message.role });
                let begun = Message { state: crate::view::MessageState::Growing, ..Message::default() };
                if message.is_growing() {
                    message_growth(&begun, message, events);
                } else {
                    tools(&begun, message, events);
                    events.push(Event::MessageEnded { message: Arc::clone(message) });
                }
            }
        }
    }
}

/// Adds the events for the additions to a message and for the changes of its tools.
fn message_growth(old: &Message, new: &Message, events: &mut Vec<Event>) {
    // Only messages of the model arrive in pieces.
    if old.is_growing() && new.role == Role::Assistant {
        for (place, block) in new.blocks.iter().enumerate() {
            block_growth(&new.key, place, old.blocks.get(place), block, events);
        }
    }
    tools(old, new, events);
    if old.is_growing() && !new.is_growing() {
        events.push(Event::MessageEnded { message: Arc::new(new.clone()) });
    }
    if new.is_gone() && !old.is_gone() {
        events.push(Event::MessageGone { message: new.key.clone() });
    }
}

fn block_growth(key: &str, block: usize, old: Option<&Block>, new: &Block, events: &mut Vec<Event>) {
    let message = key.to_owned();
    let more = |old: &str, new: &str| new.strip_prefix(old).map(str::to_owned);
    let added = match (old, new) {
        (None, Block::Text { text } | Block::Thinking { text, .. }) => Some(text.clone()),
        (Some(Block::Text { text: old }), Block::Text { text })
        | (Some(Block::Thinking { text: old, .. }), Block::Thinking { text, .. }) => more(old, text),
        (Some(Block::Tool(old)), Block::Tool(new)) => {
            return arguments(message, block, Some(old), new, events);
        }
        (None, Block::Tool(new)) => return arguments(message, block, None, new, events),
        _ => None,
    };
    match (added, new) {
        (Some(text), _) if text.is_empty() => {}
        (Some(text), Block::Text { .. }) => events.push(Event::TextGrew { message, block, text }),
        (Some(text), Block::Thinking { .. }) => events.push(Event::ThinkingGrew { message, block, text }),
        _ if old != Some(new) => events.push(Event::BlockChanged { message, block, value: new.clone() }),
        _ => {}
    }
}

fn arguments(
    message: String,
    block: usize,
    old: Option<&ToolBlock>,
    new: &ToolBlock,
    events: &mut Vec<Event>,
) {
    let is_new = old.is_none_or(|old| old.name != new.name || old.call_id != new.call_id);
    let known = old.and_then(|old| old.arguments_text.as_deref()).unwrap_or_default();
    let text = new.arguments_text.as_deref().and_then(|text| text.strip_prefix(known));
    let text = text.filter(|text| !text.is_empty()).map(str::to_owned);
    let arguments = new
        .arguments
        .clone()
        .filter(|_| old.and_then(|old| old.arguments.as_ref()) != new.arguments.as_ref());
    if is_new || text.is_some() || arguments.is_some() {
        let (call_id, name) = (new.call_id.clone(), new.name.clone());
        events.push(Event::ArgumentsGrew { message, block, call_id, name, text, arguments });
    }
}

fn tools(old: &Message, new: &Message, events: &mut Vec<Event>) {
    for block in &new.blocks {
        let Block::Tool(tool) = block else { continue };
        let known = old.blocks.iter().find_map(|block| match block {
            Block::Tool(known) if known.call_id == tool.call_id => Some(known),
            _ => None,
        });
        tool_run_events(known.map(|known| &**known), tool, events);
    }
}

fn tool_run_events(old: Option<&ToolBlock>, new: &ToolBlock, events: &mut Vec<Event>) {
    let before = old.map_or(ToolState::Coming, |old| old.state);
    let call_id = || new.call_id.clone();
    let name = || new.name.clone();
    if before == ToolState::Coming && new.state == ToolState::Running {
        events.push(Event::ToolStarted {
            call_id: call_id(),
            name: name(),
            arguments: new.arguments.clone(),
        });
    }
    let shown = |tool: &ToolBlock| (tool.output.clone(), tool.details.clone());
    if new.state == ToolState::Running && new.output.is_some() && old.map(shown) != Some(shown(new)) {
        events.push(Event::ToolUpdated {
            call_id: call_id(),
            output: new.output.clone().unwrap_or_default(),
            details: new.details.clone(),
        });
    }
    if !before.is_over() && new.state.is_over() {
        events.push(Event::ToolEnded {
            call_id: call_id(),
            name: name(),
            state: new.state,
            result: new.result.clone().unwrap_or_default(),
            details: new.details.clone(),
        });
    }
}
