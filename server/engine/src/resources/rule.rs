//! Rules: Markdown files with instructions for models. The front matter has a search pattern for the output of
//! models. Without a pattern, the rule is part of the system prompt.

use std::path::PathBuf;

use agentese::types::StreamRule;
use serde::Deserialize;
use serde_json::json;

use super::front_matter::parse_as;
use super::search_roots::Location;
use super::stream_pattern::StreamPattern;
use super::warning::ResourceWarning;
use crate::config::{RuleInterrupt, read_text};

/// The maximum length of a file, in bytes.
const LIMIT: u64 = 1 << 20;

/// The tools that a rule watches if its condition is a glob of files.
const FILE_TOOLS: [&str; 2] = ["edit", "write"];

/// A rule from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The name of the rule: the name of its file without the extension.
    pub name: String,
    /// The path of the rule's file.
    pub path: PathBuf,
    /// The origin of the rule's file.
    pub location: Location,
    /// The text for the model.
    pub content: String,
    /// The purpose of the rule.
    pub description: Option<String>,
    /// Globs of the files that the rule is about; empty means all files.
    pub globs: Vec<String>,
    /// True if the system prompt always contains the rule.
    pub always: bool,
    /// Regular expressions, one of which must match. If the list is empty, the rule does not watch the output and
    /// belongs to the system prompt.
    pub conditions: Vec<String>,
    /// The watched streams, as in `text` and `tool:edit(*.rs)`; empty means text and the arguments of all
    /// tools.
    pub scope: Vec<String>,
    /// The interrupt mode, if the rule sets one.
    pub interrupt: Option<RuleInterrupt>,
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected a string or a list of strings")]
enum TextList {
    One(String),
    Several(Vec<String>),
    #[default]
    None,
}

impl TextList {
    fn all(self) -> Vec<String> {
        let words = match self {
            Self::One(word) => vec![word],
            Self::Several(words) => words,
            Self::None => Vec::new(),
        };
        unique(words.into_iter().map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()))
    }
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "the front matter of a rule")]
struct RuleFrontMatter {
    description: Option<String>,
    globs: Option<TextList>,
    always_apply: Option<bool>,
    condition: Option<TextList>,
    /// The former name of `condition`.
    #[serde(rename = "ttsr_trigger")]
    trigger: Option<TextList>,
    ttsr_trigger: Option<TextList>,
    scope: Option<TextList>,
    interrupt_mode: Option<String>,
}

impl Rule {
    /// Reads a file. Returns `None` if the file is unusable or never applies.
    pub(super) fn read(
        path: PathBuf,
        location: Location,
        warnings: &mut Vec<ResourceWarning>,
    ) -> Option<Self> {
        let text = match read_text(&path, LIMIT) {
            Ok(file) if !file.truncated => file.text,
            Ok(_) => {
                let reason = std::io::Error::other(format!("it is longer than {LIMIT} bytes"));
                warnings.push(ResourceWarning::Unreadable { path, source: reason.into() });
                return None;
            }
            Err(source) => {
                warnings.push(ResourceWarning::Unreadable { path, source });
                return None;
            }
        };
        let document = match parse_as::<RuleFrontMatter>(&text) {
            Ok(document) => document,
            Err(source) => {
                warnings.push(ResourceWarning::FrontMatter { path, source });
                return None;
            }
        };
        let head = document.front_matter.unwrap_or_default();
        let looked_for = head.condition.or(head.trigger).or(head.ttsr_trigger).unwrap_or_default().all();
        let (files, mut conditions): (Vec<_>, Vec<_>) =
            looked_for.into_iter().partition(|condition| is_file_glob(condition));
        // If all conditions are invalid, the rule watches nothing.
        let any = conditions.is_empty() && !files.is_empty();
        conditions.retain(|condition| match StreamPattern::new(&[condition]) {
            Ok(_) => true,
            Err(reason) => {
                let (path, condition) = (path.clone(), condition.clone());
                warnings.push(ResourceWarning::InvalidCondition { path, condition, reason });
                false
            }
        });
        let mut scope: Vec<_> =
            head.scope.unwrap_or_default().all().iter().flat_map(|scope| split(scope)).collect();
        let of_files = |glob: &String| FILE_TOOLS.map(|tool| format!("tool:{tool}({glob})"));
        scope.extend(files.iter().flat_map(of_files));
        if any {
            conditions.push(".*".to_owned());
        }
        let content = document.body.trim().to_owned();
        let always = head.always_apply.unwrap_or(false);
        let counts = !conditions.is_empty() || always || head.description.is_some();
        if !counts || content.is_empty() {
            return None;
        }
        let interrupt = head.interrupt_mode.and_then(|mode| {
            let named = RuleInterrupt::from_name(&mode);
            if named.is_none() {
                warnings.push(ResourceWarning::InvalidInterruptMode { path: path.clone(), mode });
            }
            named
        });
        Some(Self {
            name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            location,
            content,
            description: head.description,
            globs: head.globs.unwrap_or_default().all(),
            always,
            conditions,
            scope: unique(scope.into_iter()),
            interrupt,
            path,
        })
    }

    /// Returns true if the rule watches the output of models.
    pub fn watches(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// Returns the rule in the form for clients. The document does not define members for it, so the rule has the
    /// members that omp sends.
    pub fn to_wire(&self) -> StreamRule {
        let mut wire = StreamRule::new(&self.name);
        wire.path = Some(self.path.to_string_lossy().into_owned());
        wire.content = Some(self.content.clone());
        let level = if self.location == Location::Project { "project" } else { "user" };
        let source = json!({"provider": "native", "providerName": "OMP", "path": self.path, "level": level});
        let some = |words: &Vec<String>| (!words.is_empty()).then(|| json!(words));
        let members = [
            ("globs", some(&self.globs)),
            ("alwaysApply", Some(json!(self.always))),
            ("description", self.description.as_ref().map(|description| json!(description))),
            ("condition", some(&self.conditions)),
            ("scope", some(&self.scope)),
            ("interruptMode", self.interrupt.map(|mode| json!(mode.name()))),
            ("_source", Some(source)),
        ];
        for (name, value) in members.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            wire.extra.insert(name.to_owned(), value);
        }
        wire
    }
}

fn unique(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for word in words {
        if !all.contains(&word) {
            all.push(word);
        }
    }
    all
}

/// Returns true if a condition is a glob of files, as in `*.rs` or `src/**`, and not a regular expression.
fn is_file_glob(condition: &str) -> bool {
    let regular = condition.contains(['\\', '^', '$', '+', '|', '(', ')']);
    let wild = condition.contains(['?', '*', '[', ']', '{', '}']);
    let ending = |rest: &str| !rest.is_empty() && !rest.contains(char::is_whitespace);
    !regular && wild && (condition.contains('/') || condition.strip_prefix("*.").is_some_and(ending))
}

/// Splits a list at its commas, except within brackets.
fn split(scope: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0_usize);
    for character in scope.chars() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().into_iter().for_each(|part| part.push(character));
    }
    parts.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Option<Rule>, Vec<String>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("no-print.md");
        std::fs::write(&path, text).unwrap();
        let mut warnings = Vec::new();
        let rule = Rule::read(path, Location::Project, &mut warnings);
        (rule, warnings.iter().map(ToString::to_string).collect())
    }

    fn rule(head: &str) -> Rule {
        let (rule, warnings) = read(&format!("---\n{head}\n---\nDo not.\n"));
        assert!(warnings.is_empty(), "{warnings:?}");
        rule.unwrap()
    }

    #[test]
    fn front_matter_defines_conditions_and_scope() {
        let found = rule(
            "description: d\ncondition: \"print!\"\nscope: text, tool:edit(*.{rs,toml})\nglobs: ['*.rs']",
        );
        assert_eq!(
            (&*found.name, &*found.content, found.description.as_deref()),
            ("no-print", "Do not.", Some("d"))
        );
        assert_eq!(found.conditions, ["print!"]);
        assert_eq!(found.scope, ["text", "tool:edit(*.{rs,toml})"]);
        assert_eq!(found.globs, ["*.rs"]);
        assert_eq!(
            rule("condition: [a, ' a ', b]\ninterruptMode: never").interrupt,
            Some(RuleInterrupt::Never)
        );
        assert_eq!(rule("ttsr_trigger: a").conditions, ["a"]);
        assert_eq!(rule("ttsrTrigger: a").conditions, ["a"]);
        let wire = serde_json::to_value(rule("condition: a").to_wire()).unwrap();
        assert_eq!((&wire["alwaysApply"], wire.get("scope")), (&false.into(), None));
    }

    #[test]
    fn file_condition_applies_to_writing_tools() {
        let found = rule("condition: '*.rs'");
        assert_eq!(found.conditions, [".*"]);
        assert_eq!(found.scope, ["tool:edit(*.rs)", "tool:write(*.rs)"]);
        assert_eq!(rule("condition: ['src/**/*.rs', 'todo!']").conditions, ["todo!"]);
        assert_eq!(rule("condition: 'a.*b'").scope, [""; 0]);
    }

    #[test]
    fn rule_without_conditions_belongs_to_the_prompt() {
        let always = rule("alwaysApply: true");
        assert!(always.always && !always.watches());
        let at_hand = rule("description: d\nglobs: '*.rs'");
        assert!(!at_hand.always && !at_hand.watches());
        assert!(rule("alwaysApply: true\ncondition: a").watches());
    }

    #[test]
    fn inapplicable_rules_are_skipped_and_errors_are_reported() {
        assert_eq!(read("Always be kind."), (None, Vec::new()));
        assert_eq!(read("---\nglobs: '*.rs'\n---\nText"), (None, Vec::new()));
        assert_eq!(read("---\ncondition: a\n---\n"), (None, Vec::new()));
        let (found, warnings) = read("---\ncondition: ['(', b]\ninterruptMode: often\n---\nText");
        assert_eq!(found.unwrap().conditions, ["b"]);
        assert!(
            warnings[0].contains("the condition \"(\" is not a usable regular expression")
                && warnings[1].contains("often")
        );
        let (found, warnings) = read("---\ncondition: ['*.rs', '(bad']\n---\nText");
        assert_eq!((found, warnings.len()), (None, 1), "it does not fire on every edit");
        assert!(read("---\ncondition: {a: b}\n---\nText").1[0].contains("front matter"));
    }
}
