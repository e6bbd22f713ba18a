//! Prompt templates: texts with placeholders for arguments.

use std::path::PathBuf;

use super::front_matter::parse;
use super::search_roots::Location;
use super::template_arguments;
use super::warning::ResourceWarning;
use crate::config::read_text;

/// The maximum length of a file, in bytes.
const LIMIT: u64 = 1 << 20;

/// The maximum length of a description that is made from the first line of a template, in characters.
const MAX_DESCRIPTION: usize = 60;

/// A template from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The name of the template, as in `/name`.
    pub name: String,
    /// The purpose of the template; empty if the file has no description.
    pub description: String,
    /// The path of the template's file.
    pub path: PathBuf,
    /// The origin of the template's file.
    pub location: Location,
    text: String,
}

impl Template {
    /// Reads a file. Returns `None` if the file is unusable.
    pub(super) fn read(
        path: PathBuf,
        location: Location,
        warnings: &mut Vec<ResourceWarning>,
    ) -> Option<Self> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name.is_empty()
            || name.contains(|character: char| character.is_whitespace() || character.is_control())
        {
            warnings.push(ResourceWarning::InvalidTemplateName(path));
            return None;
        }
        let text = match read_text(&path, LIMIT) {
            Ok(file) if file.truncated => {
                let reason = std::io::Error::other(format!("it is longer than {LIMIT} bytes"));
                warnings.push(ResourceWarning::Unreadable { path, source: reason.into() });
                return None;
            }
            Ok(file) => file.text,
            Err(source) => {
                warnings.push(ResourceWarning::Unreadable { path, source });
                return None;
            }
        };
        let document = match parse(&text) {
            Ok(document) => document,
            Err(source) => {
                warnings.push(ResourceWarning::FrontMatter { path, source });
                return None;
            }
        };
        let description = document.front_matter.and_then(|front_matter| front_matter.description);
        let description = description
            .map(|description| description.trim().to_owned())
            .filter(|description| !description.is_empty());
        let description = description.unwrap_or_else(|| first_line(&document.body));
        Some(Self { name, description, path, location, text: document.body })
    }

    /// Returns the text with arguments in place of its placeholders.
    pub(super) fn text(&self, words: &str) -> String {
        template_arguments::substitute(&self.text, &template_arguments::split(words))
    }
}

/// Returns the first line that is not blank, cut to the maximum length.
fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(MAX_DESCRIPTION) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, content: &str) -> Result<Template, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        let mut warnings = Vec::new();
        let template = Template::read(path, Location::User, &mut warnings);
        assert_eq!(template.is_none(), warnings.len() == 1, "{warnings:?}");
        template.ok_or_else(|| warnings[0].to_string())
    }

    #[test]
    fn a_template_describes_itself_or_its_first_line_does() {
        let description = |content: &str| read("t.md", content).unwrap().description;
        assert_eq!(description("---\ndescription: Said\n---\nBody"), "Said");
        assert_eq!(description("---\ndescription: ''\n---\n\nBody\n"), "Body");
        assert_eq!(description("\n  \n Plain. \nSecond."), "Plain.");
        assert_eq!(description(&"é".repeat(60)), "é".repeat(60));
        assert_eq!(description(&"é".repeat(61)), format!("{}...", "é".repeat(60)));
        assert_eq!(description(""), "");
    }

    #[test]
    fn text_without_front_matter_keeps_its_end() {
        // As recorded from pi.
        assert_eq!(read("t.md", "Plain.\nSecond.\n").unwrap().text(""), "Plain.\nSecond.\n");
        let template = read("t.md", "---\ndescription: d\n---\nReview $1. Rest: ${@:2}\n").unwrap();
        assert_eq!(template.text("steered"), "Review steered. Rest: ");
        assert_eq!(template.text("a 'b c' d"), "Review a. Rest: b c d");
    }

    #[test]
    fn unusable_template_is_reported() {
        assert!(read("two words.md", "x").unwrap_err().contains("name must not contain spaces"));
        assert!(read("t.md", "---\nopen").unwrap_err().contains("has no closing ---"));
        assert!(read("t.md", &"x".repeat(2 << 20)).unwrap_err().contains("longer than"));
    }
}
