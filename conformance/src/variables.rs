//! Variables `${NAME}` in cases and profiles.

use std::collections::BTreeMap;

use serde_json::Value;

/// Names and values of variables.
///
/// `${env:NAME}` is replaced by the environment variable of this process, or by an empty text if it is not
/// set. `${NAME}` with an unknown name stays unchanged, because it may be a shell variable.
#[derive(Debug, Clone, Default)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// Sets the value of a variable.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.insert(name.into(), value.into());
    }

    /// Replaces the variables in a text. Their values are not expanded again.
    pub fn text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let (before, from) = rest.split_at(start);
            out.push_str(before);
            let Some(end) = from.find('}') else {
                out.push_str(from);
                return out;
            };
            let name = &from[2..end];
            match (name.strip_prefix("env:"), self.0.get(name)) {
                (Some(name), _) => out.push_str(&std::env::var(name).unwrap_or_default()),
                (None, Some(value)) => out.push_str(value),
                (None, None) => out.push_str(&from[..=end]),
            }
            rest = &from[end + 1..];
        }
        out.push_str(rest);
        out
    }

    /// Replaces the variables in all strings and member names of a value.
    pub fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => Value::Object(
                members.iter().map(|(name, value)| (self.text(name), self.value(value))).collect(),
            ),
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_are_replaced_and_others_stay() {
        let mut variables = Variables::default();
        variables.set("WORK", "/w");
        variables.set("ODD", "${WORK}");
        for (text, expected) in [
            ("cd ${WORK}/a; echo ${f} $f ${", "cd /w/a; echo ${f} $f ${"),
            ("${ODD}", "${WORK}"),
            ("x${env:AGENTESE_NOT_SET}y", "xy"),
        ] {
            assert_eq!(variables.text(text), expected);
        }
        let value = variables.value(&serde_json::json!({"${WORK}": ["${WORK}", 1]}));
        assert_eq!(value, serde_json::json!({"/w": ["/w", 1]}));
    }
}
