//! Limits for extensions.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::config::Environment;

/// The settings `extensionHost.*`; their times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtensionLimits {
    /// Time limit for the answer to an event (`hookTimeoutMs`), without the time of open dialogs.
    pub hook: Duration,
    /// Time limit from the start of a process to the report of its contents (`startTimeoutMs`).
    pub start: Duration,
    /// Time limit for a dialog without a limit of its own (`dialogTimeoutMs`); `None` for no limit.
    pub dialog: Option<Duration>,
    /// Maximum number of restarts of processes that ended by themselves (`restarts`).
    pub restarts: u32,
    /// True if tools run while a guard is missing (`unguarded`).
    pub unguarded: bool,
    /// Number of agents above this agent, each started by an extension of the previous one.
    pub depth: u32,
    /// The depth from which on an agent starts no extensions (`maxDepth`), to end chains of agents.
    pub max_depth: u32,
}

/// The environment variable with the depth, for extensions and for agents started by them.
pub const DEPTH: &str = "AGENTESE_DEPTH";

impl Default for ExtensionLimits {
    fn default() -> Self {
        Self {
            hook: Duration::from_secs(30),
            start: Duration::from_secs(10),
            dialog: None,
            restarts: 0,
            unguarded: false,
            depth: 0,
            max_depth: 5,
        }
    }
}

impl ExtensionLimits {
    /// Reads the settings; missing or malformed members have their defaults. The depth comes from the
    /// environment.
    pub fn from_settings(settings: &Map<String, Value>, environment: &dyn Environment) -> Self {
        let host = settings.get("extensionHost");
        let number = |name: &str| host.and_then(|host| host.get(name)).and_then(Value::as_u64);
        let time = |name: &str| number(name).map(Duration::from_millis);
        let usual = Self::default();
        Self {
            hook: time("hookTimeoutMs").unwrap_or(usual.hook),
            start: time("startTimeoutMs").unwrap_or(usual.start),
            dialog: time("dialogTimeoutMs"),
            restarts: number("restarts").map_or(usual.restarts, small),
            unguarded: host
                .and_then(|host| host.get("unguarded"))
                .and_then(Value::as_bool)
                .unwrap_or(usual.unguarded),
            depth: environment.get(DEPTH).and_then(|depth| depth.to_str()?.parse().ok()).unwrap_or(0),
            max_depth: number("maxDepth").map_or(usual.max_depth, small),
        }
    }

    /// Returns true if an agent at this depth must not start extensions.
    pub fn are_too_deep(&self) -> bool {
        self.depth >= self.max_depth
    }
}

fn small(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn valid_settings_override_the_defaults() {
        let of = |value: Value| ExtensionLimits::from_settings(value.as_object().unwrap(), &|_: &str| None);
        assert_eq!(of(json!({})), ExtensionLimits::default());
        assert_eq!(
            of(json!({"extensionHost": {"hookTimeoutMs": "x", "restarts": -1}})),
            ExtensionLimits::default()
        );
        let given = of(json!({"extensionHost": {"hookTimeoutMs": 100, "dialogTimeoutMs": 5, "restarts": 2}}));
        assert_eq!((given.hook.as_millis(), given.restarts), (100, 2));
        for (value, unguarded) in
            [(json!(true), true), (json!(false), false), (json!("true"), false), (json!(1), false)]
        {
            assert_eq!(of(json!({"extensionHost": {"unguarded": value}})).unguarded, unguarded, "{value}");
        }
        assert_eq!(
            (given.dialog, given.start),
            (Some(Duration::from_millis(5)), ExtensionLimits::default().start)
        );
    }

    #[test]
    fn fm_f93_the_environment_sets_the_depth_of_an_agent() {
        for (text, depth, too_deep) in
            [(None, 0, false), (Some("1"), 1, false), (Some("2"), 2, true), (Some("x"), 0, false)]
        {
            let settings = json!({"extensionHost": {"maxDepth": 2}});
            let environment = |name: &str| text.filter(|_| name == DEPTH).map(Into::into);
            let limits = ExtensionLimits::from_settings(settings.as_object().unwrap(), &environment);
            assert_eq!((limits.depth, limits.are_too_deep()), (depth, too_deep), "{text:?}");
        }
    }
}
