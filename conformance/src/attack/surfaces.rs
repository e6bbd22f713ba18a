//! Programs that stand before an agent or beside it, and how they are started.

use agentese::types::Profile;

/// Command lines of what stands before an agent, and how the agent is told of what stands beside it. An area whose
/// member is `None` is skipped.
///
/// Words are separated by spaces. In them `{program}` stands for the agent's program, `{dialect}` for its dialect,
/// `{front}` for that of the client, `{script}` for the file with the model's script, `{rights}` for the words that
/// restrict a page. A word `{agent}` stands for all words of the agent's command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surfaces {
    /// The server of a page, which prints its address as the first line.
    pub web: Option<String>,
    /// A bridge between a client and an agent of two dialects.
    pub bridge: Option<String>,
    /// The agent as an editor starts it.
    pub acp: Option<String>,
    /// The file that names MCP servers, as in a case: `agent/…`, `home/…` or `work/…`.
    pub mcp: Option<String>,
    /// Arguments with which the agent has a tool for subagents.
    pub subagents: Option<String>,
}

impl Surfaces {
    /// The surfaces of an agent of this project; of another one none but its tool for subagents.
    pub fn of(profile: &Profile) -> Self {
        if profile.agent != "agentese" {
            return Self { subagents: Some(String::new()), ..Self::default() };
        }
        let some = |text: &str| Some(text.to_owned());
        Self {
            web: some("{program} web --no-open --dialect {dialect} {rights} -- {agent}"),
            bridge: some("{program} bridge --to {front} --from {dialect} -- {agent}"),
            acp: some("{program} --mode acp --provider scripted --script {script}"),
            mcp: some("agent/mcp.json"),
            subagents: some("--tools read,bash,edit,write,task"),
        }
    }
}

/// The words of a command line, with each name in braces replaced by its words.
pub(super) fn fill(line: &str, values: &[(&str, Vec<String>)]) -> Vec<String> {
    let mut words = Vec::new();
    for word in line.split_whitespace() {
        match values.iter().find(|(name, _)| word.strip_prefix('{') == Some(&format!("{name}}}"))) {
            Some((_, all)) => words.extend(all.iter().cloned()),
            None => words.push(values.iter().fold(word.to_owned(), |word, (name, all)| {
                word.replace(&format!("{{{name}}}"), &all.join(" "))
            })),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_braces_are_replaced_by_their_words() {
        let values = [("agent", vec!["a b".to_owned(), "c".to_owned()]), ("rights", Vec::new())];
        let words = fill("page --x={rights}! {rights} -- {agent} {other}", &values);
        assert_eq!(words, ["page", "--x=!", "--", "a b", "c", "{other}"]);
    }
}
