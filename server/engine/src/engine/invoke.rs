//! What `/name` in a prompt stands for, and what can stand there.

use super::input::Input;
use super::{Engine, Event};
use crate::resources::CommandInfo;

impl Engine {
    /// Everything that a prompt can invoke with `/name`.
    pub fn commands(&self) -> Vec<CommandInfo> {
        let extensions = &self.shared.options.extension_commands;
        self.shared.resources().commands(extensions.as_ref())
    }

    /// Everything that a prompt can invoke there, where another agent does the work.
    pub async fn commands_there(&self) -> Option<Vec<CommandInfo>> {
        match &self.shared.led {
            Some(led) => Some(led.lead.commands().await),
            None => None,
        }
    }

    /// Puts the text of a skill or a template in place of its name. Where that cannot be read, the text stays as it is
    /// and an event says why. Blocks for one small file: messages must not overtake each other.
    pub(super) fn expand(&self, input: &mut Input) {
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
