//! How patient the host is with extensions.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::config::Environment;

/// `extensionHost.*` of the settings files; times are in milliseconds there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long an answer to an event may take (`hookTimeoutMs`); open dialogs do not count.
    pub hook: Duration,
    /// How long a process may take until it says what it brings (`startTimeoutMs`).
    pub start: Duration,
    /// How long a dialog without a limit of its own is open (`dialogTimeoutMs`); none: for ever.
    pub dialog: Option<Duration>,
    /// How often a process that ended by itself is started again (`restarts`).
    pub restarts: u32,
    /// Whether tools run while an extension that guards them is not there (`unguarded`).
    pub unguarded: bool,
    /// How many agents stand above this one, each started by an extension of the one before.
    pub depth: u32,
    /// At which depth an agent starts no extensions (`maxDepth`), so that agents that start agents come to an end.
    pub max_depth: u32,
}

/// The variable in which an agent tells its extensions, and agents among them, how deep they are.
pub const DEPTH: &str = "AGENTESE_DEPTH";

impl Default for Limits {
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

impl Limits {
    /// What the settings say; members that are missing or of another kind count as not given. The depth is what the
    /// environment says.
    pub fn of(settings: &Map<String, Value>, environment: &dyn Environment) -> Self {
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

    /// Whether an agent at this depth starts extensions.
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
    fn what_is_given_counts() {
        let of = |value: Value| Limits::of(value.as_object().unwrap(), &|_: &str| None);
        assert_eq!(of(json!({})), Limits::default());
        assert_eq!(of(json!({"extensionHost": {"hookTimeoutMs": "x", "restarts": -1}})), Limits::default());
        let given = of(json!({"extensionHost": {"hookTimeoutMs": 100, "dialogTimeoutMs": 5, "restarts": 2}}));
        assert_eq!((given.hook.as_millis(), given.restarts), (100, 2));
        for (value, unguarded) in
            [(json!(true), true), (json!(false), false), (json!("true"), false), (json!(1), false)]
        {
            assert_eq!(of(json!({"extensionHost": {"unguarded": value}})).unguarded, unguarded, "{value}");
        }
        assert_eq!((given.dialog, given.start), (Some(Duration::from_millis(5)), Limits::default().start));
    }

    #[test]
    fn fm_f93_the_environment_says_how_deep_an_agent_is() {
        for (text, depth, too_deep) in
            [(None, 0, false), (Some("1"), 1, false), (Some("2"), 2, true), (Some("x"), 0, false)]
        {
            let settings = json!({"extensionHost": {"maxDepth": 2}});
            let environment = |name: &str| text.filter(|_| name == DEPTH).map(Into::into);
            let limits = Limits::of(settings.as_object().unwrap(), &environment);
            assert_eq!((limits.depth, limits.are_too_deep()), (depth, too_deep), "{text:?}");
        }
    }
}
