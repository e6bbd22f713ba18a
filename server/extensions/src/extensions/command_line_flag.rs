//! An unknown option of the command line, which may be a flag of an extension.

use agentese::types::FlagKind;
use serde_json::Value;

/// An unknown option of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLineFlag {
    /// Name of the option, without the dashes.
    pub name: String,
    /// The text after `=`.
    pub value: Option<String>,
    /// The next argument of the command line. It is the value if the flag takes one.
    pub next: Option<String>,
    /// The name of a similar option of the agent.
    pub suggestion: Option<String>,
}

impl CommandLineFlag {
    /// Returns the warning for an option that is no flag of any extension. `has_untrusted` is true if extensions were
    /// not loaded because they still need trust.
    pub(super) fn unknown_warning(&self, has_untrusted: bool) -> String {
        match &self.suggestion {
            None if has_untrusted => format!(
                "unknown option --{}: no loaded extension has it, and the extensions of the working directory are not trusted yet",
                self.name
            ),
            Some(meant) => format!("unknown option --{} is ignored; did you mean {meant}?", self.name),
            None => format!("unknown option --{} is ignored", self.name),
        }
    }

    /// Returns the value of the option as a flag of the given kind: true, or a text. Fails with a warning if the value
    /// does not fit.
    pub(super) fn value(&self, kind: FlagKind) -> Result<Value, String> {
        match (kind, &self.value, &self.next) {
            (FlagKind::Boolean, None, _) => Ok(Value::Bool(true)),
            (FlagKind::Boolean, Some(value), _) => {
                Err(format!("option --{0}={value} is ignored: --{0} takes no value", self.name))
            }
            (FlagKind::String, Some(value), _) | (FlagKind::String, None, Some(value)) => {
                Ok(Value::String(value.clone()))
            }
            (FlagKind::String, None, None) => Err(format!(
                "option --{0} is ignored: it takes a value, --{0} VALUE or --{0}=VALUE",
                self.name
            )),
        }
    }
}
