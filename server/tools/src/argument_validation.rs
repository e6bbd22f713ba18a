//! Validation of a call's arguments against the tool's schema.
//!
//! Only a part of JSON Schema is checked: `properties` and `required` of the object, and `type`, `minimum` and `enum`
//! of each property. Other parts of a schema inform the model and are not checked. Schemas are not compiled, so tools
//! do not delay the start.

use serde_json::{Map, Number, Value};

/// Checks arguments against a schema and returns them in the types of the schema. Fails with a text for the model.
///
/// Numbers and booleans become strings, or strings become numbers and booleans, as the schema requires. An optional
/// member with the value null counts as absent. Members that the schema does not define stay unchanged.
pub fn validate(tool: &str, schema: &Value, arguments: &Value) -> Result<Value, String> {
    let mut problems = Vec::new();
    let coerced = match arguments {
        Value::Object(members) => object(schema, members, &mut problems),
        // Models omit the arguments for tools that need no arguments.
        Value::Null => object(schema, &Map::new(), &mut problems),
        _ => {
            problems.push("root: must be object".to_owned());
            Map::new()
        }
    };
    if problems.is_empty() { Ok(Value::Object(coerced)) } else { Err(report(tool, &problems, arguments)) }
}

fn object(schema: &Value, members: &Map<String, Value>, problems: &mut Vec<String>) -> Map<String, Value> {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut result = Map::new();
    for (name, value) in members {
        match schema["properties"].get(name) {
            Some(_) if value.is_null() && !required.contains(&name.as_str()) => {}
            Some(property) => match coerce(property, value) {
                Ok(value) => drop(result.insert(name.clone(), value)),
                Err(problem) => problems.push(format!("{name}: {problem}")),
            },
            None => drop(result.insert(name.clone(), value.clone())),
        }
    }
    for name in required.iter().filter(|name| !members.contains_key(**name)) {
        problems.push(format!("{name}: must have required property '{name}'"));
    }
    result
}

fn coerce(schema: &Value, value: &Value) -> Result<Value, String> {
    let wanted = schema["type"].as_str().unwrap_or_default();
    let coerced = match (wanted, value) {
        ("string", Value::String(_)) => value.clone(),
        ("string", Value::Number(number)) => Value::String(number.to_string()),
        ("string", Value::Bool(flag)) => Value::String(flag.to_string()),
        ("number" | "integer", Value::Number(_)) => value.clone(),
        ("number" | "integer", Value::String(text)) => {
            Value::Number(number(text).ok_or_else(|| must_be(wanted))?)
        }
        ("boolean", Value::Bool(_)) => value.clone(),
        ("boolean", Value::String(text)) => Value::Bool(text.parse().map_err(|_| must_be(wanted))?),
        ("array", Value::Array(_)) | ("object", Value::Object(_)) | ("", _) => value.clone(),
        _ => return Err(must_be(wanted)),
    };
    let coerced =
        if wanted == "integer" { integer(coerced).ok_or_else(|| must_be(wanted))? } else { coerced };
    if let (Some(minimum), Some(number)) = (schema["minimum"].as_f64(), coerced.as_f64())
        && number < minimum
    {
        return Err(format!("must be >= {minimum}"));
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.contains(&coerced)
    {
        return Err("must be equal to one of the allowed values".to_owned());
    }
    Ok(coerced)
}

fn must_be(wanted: &str) -> String {
    format!("must be {wanted}")
}

fn number(text: &str) -> Option<Number> {
    let text = text.trim();
    match text.parse::<i64>() {
        Ok(whole) => Some(whole.into()),
        // `parse` also accepts "inf" and "nan", which are not JSON numbers: `from_f64` rejects them.
        Err(_) => text.parse::<f64>().ok().and_then(Number::from_f64),
    }
}

/// Converts 3.0 to 3: JSON Schema accepts 3.0 as an integer, and tools expect 3.
fn integer(value: Value) -> Option<Value> {
    if value.is_i64() || value.is_u64() {
        return Some(value);
    }
    let number = value.as_f64()?;
    // Beyond 2^53 a float is ambiguous as an integer.
    (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0).then(|| Value::from(number as i64))
}

/// Maximum number of bytes of the arguments that the error for the model repeats.
const LONGEST_ECHO: usize = 16 * 1024;

fn report(tool: &str, problems: &[String], arguments: &Value) -> String {
    let mut received = serde_json::to_string_pretty(arguments).unwrap_or_default();
    if received.len() > LONGEST_ECHO {
        let cut = (0..=LONGEST_ECHO).rev().find(|&at| received.is_char_boundary(at)).unwrap_or(0);
        received.truncate(cut);
        received.push('…');
    }
    let lines: String = problems.iter().map(|problem| format!("  - {problem}\n")).collect();
    format!("Validation failed for tool \"{tool}\":\n{lines}\nReceived arguments:\n{received}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "limit": {"type": "integer", "minimum": 1},
                "ratio": {"type": "number"},
                "deep": {"type": "boolean"},
                "mode": {"type": "string", "enum": ["a", "b"]},
            },
            "required": ["path"],
        })
    }

    #[track_caller]
    fn accepts(given: Value, expected: Value) {
        assert_eq!(validate("t", &schema(), &given), Ok(expected));
    }

    #[track_caller]
    fn refuses(given: Value, problems: &[&str]) {
        let text = validate("t", &schema(), &given).unwrap_err();
        let lines: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("  - ")).collect();
        assert_eq!(lines, problems);
        assert!(text.starts_with("Validation failed for tool \"t\":\n"));
    }

    #[test]
    fn coercion_is_light() {
        accepts(json!({"path": 12}), json!({"path": "12"}));
        accepts(json!({"path": true}), json!({"path": "true"}));
        accepts(json!({"path": "a", "limit": "3"}), json!({"path": "a", "limit": 3}));
        accepts(json!({"path": "a", "limit": 3.0}), json!({"path": "a", "limit": 3}));
        accepts(json!({"path": "a", "ratio": " 0.5 "}), json!({"path": "a", "ratio": 0.5}));
        accepts(json!({"path": "a", "deep": "false"}), json!({"path": "a", "deep": false}));
        accepts(json!({"path": "a", "limit": null}), json!({"path": "a"}));
        accepts(json!({"path": "a", "extra": [1]}), json!({"path": "a", "extra": [1]}));
    }

    #[test]
    fn every_violated_path_has_its_line() {
        refuses(json!({}), &["path: must have required property 'path'"]);
        refuses(json!(null), &["path: must have required property 'path'"]);
        refuses(json!([]), &["root: must be object"]);
        refuses(json!("ls"), &["root: must be object"]);
        refuses(json!({"path": null}), &["path: must be string"]);
        refuses(
            json!({"path": ["a"], "limit": 0, "ratio": "NaN", "deep": 1, "mode": "c"}),
            &[
                "path: must be string",
                "limit: must be >= 1",
                "ratio: must be number",
                "deep: must be boolean",
                "mode: must be equal to one of the allowed values",
            ],
        );
        refuses(json!({"path": "a", "limit": 2.5}), &["limit: must be integer"]);
        refuses(json!({"path": "a", "limit": 1e300}), &["limit: must be integer"]);
        refuses(json!({"path": "a", "limit": "inf"}), &["limit: must be integer"]);
    }

    #[test]
    fn the_report_is_the_one_pi_gives() {
        let schema = json!({"properties": {"command": {"type": "string"}}, "required": ["command"]});
        assert_eq!(
            validate("bash", &schema, &json!({"cmd": "ls"})).unwrap_err(),
            "Validation failed for tool \"bash\":\n  - command: must have required property 'command'\n\nReceived \
             arguments:\n{\n  \"cmd\": \"ls\"\n}"
        );
    }

    #[test]
    fn huge_arguments_are_not_repeated_in_full() {
        let text = validate("t", &schema(), &json!({"big": "é".repeat(1 << 20)})).unwrap_err();
        assert!(text.len() < LONGEST_ECHO + 200, "{}", text.len());
    }
}
