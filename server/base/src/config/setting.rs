//! Types of settings, and their conversion from JSON values.

use std::path::PathBuf;

use agentese::types::{QueueMode, ThinkingLevel};
use serde_json::{Map, Value};

use super::{IsolationMode, MergeMode, ProxyUrl, TimeLimit};

use super::{RuleContext, RuleInterrupt, RuleRepeat};

/// A type that the value of a setting can have.
pub(super) trait Setting: Sized {
    /// Description of the expected value, with an article, for warnings.
    const EXPECTED: &'static str;
    /// `true` if the value is one of a few names. A warning then shows a wrong value, which is probably not a
    /// secret.
    const IS_NAME: bool = false;
    fn read(value: &Value) -> Option<Self>;
}

impl Setting for bool {
    const EXPECTED: &'static str = "true or false";
    fn read(value: &Value) -> Option<Self> {
        value.as_bool()
    }
}

impl Setting for u64 {
    const EXPECTED: &'static str = "a whole number";
    fn read(value: &Value) -> Option<Self> {
        // `2e3` and `2000.0` are integers too, up to the largest exact integer of a double.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let whole = |number: &f64| number.fract() == 0.0 && (0.0..=EXACT).contains(number);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        value.as_u64().or_else(|| value.as_f64().filter(whole).map(|number| number as u64))
    }
}

impl Setting for u32 {
    const EXPECTED: &'static str = u64::EXPECTED;
    fn read(value: &Value) -> Option<Self> {
        u64::read(value)?.try_into().ok()
    }
}

impl Setting for f64 {
    const EXPECTED: &'static str = "a number";
    fn read(value: &Value) -> Option<Self> {
        value.as_f64().filter(|number| *number >= 0.0)
    }
}

impl Setting for Map<String, Value> {
    const EXPECTED: &'static str = "an object";
    fn read(value: &Value) -> Option<Self> {
        value.as_object().cloned()
    }
}

impl Setting for IsolationMode {
    const EXPECTED: &'static str = "one of none, worktree, fuse-overlay, fuse-projfs";
    const IS_NAME: bool = true;
    fn read(value: &Value) -> Option<Self> {
        match value.as_str()? {
            "none" => Some(Self::None),
            "worktree" | "fuse-overlay" | "fuse-projfs" => Some(Self::Worktree),
            _ => None,
        }
    }
}

impl Setting for MergeMode {
    const EXPECTED: &'static str = "patch or branch";
    const IS_NAME: bool = true;
    fn read(value: &Value) -> Option<Self> {
        match value.as_str()? {
            "patch" => Some(Self::Patch),
            "branch" => Some(Self::Branch),
            _ => None,
        }
    }
}

impl Setting for TimeLimit {
    const EXPECTED: &'static str = "a number of milliseconds or \"disabled\"";
    const IS_NAME: bool = true;
    fn read(value: &Value) -> Option<Self> {
        value.as_str().map_or_else(|| u64::read(value).map(Self), Self::parse)
    }
}

impl Setting for ProxyUrl {
    const EXPECTED: &'static str = "the URL of a proxy";
    fn read(value: &Value) -> Option<Self> {
        value.as_str().filter(|url| !url.is_empty()).map(|url| Self(url.to_owned()))
    }
}

impl Setting for String {
    const EXPECTED: &'static str = "a string";
    fn read(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}

impl Setting for PathBuf {
    const EXPECTED: &'static str = "a path";
    fn read(value: &Value) -> Option<Self> {
        value.as_str().filter(|path| !path.is_empty()).map(Self::from)
    }
}

impl Setting for Vec<String> {
    const EXPECTED: &'static str = "a list of strings";
    fn read(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(String::read).collect()
    }
}

impl Setting for ThinkingLevel {
    const EXPECTED: &'static str = "one of off, minimal, low, medium, high, xhigh";
    const IS_NAME: bool = true;
    fn read(value: &Value) -> Option<Self> {
        value.as_str()?.parse().ok()
    }
}

impl Setting for QueueMode {
    const EXPECTED: &'static str = "all or one-at-a-time";
    const IS_NAME: bool = true;
    fn read(value: &Value) -> Option<Self> {
        value.as_str()?.parse().ok()
    }
}

/// Implements [`Setting`] for a type whose values have names.
macro_rules! named {
    ($setting:ty, $expected:literal, $($name:literal => $value:expr),+) => {
        impl Setting for $setting {
            const EXPECTED: &'static str = $expected;
            const IS_NAME: bool = true;
            fn read(value: &Value) -> Option<Self> {
                match value.as_str()? {
                    $($name => Some($value),)+
                    _ => None,
                }
            }
        }
    };
}

named!(RuleContext, "discard or keep", "discard" => Self::Discard, "keep" => Self::Keep);
named!(RuleRepeat, "once or after-gap", "once" => Self::Once, "after-gap" => Self::AfterGap);

impl Setting for RuleInterrupt {
    const EXPECTED: &'static str = "one of always, prose-only, tool-only, never";
    const IS_NAME: bool = true;
    fn read(value: &Value) -> Option<Self> {
        Self::from_name(value.as_str()?)
    }
}

impl<T: Setting> Setting for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;
    const IS_NAME: bool = T::IS_NAME;
    fn read(value: &Value) -> Option<Self> {
        T::read(value).map(Some)
    }
}

/// Describes a value for a warning. Leaves out text, because it is possibly a misplaced secret.
pub(super) fn describe(value: &Value, is_name: bool) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::String(name) if is_name && name.len() <= 32 => format!("\"{name}\""),
        other => kind(other).to_owned(),
    }
}

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Number(_) => "a number",
        Value::String(text) if text.is_empty() => "an empty string",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
