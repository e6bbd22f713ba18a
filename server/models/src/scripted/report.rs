//! The final answer of the plan, built from the results of the tools.

use super::files::{first_sentence, heading, remark, shortened};
use super::workspace::WorkspaceSummary;

/// The facts that the plan has found for its answer.
pub(super) enum Findings<'a> {
    /// The plan found nothing, because the agent has no tool for the survey.
    NoTools,
    /// The plan found nothing, because the survey failed for this reason.
    Failed(&'a str),
    /// The plan found the content of a directory.
    Workspace {
        /// The survey of the directory.
        summary: &'a WorkspaceSummary,
        /// Name of each file that was read, with its text or the error.
        files: &'a [(String, Result<String, String>)],
    },
}

/// Maximum number of names in a list, before "and more".
const MAX_LISTED: usize = 8;

/// Languages and formats by extension.
const LANGUAGES: &[(&str, &[&str])] = &[
    ("Rust", &[".rs"]),
    ("TypeScript", &[".ts", ".tsx", ".mts", ".cts"]),
    ("JavaScript", &[".js", ".jsx", ".mjs", ".cjs"]),
    ("Python", &[".py", ".pyi"]),
    ("Go", &[".go"]),
    ("Java", &[".java"]),
    ("Kotlin", &[".kt", ".kts"]),
    ("Swift", &[".swift"]),
    ("C", &[".c", ".h"]),
    ("C++", &[".cc", ".cpp", ".cxx", ".hpp", ".hh"]),
    ("C#", &[".cs"]),
    ("Ruby", &[".rb"]),
    ("PHP", &[".php"]),
    ("Elixir", &[".ex", ".exs"]),
    ("Shell", &[".sh", ".bash"]),
    ("HTML", &[".html", ".htm"]),
    ("CSS", &[".css", ".scss"]),
    ("Markdown", &[".md"]),
    ("JSON", &[".json", ".jsonl"]),
    ("YAML", &[".yml", ".yaml"]),
    ("TOML", &[".toml"]),
    ("plain text", &[".txt"]),
];

/// Returns the answer to the user's question.
pub(super) fn report(question: &str, findings: &Findings<'_>) -> String {
    let mut text = String::new();
    let question = question.split_whitespace().collect::<Vec<_>>().join(" ");
    if !question.is_empty() {
        text.push_str(&format!("You asked: “{}”\n\n", shortened(&question, 300)));
    }
    text.push_str(
        "I am the scripted model: I follow a fixed plan and need no key and no network. I cannot think about a \
         question, but what follows I have just looked up with the tools.\n\n",
    );
    match findings {
        Findings::NoTools => text.push_str("There is nothing to report: I was given no tool to look with."),
        Findings::Failed(reason) => {
            text.push_str(&format!(
                "The look at the working directory failed:\n\n{}",
                shortened(reason, 600)
            ));
        }
        Findings::Workspace { summary, files } => text.push_str(&describe_workspace(summary, files)),
    }
    text.push('\n');
    text
}

fn describe_workspace(summary: &WorkspaceSummary, files: &[(String, Result<String, String>)]) -> String {
    let is_readme = |name: &str| name.to_lowercase().starts_with("readme");
    let readme = files.iter().find_map(|(name, content)| {
        let content = content.as_ref().ok()?;
        is_readme(name).then_some((name, content))
    });
    let title = readme.and_then(|(_, content)| heading(content)).unwrap_or_else(|| summary.name());
    let mut text = format!("**{title}** (`{}`)", summary.path);
    if summary.entries.is_empty() {
        text.push_str(" is an empty directory.");
        return text;
    }
    match readme {
        Some((name, content)) => match first_sentence(content, 240) {
            Some(opening) => text.push_str(&format!(": `{name}` opens with: {opening}")),
            None => text.push_str(&format!(" has a `{name}` that says nothing more.")),
        },
        None => text.push_str(" has no README that I could read."),
    }
    text.push_str("\n\n");
    let (folders, plain): (Vec<_>, Vec<_>) = summary.entries.iter().partition(|name| name.ends_with('/'));
    text.push_str(&format!("- At the top: {} and {}.\n", listed("folder", &folders), listed("file", &plain)));
    text.push_str(&format!(
        "- {} in {}, without what is built or fetched.{}\n",
        counted(summary.files, "file"),
        counted(summary.folders, "folder"),
        languages(&summary.kinds),
    ));
    for (name, content) in files {
        match content {
            Ok(content) if !is_readme(name) => {
                text.push_str(&format!("- `{name}` {}.\n", remark(name, content)));
            }
            Ok(_) => {}
            Err(reason) => {
                let reason = reason.lines().next().unwrap_or_default();
                text.push_str(&format!("- `{name}` could not be read: {}\n", shortened(reason, 200)));
            }
        }
    }
    text
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn listed(noun: &str, names: &[&String]) -> String {
    if names.is_empty() {
        return format!("no {noun}s");
    }
    let mut shown: Vec<_> = names.iter().take(MAX_LISTED).map(|name| format!("`{name}`")).collect();
    if names.len() > MAX_LISTED {
        shown.push("…".to_owned());
    }
    format!("{} ({})", counted(names.len() as u64, noun), shown.join(", "))
}

fn languages(kinds: &[(u64, String)]) -> String {
    let mut found: Vec<(u64, &str)> = Vec::new();
    for (language, extensions) in LANGUAGES {
        let count = kinds
            .iter()
            .filter(|(_, kind)| extensions.contains(&kind.as_str()))
            .map(|(count, _)| count)
            .sum();
        if count > 0 {
            found.push((count, language));
        }
    }
    found.sort_by(|left, right| right.0.cmp(&left.0).then_with(|| left.1.cmp(right.1)));
    if found.is_empty() {
        return String::new();
    }
    let found: Vec<_> =
        found.iter().take(5).map(|(count, language)| format!("{language} ({count})")).collect();
    format!(" By extension: {}.", found.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_contains_only_findings() {
        let summary = WorkspaceSummary::parse(
            "/home/me/thing\n== entries\nREADME.md\na.rs\nsrc/\n== kinds\n9 files 1 folders\n7 .rs\n1 .ts\n1 .tsx\n",
        );
        let files = [
            ("README.md".to_owned(), Ok("# Thing\n\nIt does things.\n".to_owned())),
            ("a.rs".to_owned(), Err("ENOENT: no such file".to_owned())),
        ];
        let text = report("What is\nthis?", &Findings::Workspace { summary: &summary, files: &files });
        assert!(text.starts_with("You asked: “What is this?”\n"), "{text}");
        for part in [
            "**Thing** (`/home/me/thing`): `README.md` opens with: It does things.",
            "- At the top: 1 folder (`src/`) and 2 files (`README.md`, `a.rs`).",
            "- 9 files in 1 folder, without what is built or fetched. By extension: Rust (7), TypeScript (2).",
            "- `a.rs` could not be read: ENOENT: no such file",
        ] {
            assert!(text.contains(part), "{part}\n---\n{text}");
        }
    }

    #[test]
    fn an_empty_directory_and_no_tools_have_an_answer_too() {
        let summary = WorkspaceSummary::parse("/tmp/none\n== entries\n== kinds\n0 files 0 folders\n");
        let text = report("", &Findings::Workspace { summary: &summary, files: &[] });
        assert!(text.contains("**none** (`/tmp/none`) is an empty directory."), "{text}");
        assert!(!text.contains("You asked"));
        assert!(report("q", &Findings::NoTools).contains("no tool"));
        assert!(report("q", &Findings::Failed("boom")).contains("boom"));
    }
}
