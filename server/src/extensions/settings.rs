//! How patient the host is with extensions.

use std::time::Duration;

use serde_json::{Map, Value};

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
}

impl Default for Limits {
    fn default() -> Self {
        Self { hook: Duration::from_secs(30), start: Duration::from_secs(10), dialog: None, restarts: 0 }
    }
}

impl Limits {
    /// What the settings say; members that are missing or of another kind count as not given.
    pub fn of(settings: &Map<String, Value>) -> Self {
        let host = settings.get("extensionHost");
        let number = |name: &str| host.and_then(|host| host.get(name)).and_then(Value::as_u64);
        let time = |name: &str| number(name).map(Duration::from_millis);
        let usual = Self::default();
        Self {
            hook: time("hookTimeoutMs").unwrap_or(usual.hook),
            start: time("startTimeoutMs").unwrap_or(usual.start),
            dialog: time("dialogTimeoutMs"),
            restarts: number("restarts")
                .map_or(usual.restarts, |count| u32::try_from(count).unwrap_or(u32::MAX)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_given_counts() {
        let of = |value: Value| Limits::of(value.as_object().unwrap());
        assert_eq!(of(json!({})), Limits::default());
        assert_eq!(of(json!({"extensionHost": {"hookTimeoutMs": "x", "restarts": -1}})), Limits::default());
        let given = of(json!({"extensionHost": {"hookTimeoutMs": 100, "dialogTimeoutMs": 5, "restarts": 2}}));
        assert_eq!((given.hook.as_millis(), given.restarts), (100, 2));
        assert_eq!((given.dialog, given.start), (Some(Duration::from_millis(5)), Limits::default().start));
    }
}
