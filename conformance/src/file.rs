//! Strict readers of the declared file formats. Users write these files by hand, so an undeclared member is
//! an error.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reason why a file cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The content does not fit the format.
    #[error("{path}: {reason}")]
    Content {
        /// Path of the file.
        path: PathBuf,
        /// Description of the problem.
        reason: String,
    },
}

/// Reads a file of a format, such as `scenario`.
///
/// # Errors
/// If the file cannot be read, does not fit the format, or has undeclared members.
pub fn load<T: DeserializeOwned>(path: &Path, format: &str) -> Result<T, FileError> {
    let text =
        std::fs::read_to_string(path).map_err(|source| FileError::Read { path: path.to_owned(), source })?;
    parse(path, &text, format)
}

/// Parses a text in the same way as [`load`]. `path` is the path for error messages.
///
/// # Errors
/// If the text does not fit the format, or has undeclared members.
pub fn parse<T: DeserializeOwned>(path: &Path, text: &str, format: &str) -> Result<T, FileError> {
    let wrong = |reason: String| FileError::Content { path: path.to_owned(), reason };
    let value: Value = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    if let Some(member) = undeclared(format, &value) {
        return Err(wrong(format!("unknown member {member}")));
    }
    serde_json::from_value(value).map_err(|error| wrong(error.to_string()))
}

/// Returns the path of an undeclared member.
fn undeclared(format: &str, value: &Value) -> Option<String> {
    static SCHEMAS: LazyLock<BTreeMap<&str, Value>> = LazyLock::new(|| {
        let schemas = agentese::schema::formats().map(|name| {
            let text = agentese::schema::format(name).unwrap_or_default();
            (name, serde_json::from_str(text).unwrap_or_default())
        });
        schemas.collect()
    });
    let schema = SCHEMAS.get(format)?;
    walk(schema, schema, value, "")
}

fn walk(root: &Value, schema: &Value, value: &Value, path: &str) -> Option<String> {
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        return walk(root, &root["$defs"][name], value, path);
    }
    if let Some(arms) = schema["anyOf"].as_array() {
        return walk(root, arms.iter().find(|arm| could_be(root, arm, value))?, value, path);
    }
    match value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(at, item)| walk(root, &schema["items"], item, &format!("{path}[{at}]"))),
        Value::Object(members) => {
            let declared = schema["properties"].as_object();
            members.iter().find_map(|(name, value)| {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match (declared.and_then(|declared| declared.get(name)), declared) {
                    (Some(member), _) => walk(root, member, value, &path),
                    (None, Some(_)) => Some(format!("`{path}`")),
                    (None, None) => walk(root, &schema["additionalProperties"], value, &path),
                }
            })
        }
        _ => None,
    }
}

/// Returns `true` if this alternative of a union may be the intended one: the type fits, and all required
/// members are present.
fn could_be(root: &Value, arm: &Value, value: &Value) -> bool {
    let arm = match arm["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        Some(name) => &root["$defs"][name],
        None => arm,
    };
    match value {
        Value::Object(members) => {
            let required = arm["required"].as_array().into_iter().flatten();
            arm["type"] == "object"
                && required.filter_map(Value::as_str).all(|name| members.contains_key(name))
        }
        Value::Array(_) => arm["type"] == "array",
        Value::String(_) => arm["type"] == "string",
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use agentese::types::{ModelScript, Scenario};

    use super::*;

    fn reason<T: DeserializeOwned + std::fmt::Debug>(format: &str, value: Value) -> String {
        parse::<T>(Path::new("f"), &value.to_string(), format).unwrap_err().to_string()
    }

    #[test]
    fn a_misspelt_member_is_named_with_its_path() {
        let case = |steps: Value| serde_json::json!({"scenario": 1, "name": "n", "dialect": "pi@0.55", "title": "t", "steps": steps});
        assert_eq!(
            reason::<Scenario>(
                "scenario",
                case(serde_json::json!([{"send": {}}, {"wait": {}, "timout_ms": 1}]))
            ),
            "f: unknown member `steps[1].timout_ms`"
        );
        assert_eq!(
            reason::<ModelScript>(
                "model-script",
                serde_json::json!({"responses": [{"blocks": [{"tool": {"name": "x", "arg": 1}}]}]})
            ),
            "f: unknown member `responses[0].blocks[0].tool.arg`"
        );
        let free = case(serde_json::json!([{"send": {"any": {"thing": [1]}}}]));
        assert!(parse::<Scenario>(Path::new("f"), &free.to_string(), "scenario").is_ok());
    }
}
