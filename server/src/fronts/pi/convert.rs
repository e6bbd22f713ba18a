//! From the engine's values to the dialect's.

use std::sync::Arc;

use agentese::pi::{
    AgentEnd, AgentMessage, AgentStart, BashResult, Event as Wire, MessageEnd, MessageStart, SessionState,
    StreamingBehavior as WireBehavior, ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate, ToolOutput,
    TurnEnd, TurnStart,
};

use crate::engine::{Event, StreamingBehavior, View, blocks};
use crate::tools::RpcBashOutput;

pub(super) fn streaming_behavior(behavior: WireBehavior) -> StreamingBehavior {
    match behavior {
        WireBehavior::Steer => StreamingBehavior::Steer,
        WireBehavior::FollowUp => StreamingBehavior::FollowUp,
    }
}

pub(super) fn state(view: View) -> SessionState {
    let mut state = SessionState::new(
        view.model,
        view.thinking,
        view.streaming,
        // Nothing compacts in this version, and nothing does so on its own.
        false,
        view.steering_mode,
        view.follow_up_mode,
        view.session_id,
        false,
        view.messages as u64,
        view.pending as u64,
    );
    state.session_name = view.session_name;
    state
}

pub(super) fn messages(messages: &[Arc<AgentMessage>]) -> Vec<AgentMessage> {
    messages.iter().map(|message| AgentMessage::clone(message)).collect()
}

pub(super) fn bash_result(output: RpcBashOutput) -> BashResult {
    let mut result = BashResult::new(output.output, output.cancelled, output.truncated);
    result.exit_code = output.exit_code.map(i64::from).into();
    result.full_output_path = output.full_output_path.map(|path| path.to_string_lossy().into_owned()).into();
    result
}

/// An event on the wire; none for the growth of a message, which [`super::snapshot`] writes.
pub(super) fn event(event: Event<'_>) -> Option<Wire> {
    Some(match event {
        Event::MessageUpdated { .. } => return None,
        Event::RunStarted => Wire::from(AgentStart::new()),
        Event::TurnStarted => TurnStart::new().into(),
        Event::MessageStarted(message) => MessageStart::new(message.clone()).into(),
        Event::MessageEnded(message) => MessageEnd::new(message.clone()).into(),
        Event::ToolStarted(call) => {
            ToolExecutionStart::new(&call.id, &call.name, call.arguments.clone()).into()
        }
        Event::ToolUpdated(call, update) => {
            let mut shown = ToolOutput::new(blocks(&update.content));
            shown.details = update.details.clone().into();
            ToolExecutionUpdate::new(&call.id, &call.name, call.arguments.clone(), shown).into()
        }
        Event::ToolEnded(call, output) => {
            let mut result = ToolOutput::new(blocks(&output.content));
            result.details = output.details.clone().into();
            ToolExecutionEnd::new(&call.id, &call.name, result, output.is_error).into()
        }
        Event::TurnEnded { message, results } => TurnEnd::new(message.clone(), results.to_vec()).into(),
        Event::RunEnded { messages: all } => AgentEnd::new(messages(all)).into(),
    })
}
