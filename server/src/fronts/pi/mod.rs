//! The pi dialect: the commands that its heirs do not have in this form.

use agentese::pi::{
    CommandInfo as WireCommand, CommandLocation, CommandSource as WireSource, Commands, ForkParams,
    ForkPoint, ForkPoints, ForkResult, Own, Pi, SessionState, SessionStateBuilder,
};
use agentese::serve::{Call, Refusal};
use agentese::wire::NoParams;

use super::family::{self, refuse, text};
use crate::desk::Caller;
use crate::engine::View;
use crate::resources::{CommandInfo, CommandSource, Location};

/// Speaks the dialect.
pub type Front = family::Front<Pi>;

impl Own for Front {
    async fn get_state(&self, _: NoParams, _: Call<Pi, SessionState>) -> Result<SessionState, Refusal> {
        Ok(state(self.desk.state().await))
    }

    async fn fork(&self, params: ForkParams, call: Call<Pi, ForkResult>) -> Result<ForkResult, Refusal> {
        let (text, done) = self.desk.fork(&params.entry_id, Caller::of(&call)).await.map_err(refuse)?;
        Ok(ForkResult::new(text, !done))
    }

    async fn get_fork_messages(&self, _: NoParams, _: Call<Pi, ForkPoints>) -> Result<ForkPoints, Refusal> {
        let points = self.engine().fork_messages().into_iter();
        Ok(ForkPoints::new(points.map(|(entry, text)| ForkPoint::new(entry.to_string(), text)).collect()))
    }

    async fn get_commands(&self, _: NoParams, _: Call<Pi, Commands>) -> Result<Commands, Refusal> {
        Ok(Commands::new(self.desk.commands().await.into_iter().map(command).collect()))
    }
}

fn state(view: View) -> SessionState {
    let mut state = SessionStateBuilder {
        model: view.model,
        thinking_level: view.thinking,
        is_streaming: view.streaming,
        is_compacting: view.compacting,
        steering_mode: view.steering_mode,
        follow_up_mode: view.follow_up_mode,
        session_id: view.session_id,
        auto_compaction_enabled: view.auto_compaction,
        message_count: view.messages as u64,
        pending_message_count: view.pending as u64,
    }
    .build();
    state.session_file = view.session_file.map(text);
    state.session_name = view.session_name;
    state
}

fn command(command: CommandInfo) -> WireCommand {
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
