//! Expansion of `/name arguments` to the text for a model.

use std::path::PathBuf;

use super::Resources;
use crate::config::TextFileError;

/// The prefix of a skill's name in a prompt.
pub(super) const SKILL: &str = "skill:";

/// A skill that was invoked but cannot be read any more.
#[derive(Debug, thiserror::Error)]
#[error("the skill cannot be read: {source}")]
pub struct ExpandError {
    /// The path of the skill's file.
    pub path: PathBuf,
    /// The reason why the file cannot be read.
    source: TextFileError,
}

impl Resources {
    /// Returns the expansion of a prompt: `/skill:name arguments` for a skill, `/name arguments` for a
    /// template. Returns `None` for any other text, including unknown names. Reads the skill's file, and
    /// fails if reading fails.
    pub fn expand(&self, prompt: &str) -> Result<Option<String>, ExpandError> {
        let Some(invoked) = prompt.strip_prefix('/') else { return Ok(None) };
        let (name, words) = invoked.split_once(char::is_whitespace).unwrap_or((invoked, ""));
        let skill = name.strip_prefix(SKILL);
        if let Some(skill) = skill.and_then(|name| self.skills().iter().find(|skill| skill.name == name)) {
            let text = skill.text(words.trim());
            return text.map(Some).map_err(|source| ExpandError { path: skill.path.clone(), source });
        }
        let template = self.templates().iter().find(|template| template.name == name);
        Ok(template.map(|template| template.text(words)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::{ResourceSelection, Sources};

    #[test]
    fn names_that_are_known_are_expanded() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("cats.md"), "---\ndescription: d\n---\nFind.\n").unwrap();
        std::fs::create_dir(at("prompts")).unwrap();
        std::fs::write(at("prompts/say.md"), "Say $1, $@").unwrap();
        std::fs::write(at("prompts/skill:cats.md"), "a template").unwrap();
        std::fs::write(at("prompts/skill:dogs.md"), "another template").unwrap();
        let given =
            |path: &str| ResourceSelection { command_line: vec![at(path)], ..ResourceSelection::default() };
        let sources = Sources { skills: given("cats.md"), templates: given("prompts"), ..Sources::default() };
        let (resources, _) = Resources::load(&sources).unwrap();
        let expand = |prompt: &str| resources.expand(prompt).unwrap();
        assert_eq!(expand("/say hi 'to you'").as_deref(), Some("Say hi, hi to you"));
        assert_eq!(expand("/say").as_deref(), Some("Say , "));
        assert_eq!(expand("/say\nhi").as_deref(), Some("Say hi, hi"));
        assert!(expand("/skill:cats  now \n").unwrap().ends_with("\n\nFind.\n</skill>\n\nnow"));
        assert!(expand("/skill:cats").unwrap().ends_with("\n\nFind.\n</skill>"));
        assert_eq!(expand("/skill:dogs").as_deref(), Some("another template"));
        for text in ["say hi", " /say hi", "/nosuch x", "/skill:nosuch", "/", "/quit", "//say", "/SAY", ""] {
            assert_eq!(expand(text), None, "{text}");
        }
        std::fs::remove_file(at("cats.md")).unwrap();
        let error = resources.expand("/skill:cats").unwrap_err();
        assert_eq!(error.path, at("cats.md"));
        assert!(error.to_string().starts_with("the skill cannot be read: "), "{error}");
    }
}
