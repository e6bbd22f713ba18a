//! Options of the command line that the agent does not know: flags of extensions, which say only once they
//! are loaded which ones they have.

use std::collections::BTreeMap;

use agentese::types::FlagKind;
use serde_json::Value;

use super::Host;

/// What is said about words that no option takes.
pub const NO_MESSAGES: &str = "messages on the command line are ignored in RPC mode";

/// An option of the command line that the agent does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenFlag {
    /// Its name, without the dashes.
    pub name: String,
    /// The text behind `=`.
    pub value: Option<String>,
    /// The word behind it, which is its value where it takes one.
    pub next: Option<String>,
    /// An option of the agent that may have been meant.
    pub meant: Option<String>,
}

impl GivenFlag {
    /// What is said where nobody knows it; `more` says that there are extensions that nobody trusts yet.
    fn unknown(&self, more: bool) -> String {
        match &self.meant {
            None if more => format!(
                "unknown option --{}: no extension that is loaded takes it, and the working directory's are not trusted yet",
                self.name
            ),
            Some(meant) => format!("unknown option --{} is ignored; did you mean {meant}?", self.name),
            None => format!("unknown option --{} is ignored", self.name),
        }
    }

    /// Its value, as a flag of that kind: true, or the text. Fails, with what is to be said, where it does not fit.
    fn value(&self, kind: FlagKind) -> Result<Value, String> {
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

/// What became of the options.
#[derive(Debug, Default, PartialEq)]
struct ResolvedFlags {
    /// The values of the flags that were given; of several the last one.
    values: BTreeMap<String, Value>,
    /// What is to be said.
    complaints: Vec<String>,
}

/// Gives options to the flags that there are; `kind` says of which kind one is, where there is one.
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

/// What is said about options where no extension could take them; `more` says that there are extensions that
/// nobody trusts yet.
pub fn complaints(given: &[GivenFlag], more: bool) -> Vec<String> {
    resolve(given, more, |_| None).complaints
}

impl Host {
    fn resolved(&self) -> ResolvedFlags {
        let state = self.state();
        let offered = |name: &str| {
            // Of two extensions with one name the last one says what it takes, as in pi.
            let mut flags =
                state.members.iter().flat_map(|member| member.offered.flags.iter().flatten()).rev();
            flags.find(|flag| flag.name == name).map(|flag| flag.kind)
        };
        resolve(&self.options.flags, self.options.more_may_come, offered)
    }

    /// The values of extensions' flags, as far as the command line gives any.
    pub(super) fn flags(&self) -> BTreeMap<String, Value> {
        self.resolved().values
    }

    /// Says which options nobody takes, once the first extensions are there.
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
