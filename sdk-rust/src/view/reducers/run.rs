//! Reducers of the activity of the agent.

use std::sync::Arc;

use serde_json::Value;

use super::super::activity::{Compaction, RunState};
use super::super::conversation::{Block, Conversation};
use super::super::message::{MessageState, Role, ToolState};
use super::super::panel::{Delivery, PendingInputState, Shell};
use super::messages::add;
use super::panels::notify;
use super::slots::{ReducerContext, Slots, message, text};

/// Recomputes the activity of the agent.
fn update(conversation: &mut Conversation) {
    let run = &mut conversation.run;
    run.state = match () {
        () if run.aborting => RunState::Aborting,
        () if run.compaction.is_some() => RunState::Compacting,
        () if run.working => RunState::Working,
        () if run.retry.is_some() => RunState::Retrying,
        () => RunState::Idle,
    };
}

fn flag(slots: &Slots, name: &str) -> Option<bool> {
    slots.get(name)?.as_bool()
}

pub(in super::super) fn work(conversation: &mut Conversation, slots: &Slots) {
    let Some(on) = flag(slots, "on") else { return };
    if on {
        if !conversation.run.working {
            conversation.run.working = true;
            conversation.run.error = None;
            update(conversation);
        }
        return;
    }
    let failure = conversation.internal.failure.take().filter(|_| !conversation.run.aborting);
    let rejection = text(slots, "refusal").filter(|_| conversation.run.working && !conversation.run.aborting);
    let error = text(slots, "error").map(str::to_owned).or(failure).or_else(|| rejection.map(str::to_owned));
    end_run(conversation, error, flag(slots, "dropped") == Some(true));
}

fn end_run(conversation: &mut Conversation, error: Option<String>, is_dropped: bool) {
    let is_growing = conversation.messages.iter().any(|message| message.is_growing());
    if !conversation.run.working && !is_growing && error.is_none() {
        return;
    }
    end_messages(conversation, error.is_some(), is_dropped);
    let run = &mut conversation.run;
    run.working = false;
    run.aborting = false;
    run.activity = None;
    run.error = error.or_else(|| run.error.take());
    update(conversation);
}

/// Applies the outcome of a run. A reason for a failure is stored and takes effect when the run ends.
pub(in super::super) fn outcome(conversation: &mut Conversation, slots: &Slots) {
    let failure = &mut conversation.internal.failure;
    match text(slots, "told") {
        Some("retried") => {}
        Some("failed") => {
            let message = text(slots, "message").map(str::to_owned).or_else(|| failure.take());
            *failure = Some(message.unwrap_or_else(|| "the agent gave no reason".to_owned()));
        }
        _ => *failure = None,
    }
}

/// Ends all open work and closes all questions when the connection has ended. `reason` becomes the error of an
/// unfinished run.
pub(in super::super) fn close(conversation: &mut Conversation, reason: &str) {
    let is_idle = conversation.run.state == RunState::Idle;
    conversation.internal.failure = None;
    conversation.run.retry = None;
    conversation.run.compaction = None;
    end_run(conversation, (!is_idle).then(|| reason.to_owned()), false);
    update(conversation);
    conversation.dialogs.clear();
    conversation.shells.clear();
}

/// Gives incomplete messages and unfinished tools their final states at the end of a run.
fn end_messages(conversation: &mut Conversation, has_failed: bool, is_dropped: bool) {
    let state = match () {
        () if conversation.run.aborting => MessageState::Aborted,
        () if has_failed => MessageState::Failed,
        () => MessageState::Done,
    };
    for shared in conversation.messages.iter_mut().rev() {
        if shared.role == Role::User && !shared.is_growing() {
            break;
        }
        let is_open = |block: &Block| matches!(block, Block::Tool(tool) if !tool.state.is_over());
        if !shared.is_growing() && !shared.blocks.iter().any(is_open) {
            continue;
        }
        let message = Arc::make_mut(shared);
        if message.is_growing() {
            message.state = state;
            message.gone = if is_dropped { Some(true) } else { message.gone };
        }
        for block in &mut message.blocks {
            let Block::Tool(tool) = block else { continue };
            // No further event about the tool follows.
            tool.state = match tool.state {
                ToolState::Coming => ToolState::Skipped,
                ToolState::Running => ToolState::Failed,
                state => state,
            };
        }
    }
    conversation
        .waiting
        .retain(|item| item.mode != Delivery::Prompt || item.state == PendingInputState::Sent);
    for held in std::mem::take(&mut conversation.internal.held) {
        add(conversation, held);
    }
}

pub(in super::super) fn abort(conversation: &mut Conversation, slots: &Slots) {
    let is_over = flag(slots, "over") == Some(true);
    if is_over || conversation.run.state != RunState::Idle {
        conversation.run.aborting = !is_over;
        update(conversation);
    }
}

pub(in super::super) fn compacting(conversation: &mut Conversation, slots: &Slots) {
    conversation.run.compaction = Some(Compaction { reason: text(slots, "reason").map(str::to_owned) });
    update(conversation);
}

pub(in super::super) fn compacted(
    conversation: &mut Conversation,
    mut slots: Slots,
    about: &ReducerContext<'_>,
) {
    // An agent that reports the compaction in events also answers the command.
    if conversation.run.compaction.take().is_none() {
        return;
    }
    conversation.run.aborting &= conversation.run.working;
    update(conversation);
    if let Some(error) = text(&slots, "error") {
        notify(conversation, "error", error, Some(about.name), about.at);
    }
    let Some(message) = message(&mut slots) else {
        conversation.complete &= flag(&slots, "unknown") != Some(true);
        return;
    };
    for known in &mut conversation.messages {
        if known.role == Role::Summary && known.kind == message.kind && !known.is_gone() {
            Arc::make_mut(known).gone = Some(true);
        }
    }
    // No frame reports which earlier messages stay in the context.
    conversation.complete = false;
    add(conversation, message);
}

pub(in super::super) fn retry(conversation: &mut Conversation, mut slots: Slots, about: &ReducerContext<'_>) {
    let is_summary = slots.remove("reason").is_some_and(|reason| reason == "summary");
    if let Some(at) = about.at {
        slots.insert("at".into(), at.into());
    }
    conversation.run.retry = serde_json::from_value(Value::Object(slots)).ok();
    // The retry contains the reason.
    conversation.run.error.take_if(|_| !is_summary);
    update(conversation);
    // The failed message leaves the context before the retry.
    if let Some(last) = conversation.messages.last_mut()
        && !is_summary
        && last.role == Role::Assistant
        && last.state == MessageState::Failed
    {
        Arc::make_mut(last).gone = Some(true);
    }
}

pub(in super::super) fn retried(conversation: &mut Conversation, slots: &Slots) {
    let run = &mut conversation.run;
    run.retry = None;
    run.error = text(slots, "error").map(str::to_owned).or_else(|| run.error.take());
    run.aborting &= run.working;
    update(conversation);
}

pub(in super::super) fn shell(conversation: &mut Conversation, slots: &Slots, about: &ReducerContext<'_>) {
    let key = conversation.next_key();
    let command = text(slots, "command").unwrap_or_default().to_owned();
    conversation.shells.push(Shell { key, command, output: String::new(), id: about.id.cloned() });
}

pub(in super::super) fn shell_output(conversation: &mut Conversation, slots: &Slots) {
    let shells = &mut conversation.shells;
    let found = match slots.get("id") {
        Some(id) => shells.iter_mut().find(|known| known.id.as_ref() == Some(id)),
        None => shells.last_mut(),
    };
    if let (Some(shell), Some(more)) = (found, text(slots, "text")) {
        shell.output.push_str(more);
    }
}

pub(in super::super) fn shell_done(
    conversation: &mut Conversation,
    mut slots: Slots,
    about: &ReducerContext<'_>,
) {
    conversation.shells.retain(|known| known.id.as_ref() != about.id);
    let Some(message) = message(&mut slots) else { return };
    // The agent places the message after the current run.
    if conversation.run.working {
        conversation.internal.held.push(message);
    } else {
        add(conversation, message);
    }
}
