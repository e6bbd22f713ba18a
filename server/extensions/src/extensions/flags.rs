//! Unknown options of the command line: possible flags of extensions, which declare their flags only after
//! loading.

use std::collections::BTreeMap;

use agentese::types::FlagKind;
use serde_json::Value;

use super::given_flag::GivenFlag;
use super::host::Host;

/// Warning for command-line arguments that belong to no option.
pub const NO_MESSAGES: &str = "messages on the command line are ignored in RPC mode";

/// Result of the assignment of options to flags.
#[derive(Debug, Default, PartialEq)]
struct ResolvedFlags {
    /// The values of the given flags; of repeated flags the last value.
    values: BTreeMap<String, Value>,
    /// The warnings.
    complaints: Vec<String>,
}

/// Assigns options to flags. `kind` returns the kind of a flag, or `None` if there is no such flag.
fn resolve(given: &[GivenFlag], more: bool, kind: impl Fn(&str) -> Option<FlagKind>) -> ResolvedFlags {
    let mut resolved = ResolvedFlags::default();
    let mut words = false;
    for flag in given {
        let kind = kind(&flag.name);
        words |= flag.next.is_some() && (kind != Some(FlagKind::String) || flag.value.is_some());
        match kind.map(|kind| flag.value(kind)) {
            Some(Ok(value)) => {
                resolved.values.insert(flag.name.clone(), value);
            }
            Some(Err(complaint)) => resolved.complaints.push(complaint),
            None => resolved.complaints.push(flag.unknown(more)),
        }
    }
    if words {
        resolved.complaints.push(NO_MESSAGES.to_owned());
    }
    resolved
}

/// Returns the warnings for options if no extension is loaded. `more` is true if there are extensions that
/// are not trusted yet.
pub fn complaints(given: &[GivenFlag], more: bool) -> Vec<String> {
    resolve(given, more, |_| None).complaints
}

impl Host {
    fn resolved(&self) -> ResolvedFlags {
        let state = self.state();
        let offered = |name: &str| {
            // Of two extensions with one flag the last declaration applies, as in pi.
            let mut flags =
                state.members.iter().flat_map(|member| member.offered.flags.iter().flatten()).rev();
            flags.find(|flag| flag.name == name).map(|flag| flag.kind)
        };
        resolve(&self.options.flags, self.options.more_may_come, offered)
    }

    /// Returns the values of extensions' flags from the command line.
    pub(super) fn flags(&self) -> BTreeMap<String, Value> {
        self.resolved().values
    }

    /// Logs warnings for unknown options, after the first extensions have loaded.
    pub(super) fn complain_of_flags(&self) {
        for complaint in self.resolved().complaints {
            tracing::warn!("{complaint}");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn flag(name: &str, value: Option<&str>, next: Option<&str>) -> GivenFlag {
        let text = |text: &str| text.to_owned();
        GivenFlag { name: text(name), value: value.map(text), next: next.map(text), meant: None }
    }

    fn kinds(name: &str) -> Option<FlagKind> {
        match name {
            "plan" => Some(FlagKind::Boolean),
            "to" => Some(FlagKind::String),
            _ => None,
        }
    }

    #[test]
    fn a_flag_takes_what_its_kind_takes() {
        let resolved = resolve(
            &[flag("plan", None, None), flag("to", None, Some("a b")), flag("to", Some("-x=y"), None)],
            false,
            kinds,
        );
        assert_eq!(json!(resolved.values), json!({"plan": true, "to": "-x=y"}));
        assert_eq!(resolved.complaints, Vec::<String>::new());
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let given = [
            flag("plan", Some("yes"), None),
            flag("plan", None, Some("word")),
            flag("to", None, None),
            flag("frobnicate", None, Some("word")),
        ];
        let resolved = resolve(&given, false, kinds);
        assert_eq!(json!(resolved.values), json!({"plan": true}));
        assert_eq!(
            resolved.complaints,
            [
                "option --plan=yes is ignored: --plan takes no value",
                "option --to is ignored: it takes a value, --to VALUE or --to=VALUE",
                "unknown option --frobnicate is ignored",
                NO_MESSAGES,
            ]
        );
        let meant = GivenFlag { meant: Some("--no-session".to_owned()), ..flag("no-sesion", None, None) };
        assert_eq!(
            complaints(&[meant], true),
            ["unknown option --no-sesion is ignored; did you mean --no-session?"]
        );
    }
}
