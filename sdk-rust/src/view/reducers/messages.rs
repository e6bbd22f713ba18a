//! Reducers of messages and their blocks.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::super::conversation::{Block, Conversation, Message, ToolBlock};
use super::super::message::{MessageState, Role, ToolState, Usage};
use super::super::panel::Delivery;
use super::slots::{ReducerContext, Slots, id_text, message, record};

/// Appends a message.
pub(super) fn add(conversation: &mut Conversation, mut message: Message) -> usize {
    message.key = conversation.next_key();
    if message.role == Role::User {
        remove_pending(conversation, &message.text());
    }
    conversation.messages.push(Arc::new(message));
    conversation.messages.len() - 1
}

/// Removes the user's input from the waiting list after it entered the conversation.
fn remove_pending(conversation: &mut Conversation, text: &str) {
    let waiting = &mut conversation.waiting;
    let same = waiting.iter().position(|item| item.text == text);
    // For a template or a skill, the agent sends another text than the prompt.
    let place = same.or_else(|| waiting.iter().position(|item| item.mode == Delivery::Prompt));
    if let Some(place) = place {
        waiting.remove(place);
    }
}

/// Moves the input of the answered command into the conversation; without an id, the input of all prompts.
pub(in super::super) fn arrive(conversation: &mut Conversation, about: &ReducerContext<'_>) {
    let meant = conversation.waiting.iter().filter(|item| {
        item.mode == Delivery::Prompt
            && about.id.is_none_or(|id| id_text(item.id.as_ref()) == id_text(Some(id)))
    });
    let texts: Vec<String> = meant.map(|item| item.text.clone()).collect();
    for text in texts {
        let blocks = if text.is_empty() { Vec::new() } else { vec![Block::Text { text }] };
        add(conversation, Message { role: Role::User, blocks, ..Message::default() });
    }
}

/// Returns the index of the last incomplete message of that role.
fn growing(conversation: &Conversation, role: Role) -> Option<usize> {
    conversation.messages.iter().rposition(|message| message.is_growing() && message.role == role)
}

/// Returns a message for modification: a copy if it is shared.
fn changed(conversation: &mut Conversation, place: usize) -> &mut Message {
    Arc::make_mut(&mut conversation.messages[place])
}

/// Merges repeated blocks with the known state of their tools.
fn carry_tool_state(old: &[Block], blocks: Vec<Block>) -> Vec<Block> {
    let known = |place: usize, call: &str| {
        let is_call = |block: &&Block| matches!(block, Block::Tool(tool) if tool.call_id == call);
        old.get(place).filter(is_call).or_else(|| old.iter().find(is_call))
    };
    let with_state = |(place, block): (usize, Block)| match block {
        Block::Tool(tool) => match known(place, &tool.call_id) {
            Some(Block::Tool(known)) => Block::Tool(Box::new(with_tool_state(*tool, known))),
            _ => Block::Tool(tool),
        },
        block => block,
    };
    blocks.into_iter().enumerate().map(with_state).collect()
}

/// Merges a repeated call with the known state of its tool.
pub(super) fn with_tool_state(reported: ToolBlock, known: &ToolBlock) -> ToolBlock {
    let state = if known.state == ToolState::Coming { reported.state } else { known.state };
    ToolBlock {
        state,
        output: reported.output.or_else(|| known.output.clone()),
        result: reported.result.or_else(|| known.result.clone()),
        details: reported.details.or_else(|| known.details.clone()),
        duration_ms: reported.duration_ms.or(known.duration_ms),
        label: reported.label.or_else(|| known.label.clone()),
        child: reported.child.or_else(|| known.child.clone()),
        ..reported
    }
}

/// Replaces a message by a newer version.
fn update_message(conversation: &mut Conversation, place: usize, reported: Message, state: MessageState) {
    let old = &conversation.messages[place];
    let blocks = carry_tool_state(&old.blocks, reported.blocks);
    let gone = if old.is_gone() { Some(true) } else { reported.gone };
    let message = Message { key: old.key.clone(), state, blocks, gone, ..reported };
    if **old != message {
        conversation.messages[place] = Arc::new(message);
    }
}

pub(in super::super) fn begin(conversation: &mut Conversation, mut slots: Slots) {
    if let Some(message) = message(&mut slots) {
        add(conversation, Message { state: MessageState::Growing, ..message });
    }
}

pub(in super::super) fn snapshot(conversation: &mut Conversation, mut slots: Slots) {
    let Some(message) = message(&mut slots) else { return };
    match growing(conversation, message.role) {
        Some(place) => update_message(conversation, place, message, MessageState::Growing),
        None => {
            add(conversation, Message { state: MessageState::Growing, ..message });
        }
    }
}

/// Returns the incomplete message of the model, or adds one.
fn growing_message(conversation: &mut Conversation) -> &mut Message {
    let place = growing(conversation, Role::Assistant).unwrap_or_else(|| {
        let state = MessageState::Growing;
        add(conversation, Message { role: Role::Assistant, state, ..Message::default() })
    });
    changed(conversation, place)
}

/// Returns the block whose index and type are in `slots`. Without an index, returns the last block, or a new
/// block if the last has another type. An index beyond the blocks means the next block.
fn block_at<'m>(message: &'m mut Message, slots: &Slots) -> &'m mut Block {
    let kind = slots.get("type").and_then(Value::as_str).unwrap_or("text");
    let last = message.blocks.len().checked_sub(1);
    let index =
        slots.get("index").and_then(Value::as_u64).map(|index| usize::try_from(index).unwrap_or(usize::MAX));
    let named = index.map(|index| index.min(message.blocks.len()));
    let place = named.unwrap_or_else(|| match last {
        Some(last) if kind_of(&message.blocks[last]) == kind => last,
        Some(last) => last + 1,
        None => 0,
    });
    if message.blocks.get(place).is_none_or(|block| kind_of(block) != kind) {
        let fresh = match kind {
            "tool" => Block::Tool(Box::default()),
            "thinking" => Block::Thinking { text: String::new(), redacted: None, signature: None },
            _ => Block::Text { text: String::new() },
        };
        match message.blocks.get_mut(place) {
            Some(block) => *block = fresh,
            None => message.blocks.push(fresh),
        }
    }
    &mut message.blocks[place]
}

fn kind_of(block: &Block) -> &'static str {
    match block {
        Block::Text { .. } => "text",
        Block::Thinking { .. } => "thinking",
        Block::Image { .. } => "image",
        Block::Data { .. } => "data",
        Block::Tool(_) => "tool",
    }
}

pub(in super::super) fn piece(conversation: &mut Conversation, mut slots: Slots) {
    let block = block_at(growing_message(conversation), &slots);
    match block {
        Block::Text { text } | Block::Thinking { text, .. } => append(text, &slots, "text"),
        Block::Tool(tool) => {
            if slots.contains_key("argumentsText") {
                append(tool.arguments_text.get_or_insert_default(), &slots, "argumentsText");
                slots.remove("argumentsText");
            }
            merge_tool(tool, slots);
        }
        _ => {}
    }
}

fn append(text: &mut String, slots: &Slots, name: &str) {
    text.push_str(slots.get(name).and_then(Value::as_str).unwrap_or_default());
}

pub(in super::super) fn block(conversation: &mut Conversation, mut slots: Slots) {
    let block = block_at(growing_message(conversation), &slots);
    match block {
        Block::Text { text } | Block::Thinking { text, .. } => {
            if let Some(Value::String(whole)) = slots.remove("text") {
                *text = whole;
            }
        }
        Block::Tool(tool) => {
            if slots.contains_key("arguments") {
                tool.arguments_text = None;
            }
            merge_tool(tool, slots);
        }
        _ => {}
    }
}

/// Sets the members of a call from the slots.
fn merge_tool(tool: &mut ToolBlock, mut slots: Slots) {
    if let Some(Value::String(id)) = slots.remove("callId") {
        tool.call_id = id;
    }
    if let Some(Value::String(name)) = slots.remove("name") {
        tool.name = name;
    }
    if let Some(state) = record::<ToolState>(&mut slots, "state")
        && (!tool.state.is_over() || state.is_over())
    {
        tool.state = state;
    }
    tool.arguments = slots.remove("arguments").or_else(|| tool.arguments.take());
    tool.output = record(&mut slots, "output").or_else(|| tool.output.take());
    tool.result = record(&mut slots, "result").or_else(|| tool.result.take());
    tool.details = slots.remove("details").or_else(|| tool.details.take());
    tool.duration_ms = record(&mut slots, "durationMs").or(tool.duration_ms);
    tool.label = record(&mut slots, "label").or_else(|| tool.label.take());
    tool.child = record(&mut slots, "child").or_else(|| tool.child.take());
}

pub(in super::super) fn change_message(conversation: &mut Conversation, mut slots: Slots) {
    let Some(place) = growing(conversation, Role::Assistant) else { return };
    let usage: Option<Usage> = record(&mut slots, "usage");
    let gone: Option<bool> = record(&mut slots, "gone");
    let message = changed(conversation, place);
    message.usage = usage.or_else(|| message.usage.take());
    message.gone = gone.or(message.gone);
}

pub(in super::super) fn end(conversation: &mut Conversation, mut slots: Slots) {
    let reported = message(&mut slots);
    let role = reported.as_ref().map_or(Role::Assistant, |message| message.role);
    let place = match (growing(conversation, role), reported) {
        (None, None) => return,
        (None, Some(message)) => add(conversation, message),
        (Some(place), None) => {
            changed(conversation, place).state = MessageState::Done;
            place
        }
        (Some(place), Some(message)) => {
            let state = message.state;
            update_message(conversation, place, message, state);
            place
        }
    };
    let message = Arc::clone(&conversation.messages[place]);
    if message.role == Role::Tool {
        mark_result_gone(conversation, place);
        copy_result(conversation, &message);
    } else if let Some(usage) = &message.usage {
        sum(&mut conversation.usage, usage);
    }
}

/// Removes the result of a call that is no longer in the context.
fn mark_result_gone(conversation: &mut Conversation, place: usize) {
    let call = conversation.messages[place].call_id.clone();
    let is_call = |block: &Block| matches!(block, Block::Tool(tool) if Some(&tool.call_id) == call.as_ref());
    let asked = conversation.messages.iter().rfind(|message| message.blocks.iter().any(is_call));
    if asked.is_some_and(|message| message.is_gone()) {
        changed(conversation, place).gone = Some(true);
    }
}

/// Updates the block of a call from the message with its result.
pub(super) fn copy_result(conversation: &mut Conversation, message: &Message) {
    let Some(call) = &message.call_id else { return };
    let failed = message.state == MessageState::Failed;
    let mut slots = Map::new();
    slots.insert("state".into(), if failed { "failed" } else { "done" }.into());
    slots.extend(message.details.clone().map(|details| ("details".to_owned(), details)));
    let result = message.blocks.clone();
    change_tool(conversation, call, false, |tool| {
        merge_tool(tool, slots);
        tool.result = Some(result);
    });
}

/// Adds the usage of a message to a sum.
pub(super) fn sum(all: &mut Usage, more: &Usage) {
    let add = |all: &mut Option<u64>, more: Option<u64>| {
        if let Some(more) = more {
            *all = Some(all.unwrap_or(0) + more);
        }
    };
    add(&mut all.input, more.input);
    add(&mut all.output, more.output);
    add(&mut all.cache_read, more.cache_read);
    add(&mut all.cache_write, more.cache_write);
    add(&mut all.total, more.total);
    if let Some(cost) = more.cost {
        all.cost = Some(all.cost.unwrap_or(0.0) + cost);
    }
}

pub(in super::super) fn tool(conversation: &mut Conversation, slots: Slots) {
    let Some(call) = slots.get("callId").and_then(Value::as_str).map(str::to_owned) else { return };
    change_tool(conversation, &call, true, |tool| merge_tool(tool, slots));
}

/// Modifies the block of a call. If there is no such block, creates one if `is_made` is true.
pub(in super::super) fn change_tool(
    conversation: &mut Conversation,
    call: &str,
    is_made: bool,
    change: impl FnOnce(&mut ToolBlock),
) {
    let is_call = |block: &Block| matches!(block, Block::Tool(tool) if tool.call_id == call);
    let asked = conversation.messages.iter().rposition(|message| message.blocks.iter().any(is_call));
    if let Some(place) = asked {
        let message = changed(conversation, place);
        if let Some(Block::Tool(tool)) = message.blocks.iter_mut().find(|block| is_call(block)) {
            change(tool);
        }
        return;
    }
    if !is_made {
        return;
    }
    let mut made = ToolBlock { call_id: call.to_owned(), ..ToolBlock::default() };
    change(&mut made);
    let block = Block::Tool(Box::new(made));
    let last = conversation.messages.iter().rposition(|message| message.role != Role::Tool);
    match last.filter(|place| conversation.messages[*place].role == Role::Assistant) {
        Some(place) => changed(conversation, place).blocks.push(block),
        None => {
            add(conversation, Message { role: Role::Assistant, blocks: vec![block], ..Message::default() });
        }
    }
}
