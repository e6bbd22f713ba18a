//! Skills: files with instructions for one kind of task.

use std::path::{Path, PathBuf};

use super::front_matter::{Document, parse};
use super::search_roots::Location;
use super::warning::ResourceWarning;
use crate::config::{TextFileError, read_text};
use crate::prompt::Skill;

/// The file that makes a directory a skill.
pub(super) const SKILL_FILE: &str = "SKILL.md";

/// The maximum length of a file, in bytes.
const LIMIT: u64 = 1 << 20;

/// The maximum length of a name in the standard for skills, in characters.
const MAX_NAME_LENGTH: usize = 64;
const MAX_DESCRIPTION_LENGTH: usize = 1024;

/// A skill from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// The name of the skill, as in `/skill:name`.
    pub name: String,
    /// The purpose of the skill.
    pub description: String,
    /// The path of the skill's file.
    pub path: PathBuf,
    /// The origin of the skill's file.
    pub location: Location,
    /// True if the system prompt lists the skill.
    pub is_for_models: bool,
}

impl SkillFile {
    /// Reads and checks a file. Returns `None` if the file is unusable.
    pub(super) fn read(
        path: PathBuf,
        location: Location,
        warnings: &mut Vec<ResourceWarning>,
    ) -> Option<Self> {
        let text = match read_text(&path, LIMIT) {
            Ok(file) => file.text,
            Err(source) => {
                warnings.push(ResourceWarning::Unreadable { path, source });
                return None;
            }
        };
        let front_matter = match parse(&text) {
            Ok(document) => document.front_matter.unwrap_or_default(),
            Err(source) => {
                warnings.push(ResourceWarning::FrontMatter { path, source });
                return None;
            }
        };
        let description = front_matter.description.unwrap_or_default().trim().to_owned();
        if description.is_empty() {
            warnings.push(ResourceWarning::NoDescription(path));
            return None;
        }
        let length = description.chars().count();
        if length > MAX_DESCRIPTION_LENGTH {
            let limit = MAX_DESCRIPTION_LENGTH;
            warnings.push(ResourceWarning::LongDescription { path: path.clone(), length, limit });
        }
        let usual = default_name(&path);
        let name = front_matter.name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| usual.clone());
        let is_directory = path.file_name().is_some_and(|name| name == SKILL_FILE);
        let broken = broken_rules(&name, is_directory.then_some(usual.as_str()));
        warnings.extend(broken.into_iter().map(|rule| ResourceWarning::InvalidName {
            path: path.clone(),
            name: name.clone(),
            rule,
        }));
        let is_for_models = !front_matter.disable_model_invocation.unwrap_or(false);
        Some(Self { name, description, path, location, is_for_models })
    }

    /// Returns the skill in the form for the system prompt. Returns `None` if the skill is hidden from
    /// models.
    pub(super) fn for_model(&self) -> Option<Result<Skill, ResourceWarning>> {
        self.is_for_models.then(|| {
            Skill::new(&self.name, &self.description, &self.path).map_err(ResourceWarning::HiddenSkill)
        })
    }

    /// Returns the text for a prompt that invokes the skill with the arguments `words`, in the form of pi. Reads
    /// the file again, because it may have changed. Fails if the file cannot be read or is too long.
    pub(super) fn text(&self, words: &str) -> Result<String, TextFileError> {
        let file = read_text(&self.path, LIMIT)?;
        if file.truncated {
            let reason = format!("it is longer than {LIMIT} bytes");
            return Err(std::io::Error::other(reason).into());
        }
        let body = match parse(&file.text) {
            Ok(Document { body, .. }) => body,
            Err(error) => return Err(std::io::Error::other(error.to_string()).into()),
        };
        let directory = self.path.parent().unwrap_or(Path::new("/")).display();
        let (name, location) = (attribute(&self.name), attribute(&self.path.to_string_lossy()));
        let body = body.trim();
        let element = format!(
            "<skill name=\"{name}\" location=\"{location}\">\nReferences are relative to {directory}.\n\n{body}\n</skill>"
        );
        Ok(if words.is_empty() { element } else { format!("{element}\n\n{words}") })
    }
}

/// Returns the default name of a skill: for a SKILL.md, the name of its directory; otherwise the name of the file.
fn default_name(path: &Path) -> String {
    let name = match path.file_name() {
        Some(name) if name == SKILL_FILE => path.parent().and_then(Path::file_name),
        _ => path.file_stem(),
    };
    name.unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the rules of the standard that a name breaks. Such a skill is used nevertheless.
fn broken_rules(name: &str, directory: Option<&str>) -> Vec<String> {
    let length = name.chars().count();
    let is_allowed = |character: char| matches!(character, 'a'..='z' | '0'..='9' | '-');
    let directory = directory.filter(|directory| *directory != name);
    let rules = [
        directory.map(|directory| format!("differs from the name of its directory, {directory:?}")),
        (length > MAX_NAME_LENGTH)
            .then(|| format!("has {length} characters; a skill's name has at most {MAX_NAME_LENGTH}")),
        (!name.chars().all(is_allowed)).then(|| "contains characters other than a-z, 0-9 and -".to_owned()),
        (name.starts_with('-') || name.ends_with('-')).then(|| "begins or ends with -".to_owned()),
        name.contains("--").then(|| "contains --".to_owned()),
    ];
    rules.into_iter().flatten().collect()
}

/// Escapes a value for an attribute.
fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a skill with the given content from a directory `named`. Returns the skill, and the warnings without
    /// the path of the file.
    fn read(content: &str) -> (Option<SkillFile>, Vec<String>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("named").join(SKILL_FILE);
        std::fs::create_dir(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        let mut warnings = Vec::new();
        let skill = SkillFile::read(path.clone(), Location::User, &mut warnings);
        let prefix = format!("{}: ", path.display());
        let warnings = warnings
            .iter()
            .map(|warning| warning.to_string().strip_prefix(&prefix).expect("the path is named").to_owned());
        (skill, warnings.collect())
    }

    #[test]
    fn invalid_names_are_reported_and_still_used() {
        let long = "a".repeat(65);
        let cases: [(&str, &[&str]); 6] = [
            ("named", &[]),
            ("other", &["the name \"other\" differs from the name of its directory, \"named\""]),
            ("-named", &["differs from the name of", "begins or ends with -"]),
            ("a--b", &["differs from the name of", "contains --"]),
            ("Named Skill", &["differs from the name of", "contains characters other than a-z, 0-9 and -"]),
            (&long, &["differs from the name of", "has 65 characters; a skill's name has at most 64"]),
        ];
        for (name, expected) in cases {
            let (skill, warnings) = read(&format!("---\nname: {name}\ndescription: d\n---\n"));
            assert_eq!(skill.unwrap().name, name);
            assert_eq!(warnings.len(), expected.len(), "{warnings:?}");
            for (warning, part) in warnings.iter().zip(expected) {
                assert!(warning.contains(part), "{warning}");
            }
        }
        let (skill, warnings) = read("---\ndescription: d\n---\n");
        assert_eq!((skill.unwrap().name.as_str(), warnings.len()), ("named", 0));
    }

    #[test]
    fn a_description_is_needed() {
        for content in ["# No front matter", "---\nname: named\n---\n", "---\ndescription: ' '\n---\n", ""] {
            let (skill, warnings) = read(content);
            assert_eq!(skill, None);
            assert_eq!(warnings, ["the skill has no description; it is left out"], "{content}");
        }
        let (skill, warnings) = read(&format!("---\ndescription: {}\n---\n", "é".repeat(1024)));
        assert_eq!((skill.is_some(), warnings.len()), (true, 0));
        let (skill, warnings) = read(&format!("---\ndescription: {}\n---\n", "é".repeat(1025)));
        assert!(skill.is_some());
        assert_eq!(warnings, ["its description has 1025 characters; a skill should have at most 1024"]);
        let (skill, warnings) = read("---\ndescription: use when: always\n---\n");
        assert!(
            skill.is_none() && warnings[0].starts_with("its front matter cannot be read"),
            "{warnings:?}"
        );
    }

    #[test]
    fn skill_is_listed_for_models_unless_disabled() {
        let is_listed = |more: &str| {
            let (skill, _) = read(&format!("---\ndescription: d\n{more}\n---\n"));
            skill.unwrap().for_model().is_some()
        };
        assert!(is_listed("") && is_listed("disable-model-invocation: false"));
        assert!(!is_listed("disable-model-invocation: true"));
    }

    #[test]
    fn the_text_is_the_body_in_an_element() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a\"b.md");
        std::fs::write(&path, "---\ndescription: d\n---\n\n# Do\n\nit\n").unwrap();
        let skill = SkillFile::read(path.clone(), Location::Path, &mut Vec::new()).unwrap();
        let at = directory.path().display();
        let element = format!(
            "<skill name=\"a&quot;b\" location=\"{at}/a&quot;b.md\">\nReferences are relative to {at}.\n\n# Do\n\nit\n</skill>"
        );
        assert_eq!(skill.text("").unwrap(), element);
        assert_eq!(skill.text("now\nplease").unwrap(), format!("{element}\n\nnow\nplease"));
        std::fs::write(&path, "x".repeat(2 << 20)).unwrap();
        assert!(skill.text("").unwrap_err().to_string().contains("longer than"));
        std::fs::remove_file(&path).unwrap();
        assert!(skill.text("").unwrap_err().is_not_found());
    }
}
