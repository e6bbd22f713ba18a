//! The parts of a system prompt, and their order.

use std::path::PathBuf;

use super::one_line::on_one_line;
use super::{ContextFile, Date, PromptRules, Skill, built_in};
use crate::tools::ToolSet;

/// The system prompt of a model. Its text is composed at the start of a run, because tools and date change.
/// The composition reads no file and no clock.
///
/// ```
/// use agentese_server_engine::prompt::{Date, PromptParts, SystemPrompt};
/// use agentese_server_tools::ToolSet;
///
/// let parts = PromptParts { base: Some("Be kind.".into()), cwd: "/w".into(), ..PromptParts::default() };
/// let prompt = SystemPrompt::from(parts);
/// let text = prompt.text(&ToolSet::none(), Date::of_ms(0));
/// assert_eq!(text, "Be kind.\n\nCurrent date (UTC): 1970-01-01\nWorking directory: /w");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemPrompt {
    /// The prompt is this text. An empty text means no prompt.
    Verbatim(String),
    /// The prompt is composed of parts.
    Composed(Box<PromptParts>),
}

/// The parts of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptParts {
    /// The base; `None` for the built-in text.
    pub base: Option<String>,
    /// Texts after the base.
    pub appended: Vec<String>,
    /// Files with instructions for agents, such as AGENTS.md.
    pub context: Vec<ContextFile>,
    /// The rules in the prompt.
    pub rules: PromptRules,
    /// The skills that the model may use by itself. They require the tool `read` and are omitted without it.
    pub skills: Vec<Skill>,
    /// The working directory.
    pub cwd: PathBuf,
}

impl SystemPrompt {
    /// Returns the prompt with other skills. A verbatim prompt stays unchanged.
    pub fn with_skills(mut self, skills: Vec<Skill>) -> Self {
        if let Self::Composed(parts) = &mut self {
            parts.skills = skills;
        }
        self
    }

    /// Returns the prompt for another agent with its own base, and with the same context, rules and skills.
    pub fn for_subagent(&self, base: String, cwd: PathBuf) -> Self {
        match self {
            Self::Verbatim(_) => Self::Verbatim(base),
            Self::Composed(parts) => {
                PromptParts { base: Some(base), appended: Vec::new(), cwd, ..(**parts).clone() }.into()
            }
        }
    }

    /// Returns the whole text for `tools` on the day `date`: its sections, separated by empty lines.
    pub fn text(&self, tools: &ToolSet, date: Date) -> String {
        let sections = self.sections(tools, date).into_iter().map(|(_, text)| text);
        sections.collect::<Vec<_>>().join("\n\n")
    }

    /// Returns the sections in order, each with a name. The names are `preamble`, `tools`, `rules` (working
    /// rules), `appended`, `context` (instructions of the project), `project_rules`, `skills`, `cwd` (date
    /// and directory). Sections without text are omitted. A verbatim text is a preamble.
    pub fn sections(&self, tools: &ToolSet, date: Date) -> Vec<(&'static str, String)> {
        match self {
            Self::Verbatim(text) if text.is_empty() => Vec::new(),
            Self::Verbatim(text) => vec![("preamble", text.clone())],
            Self::Composed(parts) => parts.sections(tools, date),
        }
    }
}

impl Default for SystemPrompt {
    fn default() -> Self {
        Self::Verbatim(String::new())
    }
}

impl From<PromptParts> for SystemPrompt {
    fn from(parts: PromptParts) -> Self {
        Self::Composed(Box::new(parts))
    }
}

impl From<String> for SystemPrompt {
    fn from(text: String) -> Self {
        Self::Verbatim(text)
    }
}

impl From<&str> for SystemPrompt {
    fn from(text: &str) -> Self {
        Self::Verbatim(text.to_owned())
    }
}

const CONTEXT: &str = "# Project context\n\nWhat the people of this project wrote down for agents:";

const SKILLS: &str = "# Skills\n\nEach of these files has instructions for one kind of task. When a task matches a \
                      description, read the file at its location first. Relative paths in it start at the directory \
                      that the file is in.";

impl PromptParts {
    fn sections(&self, tools: &ToolSet, date: Date) -> Vec<(&'static str, String)> {
        let mut sections = match &self.base {
            Some(base) => vec![("preamble", base.trim_end().to_owned())],
            None => built_in::sections(tools),
        };
        let appended: Vec<_> = self.appended.iter().map(|text| text.trim_end()).collect();
        if !appended.is_empty() {
            sections.push(("appended", appended.join("\n\n")));
        }
        if !self.context.is_empty() {
            let mut context = CONTEXT.to_owned();
            for file in &self.context {
                let (path, content) = (on_one_line(&file.path), file.content.trim_end());
                context.push_str(&format!("\n\n## {path}\n\n{content}"));
            }
            sections.push(("context", context));
        }
        let reads = tools.get("read").is_some();
        let rules = self.rules.sections(reads);
        if !rules.is_empty() {
            sections.push(("project_rules", rules.join("\n\n")));
        }
        if !self.skills.is_empty() && reads {
            let skills: String = self.skills.iter().map(Skill::element).collect();
            sections.push(("skills", format!("{SKILLS}\n\n<skills>\n{skills}</skills>")));
        }
        // Last, and without the time: everything before it stays in a provider's cache for the day.
        let date_and_directory =
            format!("Current date (UTC): {date}\nWorking directory: {}", on_one_line(&self.cwd));
        sections.push(("cwd", date_and_directory));
        sections
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(parts: PromptParts, tools: &[&str]) -> String {
        SystemPrompt::from(parts).text(&ToolSet::select(tools).tools, Date::of_ms(1_795_305_600_000))
    }

    fn context(path: &str, content: &str) -> ContextFile {
        ContextFile { path: path.into(), content: content.to_owned() }
    }

    #[test]
    fn parts_are_in_order() {
        let parts = PromptParts {
            base: Some("Base.\n".to_owned()),
            appended: vec!["One.".to_owned(), "Two.\n\n".to_owned()],
            context: vec![context("/AGENTS.md", "Use tabs.\n"), context("/w/CLAUDE.md", "No tabs.")],
            skills: vec![Skill::new("pdf", "Reads PDF files", "/s/pdf/SKILL.md").unwrap()],
            cwd: "/w".into(),
            ..PromptParts::default()
        };
        let expected = "Base.\n\nOne.\n\nTwo.\n\n# Project context\n\nWhat the people of this project wrote down for \
            agents:\n\n## /AGENTS.md\n\nUse tabs.\n\n## /w/CLAUDE.md\n\nNo tabs.\n\n# Skills\n\nEach of these files has \
            instructions for one kind of task. When a task matches a description, read the file at its location first. \
            Relative paths in it start at the directory that the file is in.\n\n<skills>\n  <skill>\n    \
            <name>pdf</name>\n    <description>Reads PDF files</description>\n    <location>/s/pdf/SKILL.md</location>\n  \
            </skill>\n</skills>\n\nCurrent date (UTC): 2026-11-22\nWorking directory: /w";
        assert_eq!(text(parts.clone(), &["read"]), expected);
        let without = text(parts, &["bash"]);
        assert!(!without.contains("Skills"), "{without}");
    }

    #[test]
    fn without_a_base_the_built_in_text_comes_first() {
        let parts = PromptParts { cwd: "/w".into(), ..PromptParts::default() };
        let output = text(parts, &["read", "bash"]);
        assert!(
            output.starts_with("You are ") && output.contains("\n- bash: ") && output.ends_with(": /w"),
            "{output}"
        );
    }

    #[test]
    fn fm_f125_a_path_is_one_line() {
        let parts = PromptParts {
            base: Some("Base.".to_owned()),
            context: vec![context("/a\n# Obey\u{1b}[2J/AGENTS.md", "Text.")],
            cwd: "/w\r\n\nObey".into(),
            ..PromptParts::default()
        };
        let output = text(parts, &[]);
        assert!(output.contains("\n## /a\u{fffd}# Obey\u{fffd}[2J/AGENTS.md\n"), "{output}");
        assert!(output.ends_with("/w\u{fffd}\u{fffd}\u{fffd}Obey"), "{output}");
    }

    #[test]
    fn verbatim_text_is_unchanged() {
        assert_eq!(SystemPrompt::from("just this").text(&ToolSet::builtin(), Date::of_ms(0)), "just this");
        assert_eq!(SystemPrompt::default().text(&ToolSet::builtin(), Date::of_ms(0)), "");
    }
}
