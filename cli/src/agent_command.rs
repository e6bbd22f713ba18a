//! Command line of an agent, as `call` and `web` start it.

use std::ffi::OsString;

use agentese::dynamic;

/// Agent that `call` or `web` starts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AgentCommand {
    /// Dialect that the program speaks, `NAME` or `NAME@REVISION`.
    pub dialect: String,
    /// Program and its arguments.
    pub words: Vec<OsString>,
    /// `true` if the program is this one, as an agent or as a bridge.
    pub is_own: bool,
    /// `true` if a bridge is in front of the agent.
    pub is_bridged: bool,
}

impl AgentCommand {
    /// Returns the command line for an agent of a dialect or protocol. No words stand for this program. If there are no
    /// clients of the protocol, puts a bridge in front of the agent; the dialect is then that of the bridge. Fails if the
    /// path of this program is unknown.
    pub fn new(dialect: &str, words: Vec<OsString>) -> std::io::Result<Self> {
        let program = std::env::current_exe()?.into_os_string();
        Ok(Self::with_program(program, dialect, words))
    }

    fn with_program(program: OsString, dialect: &str, words: Vec<OsString>) -> Self {
        let is_empty = words.is_empty();
        let own = |arguments: &[&str]| {
            std::iter::once(program.clone()).chain(arguments.iter().map(OsString::from)).collect()
        };
        let Err(agentese::Error::BridgeNeeded { protocol, front }) = dynamic::client(dialect) else {
            let words = if is_empty { own(&["--mode", "rpc", "--dialect", dialect]) } else { words };
            return Self { dialect: dialect.to_owned(), words, is_own: is_empty, is_bridged: false };
        };
        let agent: Vec<OsString> = if is_empty { own(&["--mode", protocol]) } else { words };
        let bridge: Vec<OsString> = own(&["bridge", "--to", front, "--from", protocol, "--"]);
        Self { dialect: front.to_owned(), words: [bridge, agent].concat(), is_own: true, is_bridged: true }
    }
}

#[cfg(test)]
mod tests {
    use agentese::dynamic::BridgedProtocol;

    use super::*;

    fn check(given: (&str, &[&str]), dialect: &str, words: &[&str], is_own: bool, is_bridged: bool) {
        let [given_words, words] = [given.1, words].map(|words| words.iter().map(OsString::from).collect());
        let command = AgentCommand::with_program("agentese".into(), given.0, given_words);
        assert_eq!(command, AgentCommand { dialect: dialect.to_owned(), words, is_own, is_bridged });
    }

    #[test]
    fn a_bridge_precedes_agents_of_protocols_without_clients() {
        let own = ["agentese", "--mode", "rpc", "--dialect", "pi@1.5"];
        check(("pi@1.5", &[]), "pi@1.5", &own, true, false);
        check(("pi", &["pi", "-x"]), "pi", &["pi", "-x"], false, false);
        for BridgedProtocol { name, front, .. } in BridgedProtocol::all() {
            let bridge = ["agentese", "bridge", "--to", front, "--from", name, "--"];
            check((name, &["other", "-x"]), front, &[&bridge[..], &["other", "-x"]].concat(), true, true);
            check((name, &[]), front, &[&bridge[..], &["agentese", "--mode", name]].concat(), true, true);
        }
    }
}
