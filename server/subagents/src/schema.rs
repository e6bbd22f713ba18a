//! Validation of data against a JSON Schema. It supports the parts that models use: types, members, items, enum, const
//! and bounds. Other parts of a schema are ignored.

use serde_json::Value;

/// Returns the errors in the data, each with its path. Returns an empty list if the data is valid.
pub fn validation_errors(schema: &Value, data: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    check(schema, data, "data", &mut problems);
    problems
}

fn check(schema: &Value, data: &Value, path: &str, problems: &mut Vec<String>) {
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|wanted| has_type(data, wanted)) {
        return problems.push(format!("{path}: must be {}", types.join(" or ")));
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.contains(data)
    {
        problems.push(format!("{path}: must be one of {}", Value::from(allowed.clone())));
    }
    if let Some(only) = schema.get("const").filter(|only| *only != data) {
        problems.push(format!("{path}: must be {only}"));
    }
    if let Some(number) = data.as_f64() {
        if schema["minimum"].as_f64().is_some_and(|minimum| number < minimum) {
            problems.push(format!("{path}: must be >= {}", schema["minimum"]));
        }
        if schema["maximum"].as_f64().is_some_and(|maximum| number > maximum) {
            problems.push(format!("{path}: must be <= {}", schema["maximum"]));
        }
    }
    if let Some(members) = data.as_object() {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !members.contains_key(name) {
                problems.push(format!("{path}: must have the member {name}"));
            }
        }
        for (name, value) in members {
            match schema["properties"].get(name) {
                Some(inner) => check(inner, value, &format!("{path}.{name}"), problems),
                None if schema["additionalProperties"] == false => {
                    problems.push(format!("{path}: must not have the member {name}"));
                }
                None => {}
            }
        }
    }
    if let (Some(entries), Some(inner)) = (data.as_array(), schema.get("items")) {
        for (index, entry) in entries.iter().enumerate() {
            check(inner, entry, &format!("{path}[{index}]"), problems);
        }
    }
}

fn has_type(data: &Value, wanted: &str) -> bool {
    match wanted {
        "object" => data.is_object(),
        "array" => data.is_array(),
        "string" => data.is_string(),
        "boolean" => data.is_boolean(),
        "null" => data.is_null(),
        "number" => data.is_number(),
        "integer" => data.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_error_has_its_path() {
        let schema = json!({
            "type": "object", "required": ["files"], "additionalProperties": false,
            "properties": {
                "files": {"type": "array", "items": {"type": "string"}},
                "risk": {"enum": ["low", "high"]}, "count": {"type": "integer", "minimum": 1},
            },
        });
        let found = |data: Value| validation_errors(&schema, &data);
        assert!(found(json!({"files": ["a"], "risk": "low", "count": 2})).is_empty());
        assert_eq!(found(json!("text")), ["data: must be object"]);
        assert_eq!(
            found(json!({"files": [1], "risk": "some", "count": 0.5, "more": 1})),
            [
                "data.files[0]: must be string",
                "data.risk: must be one of [\"low\",\"high\"]",
                "data.count: must be integer",
                "data: must not have the member more",
            ]
        );
        assert_eq!(found(json!({})), ["data: must have the member files"]);
    }
}
