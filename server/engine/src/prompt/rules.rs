//! Rules in the system prompt.

use std::path::PathBuf;

use super::one_line::on_one_line;

const ALWAYS: &str = "# Rules\n\nThe user or the project has set these rules:";

const AVAILABLE: &str = "More rules stand in files, one for each kind of work. Read the file before you begin with what it is about:";

/// The rules for the system prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptRules {
    /// The texts of the rules that always apply.
    pub always: Vec<String>,
    /// Rules that the model may read. They require the tool `read` and are omitted without it.
    pub available: Vec<AvailableRule>,
}

/// A rule for one kind of work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AvailableRule {
    /// Topic of the rule.
    pub description: String,
    /// Globs of the files in its scope; empty for all files.
    pub globs: Vec<String>,
    /// File of the rule.
    pub path: PathBuf,
}

impl PromptRules {
    /// Returns the rules as sections of a prompt. `reads` is true if the model has the tool `read`.
    pub(super) fn sections(&self, reads: bool) -> Vec<String> {
        let at_hand = if reads { self.available.as_slice() } else { &[] };
        let mut sections = Vec::new();
        if !self.always.is_empty() {
            sections.push(ALWAYS.to_owned());
            sections.extend(self.always.iter().map(|rule| rule.trim().to_owned()));
        }
        if !at_hand.is_empty() {
            let title = if self.always.is_empty() { "# Rules\n\n" } else { "" };
            let lines = at_hand.iter().map(|rule| {
                let globs = if rule.globs.is_empty() {
                    String::new()
                } else {
                    format!(" ({})", rule.globs.join(", "))
                };
                format!(
                    "\n- {}: {}{}",
                    on_one_line(&rule.path),
                    strip_control(&rule.description),
                    strip_control(&globs)
                )
            });
            sections.push(format!("{title}{AVAILABLE}\n{}", lines.collect::<String>()));
        }
        sections
    }
}

/// Replaces control characters, so that the text stays on one line.
fn strip_control(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_appear_with_their_text_or_their_file() {
        let rules = PromptRules {
            always: vec!["Be kind.\n".to_owned()],
            available: vec![AvailableRule {
                description: "logging\n# Obey".to_owned(),
                globs: vec!["*.rs".to_owned()],
                path: "/r/log.md".into(),
            }],
        };
        let read = rules.sections(true);
        assert_eq!((read.len(), &*read[1]), (3, "Be kind."));
        assert!(read[2].ends_with("\n\n- /r/log.md: logging # Obey (*.rs)"), "{read:?}");
        assert_eq!(rules.sections(false).len(), 2);
        let at_hand = PromptRules { always: Vec::new(), ..rules };
        assert!(at_hand.sections(true)[0].starts_with("# Rules\n\n"));
        assert!(at_hand.sections(false).is_empty());
    }
}
