//! Slash commands of extensions.

use std::sync::Arc;
use std::time::Duration;

use agentese::types::{CommandInfo, CommandSource, HostCommandBuilder, HostFrame, OfferedCommand};
use tokio_util::sync::DropGuard;

use super::calls::{CallError, PendingCall};
use super::host::{Host, LoadedExtension};
use crate::resources::{self, ExtensionCommands};

/// Time after which the agent no longer waits for a command. The command continues in the background.
const BACKGROUND_DELAY: Duration = Duration::from_millis(250);

/// A command invoked by a prompt.
pub struct CommandInvocation {
    member: LoadedExtension,
    name: String,
    args: String,
}

impl CommandInvocation {
    /// Returns the name of the command, without the slash.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl std::fmt::Debug for CommandInvocation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("CommandInvocation")
            .field("name", &self.name)
            .field("args", &self.args)
            .finish()
    }
}

impl Host {
    fn offered_commands(&self) -> Vec<(LoadedExtension, OfferedCommand)> {
        let members = self.registry().loaded.clone();
        let mut commands: Vec<(LoadedExtension, OfferedCommand)> = Vec::new();
        for member in members {
            for command in member.offered.commands.clone().unwrap_or_default() {
                // Of two commands with one name the first applies.
                if !commands.iter().any(|(_, known)| known.name == command.name) {
                    commands.push((member.clone(), command));
                }
            }
        }
        commands
    }

    /// Returns all commands, in the order of registration.
    pub fn commands(&self) -> Vec<CommandInfo> {
        let listed = |(member, command): (LoadedExtension, OfferedCommand)| {
            let mut listed = CommandInfo::new(command.name, CommandSource::Extension);
            listed.description = command.description;
            listed.path = Some(member.path);
            listed
        };
        self.offered_commands().into_iter().map(listed).collect()
    }

    /// Returns the invocation in a text: `/name`, followed by arguments. Returns `None` if the text invokes no command
    /// of an extension.
    pub fn find(&self, text: &str) -> Option<CommandInvocation> {
        let (name, args) = match text.strip_prefix('/')?.split_once(char::is_whitespace) {
            Some((name, args)) => (name, args),
            None => (&text[1..], ""),
        };
        let (member, command) =
            self.offered_commands().into_iter().find(|(_, command)| command.name == name)?;
        Some(CommandInvocation { member, name: command.name, args: args.to_owned() })
    }

    /// Runs a command. Returns when the command has ended, is marked as accepted, or takes longer than
    /// [`BACKGROUND_DELAY`]. `accepted` is called once, when the command is accepted or ends. `done_guard` is dropped
    /// at the end of the command. A failure is reported to the client.
    pub async fn invoke(
        &self,
        invocation: CommandInvocation,
        done_guard: DropGuard,
        accepted: Box<dyn FnOnce() + Send>,
    ) {
        let (sender, accepted_receiver) = tokio::sync::oneshot::channel();
        let accepted = Box::new(move || {
            accepted();
            let _ = sender.send(());
        });
        let call = PendingCall::new(&invocation.member.path).accepted(accepted);
        let Some(me) = self.me.upgrade() else { return };
        self.refresh(&invocation.member.process);
        let task = tokio::spawn(async move {
            let _done_guard = done_guard;
            let CommandInvocation { member, name, args } = invocation;
            let frame = |id: String| {
                HostFrame::from(
                    HostCommandBuilder {
                        id,
                        extension: member.path.clone(),
                        name: name.clone(),
                        args: args.clone(),
                    }
                    .build(),
                )
            };
            let call = Arc::new(call);
            let result = member.process.request_shared(call.clone(), frame, None).await;
            if let Err(CallError::Extension(error)) = result {
                me.report_failure(&format!("command:{name}"), "command", &error);
            }
            call.accept();
        });
        tokio::select! {
            biased;
            _ = accepted_receiver => {}
            _ = task => {}
            () = tokio::time::sleep(BACKGROUND_DELAY) => {}
        }
    }
}

impl ExtensionCommands for Host {
    fn commands(&self) -> Vec<resources::CommandInfo> {
        let offered = self.offered_commands();
        let state = self.registry();
        let listed = |(member, command): (LoadedExtension, OfferedCommand)| resources::CommandInfo {
            name: command.name,
            description: command.description,
            source: resources::CommandSource::Extension,
            location: state.locations.get(&member.path).copied(),
            path: Some(member.path.into()),
        };
        offered.into_iter().map(listed).collect()
    }
}
