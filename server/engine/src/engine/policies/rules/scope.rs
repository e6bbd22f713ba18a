//! The streams that a rule watches.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde_json::{Map, Value};

/// A stream of an answer in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputStream<'a> {
    Text,
    Thinking,
    /// The stream contains the arguments of a call of the given tool.
    Tool(&'a str),
}

/// The tool calls that a rule watches.
#[derive(Debug)]
struct CallFilter {
    /// Name of the tool; `None` for every tool.
    tool: Option<String>,
    /// Files that the calls name; `None` for all calls.
    files: Option<GlobSet>,
}

/// The streams that a rule watches.
#[derive(Debug, Default)]
pub(super) struct RuleScope {
    text: bool,
    thinking: bool,
    calls: Vec<CallFilter>,
    /// Files of the rule. If set, a match in any stream also requires that the call names one of these files.
    files: Option<GlobSet>,
}

impl RuleScope {
    /// Parses the scope of a rule from its tokens. An empty list means text and all tools. Invalid tokens are
    /// ignored. Returns `None` if the scope contains no stream.
    pub fn new(tokens: &[String], globs: &[String]) -> Option<Self> {
        let mut scope = Self { files: compile_globs(globs), ..Self::default() };
        if tokens.is_empty() {
            scope.text = true;
            scope.calls.push(CallFilter { tool: None, files: None });
        }
        for token in tokens {
            match token.to_ascii_lowercase().as_str() {
                "text" => scope.text = true,
                "thinking" => scope.thinking = true,
                "tool" | "toolcall" => scope.calls.push(CallFilter { tool: None, files: None }),
                _ => scope.calls.extend(parse_call_filter(token)),
            }
        }
        (scope.text || scope.thinking || !scope.calls.is_empty()).then_some(scope)
    }

    /// Returns `true` if the scope can include that stream, depending on the files.
    pub fn reaches(&self, stream: OutputStream<'_>) -> bool {
        match stream {
            OutputStream::Text => self.text,
            OutputStream::Thinking => self.thinking,
            OutputStream::Tool(name) => self.calls.iter().any(|calls| calls.matches_tool(name)),
        }
    }

    /// Returns `true` if the scope includes that stream with those files.
    pub fn includes(&self, stream: OutputStream<'_>, files: &[String]) -> bool {
        let of = |globs: &Option<GlobSet>| globs.as_ref().is_none_or(|globs| matches_any(globs, files));
        of(&self.files)
            && match stream {
                OutputStream::Text => self.text,
                OutputStream::Thinking => self.thinking,
                OutputStream::Tool(name) => {
                    self.calls.iter().any(|calls| calls.matches_tool(name) && of(&calls.files))
                }
            }
    }
}

impl CallFilter {
    fn matches_tool(&self, name: &str) -> bool {
        self.tool.as_ref().is_none_or(|tool| tool.eq_ignore_ascii_case(name))
    }
}

/// Parses `tool:edit(*.rs)`, `tool:edit`, `tool(*.rs)`, `edit(*.rs)` or `edit`.
fn parse_call_filter(token: &str) -> Option<CallFilter> {
    let (name, glob) = match token.split_once('(') {
        Some((name, rest)) => (name, Some(rest.strip_suffix(')')?.trim())),
        None => (token, None),
    };
    let name = name.strip_prefix("tool:").or((name == "tool").then_some("")).unwrap_or(name);
    let allowed = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    if !name.chars().all(allowed) || (name.is_empty() && glob.is_none()) || glob == Some("") {
        return None;
    }
    let tool = Some(name.to_owned()).filter(|name| !name.is_empty());
    match glob {
        Some(glob) => Some(CallFilter { tool, files: Some(compile_globs(&[glob.to_owned()])?) }),
        None => Some(CallFilter { tool, files: None }),
    }
}

/// Compiles globs. Returns `None` if there is no valid glob.
fn compile_globs(globs: &[String]) -> Option<GlobSet> {
    let globs = globs.iter().filter_map(|glob| GlobBuilder::new(glob).literal_separator(true).build().ok());
    let globs: Vec<_> = globs.collect();
    if globs.is_empty() {
        return None;
    }
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        set.add(glob);
    }
    set.build().ok()
}

/// Returns `true` if the globs match one of the files, or its name alone.
fn matches_any(globs: &GlobSet, files: &[String]) -> bool {
    files.iter().any(|file| {
        let name = Path::new(file).file_name();
        globs.is_match(file) || name.is_some_and(|name| globs.is_match(name))
    })
}

/// Returns the files that the arguments of a call name: as given, as absolute paths, and relative to the working
/// directory.
pub(super) fn named_files(arguments: &Map<String, Value>, cwd: &Path) -> Vec<String> {
    let mut given = Vec::new();
    for (key, value) in arguments {
        let key = key.to_ascii_lowercase();
        match value {
            Value::String(path) if key.ends_with("path") => given.push(path.as_str()),
            Value::Array(paths) if key.ends_with("paths") => {
                given.extend(paths.iter().filter_map(Value::as_str))
            }
            _ => {}
        }
    }
    let mut all = Vec::new();
    for path in given.into_iter().map(str::trim).filter(|path| !path.is_empty()) {
        let full = crate::config::resolve(cwd, Path::new(path));
        let near = full.strip_prefix(cwd).map(Path::to_owned).ok();
        let near = near.filter(|near| near.components().all(|part| matches!(part, Component::Normal(_))));
        all.push(path.replace('\\', "/"));
        all.extend(
            [Some(full), near].into_iter().flatten().map(|path: PathBuf| path.to_string_lossy().into_owned()),
        );
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn scope(tokens: &[&str], globs: &[&str]) -> Option<RuleScope> {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        RuleScope::new(&owned(tokens), &owned(globs))
    }

    fn includes(tokens: &[&str], stream: OutputStream<'_>, files: &[&str]) -> bool {
        let files: Vec<_> = files.iter().map(|file| (*file).to_owned()).collect();
        scope(tokens, &[]).is_some_and(|scope| scope.includes(stream, &files))
    }

    #[test]
    fn without_tokens_it_is_text_and_every_tool() {
        assert!(includes(&[], OutputStream::Text, &[]) && includes(&[], OutputStream::Tool("x"), &[]));
        assert!(!includes(&[], OutputStream::Thinking, &[]));
    }

    #[test]
    fn tokens_name_streams_tools_and_files() {
        assert!(
            includes(&["thinking"], OutputStream::Thinking, &[])
                && !includes(&["thinking"], OutputStream::Text, &[])
        );
        for token in ["tool", "toolcall", "tool:bash", "bash", "tool:BASH"] {
            assert!(includes(&[token], OutputStream::Tool("bash"), &[]), "{token}");
        }
        assert!(!includes(&["tool:bash"], OutputStream::Tool("edit"), &[]));
        for token in ["tool:edit(*.rs)", "edit(src/*.rs)", "tool(**/*.rs)"] {
            assert!(includes(&[token], OutputStream::Tool("edit"), &["src/a.rs"]), "{token}");
            assert!(!includes(&[token], OutputStream::Tool("edit"), &["src/a.ts"]), "{token}");
            assert!(!includes(&[token], OutputStream::Tool("edit"), &[]), "{token}");
        }
        for token in ["two words", "edit(", "edit()", "a:b"] {
            assert!(scope(&[token], &[]).is_none(), "{token}");
        }
    }

    #[test]
    fn globs_of_the_rule_hold_for_every_stream() {
        let rule = scope(&["text", "tool"], &["*.rs"]).unwrap();
        assert!(!rule.includes(OutputStream::Text, &[]) && rule.reaches(OutputStream::Text));
        assert!(rule.includes(OutputStream::Tool("edit"), &["a/b.rs".to_owned()]));
    }

    #[test]
    fn files_are_found_in_arguments() {
        let arguments =
            json!({"path": "./src/a.rs", "newPath": "/other/b.rs", "paths": ["c.rs", 7], "command": "d.rs"});
        let named = named_files(arguments.as_object().unwrap(), Path::new("/home/me"));
        assert_eq!(
            named,
            [
                "./src/a.rs",
                "/home/me/src/a.rs",
                "src/a.rs",
                "/other/b.rs",
                "/other/b.rs",
                "c.rs",
                "/home/me/c.rs",
                "c.rs"
            ]
        );
    }
}
