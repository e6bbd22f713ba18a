//! Limits for servers.

use std::time::Duration;

use serde_json::{Map, Value};

/// The settings `mcp.*`. Times in the settings are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct McpLimits {
    /// Time limit for a starting server to report its tools and prompts (`startTimeoutMs`).
    pub start: Duration,
    /// Maximum time for which the first prompt waits for starting servers (`waitMs`).
    pub wait: Duration,
    /// Time limit of a call that receives neither an answer nor progress (`callTimeoutMs`).
    pub call: Duration,
    /// Maximum number of restarts in a row (`restarts`).
    pub restarts: u32,
    /// The pause before the first restart; each later pause is twice as long, up to [`LONGEST_PAUSE`].
    pub pause: Duration,
}

/// The longest pause before a restart.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Time limit of a call even if it reports progress.
pub(super) const LONGEST_CALL: Duration = Duration::from_secs(3600);

impl Default for McpLimits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(60),
            wait: Duration::from_secs(10),
            call: Duration::from_secs(120),
            restarts: 5,
            pause: Duration::from_secs(1),
        }
    }
}

impl McpLimits {
    /// Reads the settings; missing or malformed members have their defaults.
    pub fn from_settings(settings: &Map<String, Value>) -> Self {
        let number = |name: &str| settings.get("mcp")?.get(name)?.as_u64();
        let time = |name: &str| number(name).map(Duration::from_millis);
        let usual = Self::default();
        Self {
            start: time("startTimeoutMs").unwrap_or(usual.start),
            wait: time("waitMs").unwrap_or(usual.wait),
            call: time("callTimeoutMs").unwrap_or(usual.call),
            restarts: number("restarts").map_or(usual.restarts, |n| u32::try_from(n).unwrap_or(u32::MAX)),
            pause: time("restartPauseMs").unwrap_or(usual.pause),
        }
    }

    /// Returns the pause before a restart. `failures` is the number of failures in a row.
    pub(super) fn pause(&self, failures: u32) -> Duration {
        let doubled = 1u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        self.pause.saturating_mul(doubled).min(LONGEST_PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn valid_settings_override_the_defaults() {
        let of = |settings: Value| McpLimits::from_settings(settings.as_object().unwrap());
        assert_eq!(of(json!({"mcp": {"waitMs": "x", "restarts": -1}})), McpLimits::default());
        let given = of(json!({"mcp": {"callTimeoutMs": 5, "restarts": 2}}));
        assert_eq!(given, McpLimits { call: Duration::from_millis(5), restarts: 2, ..McpLimits::default() });
    }

    #[test]
    fn pauses_grow_up_to_a_bound() {
        let seconds = |failures| McpLimits::default().pause(failures).as_secs();
        assert_eq!([1, 2, 3, 4, 5, 6, 40, 400].map(seconds), [1, 2, 4, 8, 16, 30, 30, 30]);
    }
}
