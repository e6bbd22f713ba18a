//! The default base text, composed from the active tools.

use crate::tools::{Tool, ToolSet};

const ROLE: &str = "You are a software engineer's agent. Someone works with you through a program that shows your \
                    answers. You work in their directory, with the tools below.";

const ROLE_WITHOUT_TOOLS: &str = "You are a software engineer's agent. Someone works with you through a program that shows your answers. \
     You have no tools: say what you would need to see, and give changes as text.";

/// Advice for the model that depends on its tools. An entry applies if the model has all tools of the first list
/// and no tool of the second list.
const ADVICE: &[(&[&str], &[&str], &str)] = &[
    (
        &["bash"],
        &["grep", "find", "ls"],
        "Look around with bash: list directories, find files, search in them.",
    ),
    (
        &["bash", "grep"],
        &[],
        "Search with grep rather than with bash; it knows what is ignored, and its output is short.",
    ),
    (&["bash", "find"], &[], "Look for files by name with find rather than with bash."),
    (&["bash", "ls"], &[], "List directories with ls rather than with bash."),
    (&["read", "bash"], &[], "Look at files with read rather than with cat or sed."),
    (&["read", "edit"], &[], "Read a file before you edit it; the text to replace has to match exactly."),
    (&["edit"], &[], "Change a part of a file with edit, as small as it can be."),
    (&["edit", "write"], &[], "Use write for new files, or where nearly everything changes."),
    (&["write"], &["edit"], "write replaces all of a file: read what is there first."),
    (
        &["bash"],
        &[],
        "Where the project has tests or a build, run what covers your change and say what came of it.",
    ),
    (&["bash"], &[], "Say results in your answer: not everybody sees what a command printed."),
    (&[], &[], "Write as plain text. Be brief: what you did, what is open, nothing else."),
    (&[], &[], "Name files with their paths."),
    (&[], &[], "Say so when you do not know, when something failed, and when you did less than was asked."),
    (
        &["bash"],
        &[],
        "About the program that you run in: `agentese --help`, and `agentese schema` for its protocol.",
    ),
];

/// Returns the base text for these tools, as sections with names.
pub(super) fn sections(tools: &ToolSet) -> Vec<(&'static str, String)> {
    let role = if tools.is_empty() { ROLE_WITHOUT_TOOLS } else { ROLE };
    let mut sections = vec![("preamble", role.to_owned())];
    if !tools.is_empty() {
        let lines = tools.iter().map(|tool| format!("\n- {}: {}", tool.name(), tool_line(tool.as_ref())));
        sections.push(("tools", format!("Tools:{}", lines.collect::<String>())));
    }
    let has = |name: &&str| tools.get(name).is_some();
    let counts = |with: &[&str], without: &[&str]| with.iter().all(has) && !without.iter().any(has);
    let mut rules = "How to work:".to_owned();
    for (_, _, advice) in ADVICE.iter().filter(|(with, without, _)| counts(with, without)) {
        rules.push_str(&format!("\n- {advice}"));
    }
    for guideline in tools.iter().flat_map(|tool| tool.guidelines()) {
        rules.push_str(&format!("\n- {guideline}"));
    }
    sections.push(("rules", rules));
    sections
}

/// Returns the line for a tool in the list.
fn tool_line(tool: &dyn Tool) -> String {
    tool.snippet().map_or_else(|| first_sentence(tool.description()), str::to_owned)
}

/// Returns the first sentence, on one line. The model receives the whole description with the tool itself.
fn first_sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.find(". ") {
        Some(end) => text[..=end].to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_text_describes_the_active_tools() {
        let text = |tools: &ToolSet| {
            let texts = sections(tools).into_iter().map(|(_, text)| text);
            texts.collect::<Vec<_>>().join("\n\n")
        };
        let text_for = |names: &[&str]| text(&ToolSet::select(names).tools);
        let all = text(&ToolSet::builtin());
        for tool in ToolSet::builtin().names() {
            assert!(all.contains(&format!("\n- {tool}: ")), "{all}");
        }
        assert!(all.contains("before you edit"));
        let reader = text_for(&["read"]);
        for absent in ["bash", "edit", "write"] {
            assert!(!reader.contains(absent), "{absent}: {reader}");
        }
        assert!(text_for(&["bash"]).contains("Look around with bash"));
        assert!(text_for(&["write"]).contains("replaces all of a file"));
        assert!(!text_for(&["write", "edit"]).contains("replaces all of a file"));
        let none = text_for(&[]);
        assert!(none.contains("You have no tools") && !none.contains("Tools:"), "{none}");
    }

    #[test]
    fn a_tool_has_one_line() {
        assert_eq!(first_sentence("Reads a file. Of a text\nfile …"), "Reads a file.");
        assert_eq!(first_sentence("Runs v1.2\n  of it"), "Runs v1.2 of it");
    }
}
