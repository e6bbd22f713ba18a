//! Reducers that replace several messages at once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::super::activity::Run;
use super::super::conversation::{Block, Conversation, Message};
use super::super::message::{Role, Usage};
use super::super::panel::{PendingInputState, Session};
use super::messages::{copy_result, sum, with_tool_state};
use super::slots::{Slots, message_of};

/// Returns texts by which a message can be recognised: one from its id or time, and one from its content.
fn identity_keys(message: &Message) -> Vec<String> {
    let call = message.call_id.as_deref().unwrap_or_default();
    let command = message.command.as_deref().unwrap_or_default();
    let role = message.role;
    let text_key = format!("{role:?} words {command} {call} {}", message.text());
    let place = message.id.clone().or_else(|| message.time.map(|time| time.to_string()));
    match place {
        Some(place) => vec![format!("{role:?} {place} {call}"), text_key],
        None => vec![text_key],
    }
}

/// Replaces the messages by the agent's list. Messages that are already known keep their keys.
pub(in super::super) fn history(conversation: &mut Conversation, slots: &Slots) {
    let Some(given) = slots.get("messages").and_then(Value::as_array) else { return };
    let mut known: HashMap<String, Vec<Arc<Message>>> = HashMap::new();
    for message in &conversation.messages {
        for mark in identity_keys(message) {
            known.entry(mark).or_default().push(Arc::clone(message));
        }
    }
    let mut kept: HashSet<String> = HashSet::new();
    let mut reported = Vec::with_capacity(given.len());
    let mut used = Usage::default();
    for mut message in given.iter().filter_map(message_of) {
        let same = identity_keys(&message).iter().find_map(|mark| {
            let messages = known.get(mark)?;
            messages.iter().find(|old| !kept.contains(&old.key) && !old.is_growing()).cloned()
        });
        if let Some(usage) = &message.usage {
            sum(&mut used, usage);
        }
        let Some(old) = same else {
            message.key = conversation.next_key();
            reported.push(Arc::new(message));
            continue;
        };
        kept.insert(old.key.clone());
        message.key.clone_from(&old.key);
        message.blocks = tools(&old, message.blocks);
        reported.push(if *old == message { old } else { Arc::new(message) });
    }
    conversation.messages = merge_messages(&conversation.messages, &reported);
    if conversation.usage.total.unwrap_or(0) <= used.total.unwrap_or(0) {
        conversation.usage = used;
    }
    conversation.complete = true;
    for message in reported {
        if message.role == Role::Tool {
            copy_result(conversation, &message);
        }
    }
}

/// Returns new blocks of a message, with the known state of the tools in the old message.
fn tools(old: &Message, blocks: Vec<Block>) -> Vec<Block> {
    let known = |call: &str| {
        old.blocks.iter().find_map(|block| match block {
            Block::Tool(tool) if tool.call_id == call => Some(tool),
            _ => None,
        })
    };
    let with_state = |block| match block {
        Block::Tool(tool) => match known(&tool.call_id) {
            Some(known) => {
                let mut tool = with_tool_state(*tool, known);
                tool.state = known.state;
                Block::Tool(Box::new(tool))
            }
            None => Block::Tool(tool),
        },
        block => block,
    };
    blocks.into_iter().map(with_state).collect()
}

/// Merges the known messages and the agent's list, in the order of their arrival. Messages that are missing
/// from the list are marked as no longer in the model's context.
fn merge_messages(old: &[Arc<Message>], reported: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let places: HashMap<&str, usize> =
        reported.iter().enumerate().map(|(place, message)| (message.key.as_str(), place)).collect();
    let known: HashSet<&str> = old.iter().map(|message| message.key.as_str()).collect();
    let mut all: Vec<Arc<Message>> = Vec::with_capacity(old.len() + reported.len());
    let mut next = 0;
    let mut take_new = |until: usize, all: &mut Vec<Arc<Message>>| {
        while next < until {
            if !known.contains(reported[next].key.as_str()) {
                all.push(Arc::clone(&reported[next]));
            }
            next += 1;
        }
    };
    for message in old {
        match places.get(message.key.as_str()) {
            Some(place) => {
                take_new(*place, &mut all);
                all.push(Arc::clone(&reported[*place]));
            }
            None if message.is_growing() || message.is_gone() => all.push(Arc::clone(message)),
            None => all.push(Arc::new(Message { gone: Some(true), ..Message::clone(message) })),
        }
    }
    take_new(reported.len(), &mut all);
    if is_ordered(&all, reported) {
        return all;
    }
    let gone = all.iter().filter(|message| message.is_gone());
    let growing = all.iter().filter(|message| message.is_growing());
    gone.chain(reported).chain(growing).cloned().collect()
}

/// Returns `true` if the messages are in the agent's order. Summaries are ignored: the agent lists a summary
/// first, but here it keeps its place.
fn is_ordered(all: &[Arc<Message>], reported: &[Arc<Message>]) -> bool {
    fn keys(list: &[Arc<Message>]) -> impl Iterator<Item = &str> {
        list.iter().filter(|message| message.role != Role::Summary).map(|message| message.key.as_str())
    }
    let known: HashSet<&str> = keys(reported).collect();
    keys(all).filter(|key| known.contains(key)).eq(keys(reported))
}

/// Compares the agent's number of messages with the number of known ones. If they differ and no run is active,
/// marks the conversation as incomplete.
pub(in super::super) fn count(conversation: &mut Conversation, slots: &Slots) {
    let Some(messages) = slots.get("messages").and_then(Value::as_u64) else { return };
    let in_context = |message: &&Arc<Message>| !message.is_gone() && !message.is_growing();
    let seen = conversation.messages.iter().filter(in_context).count();
    if !conversation.run.working && u64::try_from(seen) != Ok(messages) {
        conversation.complete = false;
    }
}

/// Replaces the conversation by that of another session. Keeps the state that belongs to the agent and not to
/// the session.
pub(in super::super) fn replace(conversation: &mut Conversation, slots: &Slots) {
    conversation.messages = Vec::new();
    conversation.complete = slots.get("empty") == Some(&Value::Bool(true));
    conversation.waiting.retain(|item| item.state == PendingInputState::Sent);
    conversation.run = Run::default();
    conversation.usage = Usage::default();
    conversation.dialogs = Vec::new();
    conversation.shells = Vec::new();
    conversation.tasks = Vec::new();
    let directory = conversation.session.directory.take();
    conversation.session = Session { directory, ..Session::default() };
    conversation.internal.held = Vec::new();
    conversation.context = None;
    conversation.fork_points = None;
    conversation.todos = None;
}
