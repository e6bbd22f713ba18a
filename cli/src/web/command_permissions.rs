//! Permissions of the tabs.

use agentese::spec::{Access, Spec};

/// Permissions of the tabs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AccessPolicy {
    /// Permits only commands that read, and no answers to dialogs.
    pub read_only: bool,
    /// Wire names of denied commands.
    pub deny: Vec<String>,
}

impl AccessPolicy {
    /// Returns the reason to reject a command, or `None` if the command is permitted. An undeclared command
    /// is treated like one that changes state.
    pub fn denial_reason(&self, spec: &Spec, command: &str) -> Option<String> {
        if self.deny.iter().any(|name| name == command) {
            return Some(format!("`{command}` is denied: agentese web was started with --deny {command}"));
        }
        let reads = spec.command(command).is_some_and(|row| row.access() == Access::Read);
        (self.read_only && !reads)
            .then(|| format!("`{command}` is denied: agentese web was started with --read-only"))
    }

    /// Returns `true` if answers to dialogs are permitted.
    pub fn allows_answers(&self) -> bool {
        !self.read_only
    }

    /// Returns the names in `deny` that are not commands of the dialect.
    pub fn unknown_commands<'a>(&'a self, spec: &Spec) -> Vec<&'a str> {
        self.deny.iter().map(String::as_str).filter(|name| spec.command(name).is_none()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The permissions for every command follow from its declaration, in all dialects.
    #[test]
    fn read_only_permits_only_reading_commands() {
        let policy = AccessPolicy { read_only: true, deny: Vec::new() };
        for spec in agentese::dynamic::CLIENTS {
            for command in spec.commands {
                let refused = policy.denial_reason(spec, command.wire).is_some();
                assert_eq!(refused, !command.reads, "{} {}", spec.name, command.wire);
            }
            assert!(policy.denial_reason(spec, "no_such_command").is_some());
        }
        assert!(!policy.allows_answers());
    }

    #[test]
    fn only_denied_commands_are_rejected() {
        let spec = agentese::dynamic::spec("pi").unwrap();
        let shell = spec.commands.iter().find(|command| command.access() == Access::Execute).unwrap().wire;
        let policy =
            AccessPolicy { read_only: false, deny: vec![shell.to_owned(), "no_such_command".to_owned()] };
        assert!(policy.denial_reason(spec, shell).unwrap().contains("--deny"));
        assert_eq!(policy.unknown_commands(spec), ["no_such_command"]);
        let others =
            spec.commands.iter().filter(|command| policy.denial_reason(spec, command.wire).is_none()).count();
        assert_eq!(others, spec.commands.len() - 1);
    }
}
