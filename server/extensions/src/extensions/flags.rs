//! Unknown options of the command line. They may be flags of extensions, because extensions declare their flags only
//! after they are loaded.

use std::collections::BTreeMap;

use agentese::types::FlagKind;
use serde_json::Value;

use super::command_line_flag::CommandLineFlag;
use super::host::Host;

/// Warning for arguments of the command line that are not part of an option.
pub const MESSAGES_IGNORED: &str = "messages on the command line are ignored in RPC mode";

/// Result of the assignment of options to flags.
#[derive(Debug, Default, PartialEq)]
struct ResolvedFlags {
    /// The values of the given flags. If a flag is repeated, its last value applies.
    values: BTreeMap<String, Value>,
    /// Warnings about the options, for the user.
    warnings: Vec<String>,
}

/// Assigns options to flags. `kind` returns the kind of a flag, or `None` if there is no such flag.
fn resolve(
    given: &[CommandLineFlag],
    has_untrusted: bool,
    kind: impl Fn(&str) -> Option<FlagKind>,
) -> ResolvedFlags {
    let mut resolved = ResolvedFlags::default();
    let mut words = false;
    for flag in given {
        let kind = kind(&flag.name);
        words |= flag.next.is_some() && (kind != Some(FlagKind::String) || flag.value.is_some());
        match kind.map(|kind| flag.value(kind)) {
            Some(Ok(value)) => {
                resolved.values.insert(flag.name.clone(), value);
            }
            Some(Err(warning)) => resolved.warnings.push(warning),
            None => resolved.warnings.push(flag.unknown_warning(has_untrusted)),
        }
    }
    if words {
        resolved.warnings.push(MESSAGES_IGNORED.to_owned());
    }
    resolved
}

/// Returns the warnings for all given options if no extension is loaded. `has_untrusted` is true if extensions were not
/// loaded because they still need trust.
pub fn flag_warnings(given: &[CommandLineFlag], has_untrusted: bool) -> Vec<String> {
    resolve(given, has_untrusted, |_| None).warnings
}

impl Host {
    fn resolve_flags(&self) -> ResolvedFlags {
        let state = self.registry();
        let offered = |name: &str| {
            // Of two extensions with one flag the last declaration applies, as in pi.
            let mut flags =
                state.loaded.iter().flat_map(|member| member.offered.flags.iter().flatten()).rev();
            flags.find(|flag| flag.name == name).map(|flag| flag.kind)
        };
        resolve(&self.options.flags, self.options.has_untrusted_extensions, offered)
    }

    /// Returns the values of all flags of extensions that the command line contains.
    pub(super) fn flags(&self) -> BTreeMap<String, Value> {
        self.resolve_flags().values
    }

    /// Logs warnings for unknown options. Called after the first extensions have loaded.
    pub(super) fn log_flag_warnings(&self) {
        for warning in self.resolve_flags().warnings {
            tracing::warn!("{warning}");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn flag(name: &str, value: Option<&str>, next: Option<&str>) -> CommandLineFlag {
        let text = |text: &str| text.to_owned();
        CommandLineFlag { name: text(name), value: value.map(text), next: next.map(text), suggestion: None }
    }

    fn kinds(name: &str) -> Option<FlagKind> {
        match name {
            "plan" => Some(FlagKind::Boolean),
            "to" => Some(FlagKind::String),
            _ => None,
        }
    }

    #[test]
    fn flag_values_follow_the_kind_of_the_flag() {
        let resolved = resolve(
            &[flag("plan", None, None), flag("to", None, Some("a b")), flag("to", Some("-x=y"), None)],
            false,
            kinds,
        );
        assert_eq!(json!(resolved.values), json!({"plan": true, "to": "-x=y"}));
        assert_eq!(resolved.warnings, Vec::<String>::new());
    }

    #[test]
    fn invalid_flags_cause_warnings() {
        let given = [
            flag("plan", Some("yes"), None),
            flag("plan", None, Some("word")),
            flag("to", None, None),
            flag("frobnicate", None, Some("word")),
        ];
        let resolved = resolve(&given, false, kinds);
        assert_eq!(json!(resolved.values), json!({"plan": true}));
        assert_eq!(
            resolved.warnings,
            [
                "option --plan=yes is ignored: --plan takes no value",
                "option --to is ignored: it takes a value, --to VALUE or --to=VALUE",
                "unknown option --frobnicate is ignored",
                MESSAGES_IGNORED,
            ]
        );
        let meant =
            CommandLineFlag { suggestion: Some("--no-session".to_owned()), ..flag("no-sesion", None, None) };
        assert_eq!(
            flag_warnings(&[meant], true),
            ["unknown option --no-sesion is ignored; did you mean --no-session?"]
        );
    }
}
