//! Programs between a client and an agent, programs that an agent uses, and their start commands.

use agentese::types::Profile;

/// Command lines of programs between a client and an agent, and configuration of programs that an agent
/// uses. If a member is `None`, the attacks on that program are skipped.
///
/// Arguments are separated by spaces and may contain placeholders. `{program}` is the agent's program,
/// `{dialect}` its dialect, and `{front}` the dialect of the client. `{script}` is the file with the model
/// script, and `{rights}` the arguments that restrict a page. An argument `{agent}` is replaced by all
/// arguments of the agent's command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surfaces {
    /// The server of a page, which prints its address as the first line.
    pub web: Option<String>,
    /// A bridge between a client of one dialect and an agent of another.
    pub bridge: Option<String>,
    /// The agent's command line as an editor starts it.
    pub acp: Option<String>,
    /// The file with definitions of MCP servers, as in a case: `agent/…`, `home/…` or `work/…`.
    pub mcp: Option<String>,
    /// Arguments that give the agent a tool for subagents.
    pub subagents: Option<String>,
}

impl Surfaces {
    /// Returns the programs around an agent of this project. For any other agent, only `subagents` is set,
    /// to an empty text.
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

/// Splits a command line into arguments, and replaces each name in braces by its values.
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
    fn placeholders_are_replaced_by_their_arguments() {
        let values = [("agent", vec!["a b".to_owned(), "c".to_owned()]), ("rights", Vec::new())];
        let words = fill("page --x={rights}! {rights} -- {agent} {other}", &values);
        assert_eq!(words, ["page", "--x=!", "--", "a b", "c", "{other}"]);
    }
}
