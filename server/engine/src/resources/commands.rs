//! The list of commands in prompts, for clients.

use std::path::PathBuf;

use super::expand::SKILL;
use super::{Location, Resources};

/// The source of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandSource {
    /// An extension registered the command.
    Extension,
    /// The command is a prompt template.
    Template,
    /// The command is a skill.
    Skill,
}

/// A command that a prompt can invoke with `/name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandInfo {
    /// The name of the command, without the slash.
    pub name: String,
    /// The description of the command; `None` if its source has no description.
    pub description: Option<String>,
    /// The source of the command.
    pub source: CommandSource,
    /// The origin of the file that defines the command, if known.
    pub location: Option<Location>,
    /// The path of the file that defines the command.
    pub path: Option<PathBuf>,
}

/// Knows the commands that extensions have registered.
pub trait ExtensionCommands: Send + Sync {
    /// Returns all commands of extensions, in the order of registration. Must not block.
    fn commands(&self) -> Vec<CommandInfo>;
}

/// An implementation without extensions. It has no commands.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoExtensions;

impl ExtensionCommands for NoExtensions {
    fn commands(&self) -> Vec<CommandInfo> {
        Vec::new()
    }
}

impl Resources {
    /// Returns all commands that a prompt can invoke: commands of extensions, templates, skills. If a template or
    /// skill has the name of an extension command, it is omitted, because no prompt can invoke it.
    pub fn commands(&self, extensions: &dyn ExtensionCommands) -> Vec<CommandInfo> {
        let mut commands = extensions.commands();
        let own = commands.len();
        let templates = self.templates().iter().map(|template| CommandInfo {
            name: template.name.clone(),
            description: Some(template.description.clone()).filter(|description| !description.is_empty()),
            source: CommandSource::Template,
            location: Some(template.location),
            path: Some(template.path.clone()),
        });
        let skills = self.skills().iter().map(|skill| CommandInfo {
            name: format!("{SKILL}{}", skill.name),
            description: Some(skill.description.clone()),
            source: CommandSource::Skill,
            location: Some(skill.location),
            path: Some(skill.path.clone()),
        });
        for command in templates.chain(skills) {
            if !commands[..own].iter().any(|known| known.name == command.name) {
                commands.push(command);
            }
        }
        commands
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::{ResourceSelection, Sources};

    struct FixedCommands;

    impl ExtensionCommands for FixedCommands {
        fn commands(&self) -> Vec<CommandInfo> {
            let command = |name: &str| CommandInfo {
                name: name.to_owned(),
                description: None,
                source: CommandSource::Extension,
                location: None,
                path: Some("/e.ts".into()),
            };
            vec![command("zeta"), command("both")]
        }
    }

    #[test]
    fn extensions_come_first_then_templates_then_skills() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir(at("prompts")).unwrap();
        std::fs::write(at("prompts/both.md"), "x").unwrap();
        std::fs::write(at("prompts/empty.md"), "").unwrap();
        std::fs::write(at("a.md"), "---\ndescription: d\n---\n").unwrap();
        let given =
            |path: &str| ResourceSelection { command_line: vec![at(path)], ..ResourceSelection::default() };
        let sources = Sources { skills: given("a.md"), templates: given("prompts"), ..Sources::default() };
        let (resources, _) = Resources::load(&sources).unwrap();
        let names = |extensions: &dyn ExtensionCommands| -> Vec<String> {
            resources.commands(extensions).into_iter().map(|command| command.name).collect()
        };
        assert_eq!(names(&FixedCommands), ["zeta", "both", "empty", "skill:a"]);
        assert_eq!(names(&NoExtensions), ["both", "empty", "skill:a"]);
        let listed = resources.commands(&NoExtensions);
        assert_eq!((listed[0].description.as_deref(), listed[1].description.clone()), (Some("x"), None));
        assert_eq!((listed[2].location, listed[2].path.clone()), (Some(Location::Path), Some(at("a.md"))));
    }
}
