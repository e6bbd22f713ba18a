//! Slash commands of extensions.

use std::sync::Arc;
use std::time::Duration;

use agentese::types::{CommandInfo, CommandSource, HostCommandBuilder, HostFrame, OfferedCommand};
use tokio_util::sync::DropGuard;

use super::calls::{Asked, Failed};
use super::host::{Host, Member};
use crate::resources::{self, ExtensionCommands};

/// Time after which a silent command continues in the background.
const MOMENT: Duration = Duration::from_millis(250);

/// A command invoked by a prompt.
pub struct Invoked {
    member: Member,
    name: String,
    args: String,
}

impl Invoked {
    /// Returns the name of the command, without the slash.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl std::fmt::Debug for Invoked {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Invoked").field("name", &self.name).field("args", &self.args).finish()
    }
}

impl Host {
    fn offered(&self) -> Vec<(Member, OfferedCommand)> {
        let members = self.state().members.clone();
        let mut commands: Vec<(Member, OfferedCommand)> = Vec::new();
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
        let listed = |(member, command): (Member, OfferedCommand)| {
            let mut listed = CommandInfo::new(command.name, CommandSource::Extension);
            listed.description = command.description;
            listed.path = Some(member.path);
            listed
        };
        self.offered().into_iter().map(listed).collect()
    }

    /// Finds the command that a text invokes: `/name`, followed by its arguments.
    pub fn find(&self, text: &str) -> Option<Invoked> {
        let (name, args) = match text.strip_prefix('/')?.split_once(char::is_whitespace) {
            Some((name, args)) => (name, args),
            None => (&text[1..], ""),
        };
        let (member, command) = self.offered().into_iter().find(|(_, command)| command.name == name)?;
        Some(Invoked { member, name: command.name, args: args.to_owned() })
    }

    /// Runs a command. Returns when the command has ended, waits for something, or takes longer than a
    /// moment. `accepted` is called right then, before later frames are sent. `over` is dropped at the end of
    /// the command. A failure is reported to the client.
    pub async fn invoke(&self, invoked: Invoked, over: DropGuard, accepted: Box<dyn FnOnce() + Send>) {
        let (sender, shown) = tokio::sync::oneshot::channel();
        let accepted = Box::new(move || {
            accepted();
            let _ = sender.send(());
        });
        let asked = Asked::new(&invoked.member.path).accepted(accepted);
        let Some(me) = self.me.upgrade() else { return };
        self.refresh(&invoked.member.process);
        let task = tokio::spawn(async move {
            let _over = over;
            let Invoked { member, name, args } = invoked;
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
            let asked = Arc::new(asked);
            let result = member.process.ask_about(asked.clone(), frame, None).await;
            if let Err(Failed::Said(error)) = result {
                me.fail(&format!("command:{name}"), "command", &error);
            }
            asked.accept();
        });
        tokio::select! {
            biased;
            _ = shown => {}
            _ = task => {}
            () = tokio::time::sleep(MOMENT) => {}
        }
    }
}

impl ExtensionCommands for Host {
    fn commands(&self) -> Vec<resources::CommandInfo> {
        let offered = self.offered();
        let state = self.state();
        let listed = |(member, command): (Member, OfferedCommand)| resources::CommandInfo {
            name: command.name,
            description: command.description,
            source: resources::CommandSource::Extension,
            location: state.locations.get(&member.path).copied(),
            path: Some(member.path.into()),
        };
        offered.into_iter().map(listed).collect()
    }
}
