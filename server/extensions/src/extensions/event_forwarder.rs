//! Forwarding of the engine's events. Extensions receive an event before the client does, and the engine does not wait
//! for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agentese::types::{
    AgentEnd, AgentMessage, AgentStart, AssistantBlock, AssistantMessage, AssistantMessageEvent, ContextHook,
    HookEvent, MessageEnd, MessageStart, MessageUpdate, TextDelta, TextEnd, TextStart, ThinkingDelta,
    ThinkingEnd, ThinkingStart, ToolCall, ToolCallDelta, ToolCallEnd, ToolCallStart, ToolExecutionEnd,
    ToolExecutionEndBuilder, ToolExecutionStart, ToolExecutionUpdate, ToolExecutionUpdateBuilder, ToolOutput,
    TurnEndHook, TurnStartHook,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Map;

use super::host::Host;
use super::wire::type_of;
use crate::engine::{Event, EventSink, content_blocks};
use crate::providers::Update;
use crate::runtime::Clock;

/// Forwards each event to extensions and then to the original sink.
pub struct EventForwarder {
    host: Arc<Host>,
    sink: Arc<dyn EventSink>,
    clock: Arc<dyn Clock>,
    turn: AtomicU64,
}

impl EventForwarder {
    /// Creates a forwarder to the host's extensions and to `sink`.
    pub fn new(host: Arc<Host>, sink: Arc<dyn EventSink>, clock: Arc<dyn Clock>) -> Self {
        Self { host, sink, clock, turn: AtomicU64::new(0) }
    }

    fn forward(&self, event: Event<'_>) {
        let Some(name) = name(event) else { return };
        if matches!(event, Event::RunStarted) {
            self.turn.store(0, Ordering::Relaxed);
        }
        let turn = self.turn.load(Ordering::Relaxed);
        if matches!(event, Event::TurnEnded { .. }) {
            self.turn.store(turn + 1, Ordering::Relaxed);
        }
        // Before each request to the model, extensions receive a request for the context. As in older
        // revisions of pi, it overtakes events since the start of the turn.
        let context_request = || match self.host.overtakes_events(type_of::<ContextHook>()) {
            true => self.host.subscribers(type_of::<ContextHook>()),
            false => Vec::new(),
        };
        match event {
            Event::RunStarted | Event::TurnStarted => {
                context_request().iter().for_each(|member| member.process.hold())
            }
            // The turn may have ended before a request to the model.
            Event::TurnEnded { .. } | Event::RunEnded { .. } => {
                context_request().iter().for_each(|member| member.process.release());
            }
            _ => {}
        }
        let members = self.host.subscribers(name);
        if members.is_empty() {
            return;
        }
        let Some(hook) = hook(event, turn, || self.clock.now_ms()) else { return };
        let Some(what) = value_id(event) else {
            members.iter().for_each(|member| self.host.notify(member, hook.clone()));
            return;
        };
        let hook = Arc::new(hook);
        members.iter().for_each(|member| self.host.notify_update(member, what.clone(), hook.clone()));
    }
}

impl EventSink for EventForwarder {
    fn wait_for_capacity(&self) -> BoxFuture<'_, ()> {
        async {
            self.sink.wait_for_capacity().await;
            self.host.wait_for_capacity().await;
        }
        .boxed()
    }

    fn join_threshold(&self) -> Option<usize> {
        self.sink.join_threshold()
    }

    fn push(&self, event: Event<'_>) {
        self.forward(event);
        self.sink.push(event);
        // Deferred, because the engine's state may be locked.
        match value_id(event) {
            None => self.host.schedule_refresh(),
            Some(_) => self.host.schedule_throttled_refresh(),
        }
    }
}

/// Returns the name under which extensions receive an event. Returns `None` if extensions do not receive it.
fn name(event: Event<'_>) -> Option<&'static str> {
    Some(match event {
        Event::RunStarted => type_of::<AgentStart>(),
        Event::RunEnded { .. } => type_of::<AgentEnd>(),
        Event::TurnStarted => type_of::<TurnStartHook>(),
        Event::TurnEnded { .. } => type_of::<TurnEndHook>(),
        Event::MessageStarted { .. } => type_of::<MessageStart>(),
        Event::MessageUpdated { .. } => type_of::<MessageUpdate>(),
        Event::MessageEnded { .. } => type_of::<MessageEnd>(),
        Event::ToolStarted(_) => type_of::<ToolExecutionStart>(),
        Event::ToolUpdated(..) => type_of::<ToolExecutionUpdate>(),
        Event::ToolEnded(..) => type_of::<ToolExecutionEnd>(),
        Event::RetryStarted { .. }
        | Event::RetryEnded { .. }
        | Event::CompactionStarted { .. }
        | Event::CompactionEnded { .. }
        | Event::Queued(_)
        | Event::Recovered
        | Event::Settled { .. }
        | Event::QueuesChanged { .. }
        | Event::SummaryRetryScheduled { .. }
        | Event::SummaryRetryStarted { .. }
        | Event::SummaryRetriesEnded
        | Event::EntryAppended(_)
        | Event::SessionNamed { .. }
        | Event::ThinkingChanged { .. }
        | Event::RulesTriggered(_)
        | Event::TodoReminder { .. }
        | Event::Child { .. }
        | Event::BudgetWarning { .. }
        | Event::BudgetExceeded { .. }
        | Event::StorageStatus { .. }
        | Event::ExtensionFailed { .. } => return None,
    })
}

/// Returns the id of the value that an event updates, such as an answer in progress. Returns `None` if each
/// event of this kind must be delivered.
fn value_id(event: Event<'_>) -> Option<Arc<str>> {
    match event {
        Event::MessageUpdated { .. } => Some("message".into()),
        Event::ToolUpdated(call, _) => Some(format!("tool {}", call.id).into()),
        _ => None,
    }
}

fn hook(event: Event<'_>, turn: u64, now: impl FnOnce() -> i64) -> Option<HookEvent> {
    Some(match event {
        Event::RunStarted => AgentStart::new().into(),
        Event::RunEnded { messages, .. } => {
            AgentEnd::new(messages.iter().map(|message| AgentMessage::clone(message)).collect()).into()
        }
        Event::TurnStarted => TurnStartHook::new(turn, now()).into(),
        Event::TurnEnded { message, results } => {
            TurnEndHook::new(turn, message.clone(), results.to_vec()).into()
        }
        Event::MessageStarted { message, .. } => MessageStart::new(message.clone()).into(),
        Event::MessageEnded { message, .. } => MessageEnd::new(message.clone()).into(),
        Event::MessageUpdated { message, update, .. } => {
            let mut event = MessageUpdate::new(message_event(message, update));
            event.message = Some(message.clone().into());
            event.into()
        }
        Event::ToolStarted(call) => {
            ToolExecutionStart::new(&call.id, &call.name, call.arguments.clone()).into()
        }
        Event::ToolUpdated(call, update) => {
            let mut output = ToolOutput::new(content_blocks(&update.content));
            output.details = update.details.clone().into();
            ToolExecutionUpdateBuilder {
                tool_call_id: call.id.clone(),
                tool_name: call.name.clone(),
                args: call.arguments.clone(),
                partial_result: output,
            }
            .build()
            .into()
        }
        Event::ToolEnded(call, output) => {
            let mut result = ToolOutput::new(content_blocks(&output.content));
            result.details = output.details.clone().into();
            ToolExecutionEndBuilder {
                tool_call_id: call.id.clone(),
                tool_name: call.name.clone(),
                result,
                is_error: output.is_error,
            }
            .build()
            .into()
        }
        _ => return None,
    })
}

/// Returns the update of a message for extensions. The frame contains the message so far as a separate
/// member.
fn message_event(message: &AssistantMessage, update: &Update) -> AssistantMessageEvent {
    let index = update.index() as u64;
    let block = message.content.get(update.index());
    match update {
        Update::TextStart { .. } => TextStart::new(index).into(),
        Update::TextDelta { delta, .. } => TextDelta::new(index, delta).into(),
        Update::TextEnd { .. } => {
            let text = match block {
                Some(AssistantBlock::Text(block)) => block.text.clone(),
                _ => String::new(),
            };
            TextEnd::new(index, text).into()
        }
        Update::ThinkingStart { .. } => ThinkingStart::new(index).into(),
        Update::ThinkingDelta { delta, .. } => ThinkingDelta::new(index, delta).into(),
        Update::ThinkingEnd { .. } => {
            let text = match block {
                Some(AssistantBlock::Thinking(block)) => block.thinking.clone(),
                _ => String::new(),
            };
            ThinkingEnd::new(index, text).into()
        }
        Update::ToolCallStart { .. } => ToolCallStart::new(index).into(),
        Update::ToolCallDelta { delta, .. } => ToolCallDelta::new(index, delta).into(),
        Update::ToolCallEnd { .. } => {
            let call = match block {
                Some(AssistantBlock::ToolCall(call)) => call.clone(),
                _ => ToolCall::new("", "", Map::new()),
            };
            ToolCallEnd::new(index, call).into()
        }
    }
}
