//! From the engine's values to the dialect's.

use std::path::PathBuf;
use std::sync::Arc;

use agentese::pi::{
    AgentEnd, AgentMessage, AgentStart, AutoCompactionEnd, AutoCompactionStart, AutoRetryEnd, AutoRetryStart,
    BashResult, CommandInfo as WireCommand, CommandLocation, CommandSource as WireSource, Event as Wire,
    ExtensionError, MessageEnd, MessageStart, SessionState, StreamingBehavior as WireBehavior,
    ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate, ToolOutput, TurnEnd, TurnStart,
};

use agentese::wire::Maybe;

use crate::engine::{Event, StreamingBehavior, View, blocks};
use crate::resources::{CommandInfo, CommandSource, Location};
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
        view.compacting,
        view.steering_mode,
        view.follow_up_mode,
        view.session_id,
        view.auto_compaction,
        view.messages as u64,
        view.pending as u64,
    );
    state.session_file = view.session_file.map(text);
    state.session_name = view.session_name;
    state
}

/// A path, as text.
pub(super) fn text(path: PathBuf) -> String {
    path.to_string_lossy().into_owned()
}

pub(super) fn messages(messages: &[Arc<AgentMessage>]) -> Vec<AgentMessage> {
    messages.iter().map(|message| AgentMessage::clone(message)).collect()
}

pub(super) fn bash_result(output: RpcBashOutput) -> BashResult {
    let mut result = BashResult::new(output.output, output.cancelled, output.truncated);
    result.exit_code = output.exit_code.map(i64::from).into();
    result.full_output_path = output.full_output_path.map(text).into();
    result
}

pub(super) fn command(command: CommandInfo) -> WireCommand {
    let source = match command.source {
        CommandSource::Extension => WireSource::Extension,
        CommandSource::Template => WireSource::Prompt,
        CommandSource::Skill => WireSource::Skill,
    };
    let mut listed = WireCommand::new(command.name, source);
    listed.description = command.description;
    listed.location = command.location.map(|location| match location {
        Location::User => CommandLocation::User,
        Location::Project => CommandLocation::Project,
        Location::Path => CommandLocation::Path,
    });
    listed.path = command.path.map(text);
    listed
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
        Event::RetryStarted { attempt, limit, pause, error } => {
            let pause = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            AutoRetryStart::new(attempt, limit, pause, error).into()
        }
        Event::RetryEnded { success, attempt, error } => {
            let mut end = AutoRetryEnd::new(success, attempt);
            end.final_error = error.map(str::to_owned);
            end.into()
        }
        Event::CompactionStarted { reason } => AutoCompactionStart::new(reason.clone()).into(),
        Event::CompactionEnded { result, aborted, will_retry, error } => {
            let mut end = AutoCompactionEnd::new(aborted, will_retry);
            // The document: null where nothing came of it.
            end.result = Maybe::or_null(result.cloned());
            end.error_message = error.map(str::to_owned);
            end.into()
        }
        Event::ExtensionFailed { extension, event, error } => {
            ExtensionError::new(extension, event, error).into()
        }
    })
}
