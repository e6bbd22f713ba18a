//! Invocations with `/name` in a prompt, and the list of their names.

use super::user_input::UserInput;
use crate::engine::{Engine, Event};
use crate::resources::CommandInfo;

impl Engine {
    /// Returns all commands that a prompt can invoke with `/name`.
    pub fn commands(&self) -> Vec<CommandInfo> {
        let extensions = &self.shared.options.extension_commands;
        self.shared.resources().commands(extensions.as_ref())
    }

    /// Returns all commands that a prompt can invoke in the remote agent; `None` without a remote agent.
    pub async fn remote_commands(&self) -> Option<Vec<CommandInfo>> {
        match &self.shared.remote {
            Some(remote) => Some(remote.agent.commands().await),
            None => None,
        }
    }

    /// Replaces the name of a skill or a template in the input with its text. If its file cannot be read, the input
    /// stays unchanged and an event reports the reason. Blocks while it reads one small file, so that later
    /// messages cannot overtake this one.
    pub(in crate::engine) fn expand(&self, input: &mut UserInput) {
        match self.shared.resources().expand(&input.text) {
            Ok(Some(text)) => input.text = text,
            Ok(None) => {}
            Err(error) => self.shared.sink.push(Event::ExtensionFailed {
                extension: &error.path.to_string_lossy(),
                // The name is pi's.
                event: "skill_expansion",
                error: &error.to_string(),
            }),
        }
    }
}
