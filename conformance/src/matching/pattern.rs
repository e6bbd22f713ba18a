//! The first way of matching: patterns for a frame, or for a request to the model.
//!
//! A pattern is JSON. An object fits an object that has each of its members with a fitting value. An array
//! fits an array whose first elements fit. Any other value fits its equal. An object with members that begin
//! with `$` is an operator instead:
//!
//! | operator | fits |
//! |---|---|
//! | `{"$re": "…"}` | a string in which the regular expression is found |
//! | `{"$contains": "…"}` | a string with that text in it; other values, by their JSON text |
//! | `{"$any": [p, …]}` | a value that fits one of the patterns |
//! | `{"$not": p}` | a value that does not fit the pattern |
//! | `{"$has": true}`, `{"$has": false}` | a member that is present, or absent |
//! | `{"$length": n}` | an array or a string of that length |
//! | `{"$first": p}`, `{"$last": p}`, `{"$some": p}`, `{"$every": p}` | an array by its elements |
//!
//! Several operators in one object have to hold together.

use regex::Regex;
use serde_json::Value;

/// Reason why a pattern is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// The operator is unknown.
    #[error("unknown pattern operator `{0}`")]
    Operator(String),
    /// The operator's value is of the wrong type.
    #[error("invalid value of `{operator}`: expected {takes}")]
    Value {
        /// Name of the operator.
        operator: &'static str,
        /// Description of the valid values.
        takes: &'static str,
    },
    /// The regular expression is invalid.
    #[error("invalid regular expression `{expression}`: {reason}")]
    Expression {
        /// The regular expression.
        expression: String,
        /// Description of the error.
        reason: String,
    },
}

/// Pattern that has been parsed and is valid.
#[derive(Debug, Clone)]
pub struct Pattern(Node);

#[derive(Debug, Clone)]
enum Node {
    Equal(Value),
    Elements(Vec<Node>),
    Members(Vec<(String, Node)>),
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Has(bool),
    Expression(Regex),
    Contains(String),
    Length(usize),
    First(Box<Node>),
    Last(Box<Node>),
    Some(Box<Node>),
    Every(Box<Node>),
}

impl Pattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// If an operator is unknown or has an invalid value.
    pub fn new(pattern: &Value) -> Result<Self, PatternError> {
        node(pattern).map(Self)
    }

    /// Returns `true` if the value fits.
    pub fn fits(&self, value: &Value) -> bool {
        fits(&self.0, Some(value))
    }
}

fn node(pattern: &Value) -> Result<Node, PatternError> {
    match pattern {
        Value::Array(items) => Ok(Node::Elements(items.iter().map(node).collect::<Result<_, _>>()?)),
        Value::Object(members) if members.keys().any(|name| name.starts_with('$')) => {
            let nodes = members.iter().map(|(name, value)| operator(name, value));
            Ok(Node::All(nodes.collect::<Result<_, _>>()?))
        }
        Value::Object(members) => {
            let nodes = members.iter().map(|(name, value)| Ok((name.clone(), node(value)?)));
            Ok(Node::Members(nodes.collect::<Result<_, _>>()?))
        }
        other => Ok(Node::Equal(other.clone())),
    }
}

fn operator(name: &str, value: &Value) -> Result<Node, PatternError> {
    let wrong = |operator, takes| PatternError::Value { operator, takes };
    let inner = || node(value).map(Box::new);
    Ok(match name {
        "$re" => {
            let expression = value.as_str().ok_or(wrong("$re", "a string"))?;
            Node::Expression(Regex::new(expression).map_err(|error| PatternError::Expression {
                expression: expression.to_owned(),
                reason: error.to_string().lines().last().unwrap_or_default().to_owned(),
            })?)
        }
        "$contains" => Node::Contains(value.as_str().ok_or(wrong("$contains", "a string"))?.to_owned()),
        "$any" => {
            let patterns = value.as_array().ok_or(wrong("$any", "an array of patterns"))?;
            Node::Any(patterns.iter().map(node).collect::<Result<_, _>>()?)
        }
        "$not" => Node::Not(inner()?),
        "$has" => Node::Has(value.as_bool().ok_or(wrong("$has", "a boolean"))?),
        "$length" => {
            let length = value.as_u64().and_then(|length| usize::try_from(length).ok());
            Node::Length(length.ok_or(wrong("$length", "an integer of 0 or more"))?)
        }
        "$first" => Node::First(inner()?),
        "$last" => Node::Last(inner()?),
        "$some" => Node::Some(inner()?),
        "$every" => Node::Every(inner()?),
        _ => return Err(PatternError::Operator(name.to_owned())),
    })
}

/// Returns `true` if the value fits; `None` is an absent member.
fn fits(node: &Node, value: Option<&Value>) -> bool {
    match (node, value) {
        (Node::Has(wanted), value) => *wanted == value.is_some(),
        (Node::All(nodes), value) => nodes.iter().all(|node| fits(node, value)),
        (Node::Any(nodes), value) => nodes.iter().any(|node| fits(node, value)),
        (Node::Not(node), value) => !fits(node, value),
        (_, None) => false,
        (Node::Equal(wanted), Some(value)) => equal(wanted, value),
        (Node::Expression(expression), Some(value)) => {
            value.as_str().is_some_and(|text| expression.is_match(text))
        }
        (Node::Contains(wanted), Some(Value::String(text))) => text.contains(wanted),
        (Node::Contains(wanted), Some(value)) => value.to_string().contains(wanted),
        (Node::Length(length), Some(Value::Array(items))) => items.len() == *length,
        (Node::Length(length), Some(Value::String(text))) => text.chars().count() == *length,
        (Node::Elements(nodes), Some(Value::Array(items))) => {
            nodes.len() <= items.len() && nodes.iter().zip(items).all(|(node, item)| fits(node, Some(item)))
        }
        (Node::Members(members), Some(Value::Object(object))) => {
            members.iter().all(|(name, node)| fits(node, object.get(name)))
        }
        (Node::First(node), Some(Value::Array(items))) => {
            items.first().is_some_and(|item| fits(node, Some(item)))
        }
        (Node::Last(node), Some(Value::Array(items))) => {
            items.last().is_some_and(|item| fits(node, Some(item)))
        }
        (Node::Some(node), Some(Value::Array(items))) => items.iter().any(|item| fits(node, Some(item))),
        (Node::Every(node), Some(Value::Array(items))) => items.iter().all(|item| fits(node, Some(item))),
        _ => false,
    }
}

/// Compares numbers by value: `1` and `1.0` are one number in JSON.
fn equal(wanted: &Value, value: &Value) -> bool {
    match (wanted, value) {
        (Value::Number(wanted), Value::Number(value)) => wanted == value || wanted.as_f64() == value.as_f64(),
        _ => wanted == value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_operator_fits_as_documented() {
        let frame = json!({
            "type": "response", "id": 7, "data": {"items": ["alpha", {"n": 1.0}], "text": "grüße"}, "null": null
        });
        let table = [
            (json!({"type": "response", "id": 7}), true),
            (json!({"type": "response", "id": "7"}), false),
            (json!({"data": {"items": ["alpha"]}}), true),
            (json!({"data": {"items": ["alpha", {"n": 1}, 3]}}), false),
            (json!({"data": {"items": [{"$re": "^al"}, {"n": 1}]}}), true),
            (json!({"data": {"text": {"$length": 5}, "items": {"$length": 2}}}), true),
            (json!({"data": {"items": {"$length": 2, "$last": {"n": 1}, "$first": "alpha"}}}), true),
            (json!({"data": {"items": {"$some": {"n": 2}}}}), false),
            (json!({"data": {"items": {"$every": {"$any": ["alpha", {"n": 1}]}}}}), true),
            (json!({"null": {"$has": true}, "gone": {"$has": false}}), true),
            (json!({"null": {"$has": false}}), false),
            (json!({"gone": {"$not": "x"}}), true),
            (json!({"data": {"$contains": "alpha"}}), true),
            (json!({"data": {"text": {"$contains": "grüß"}}}), true),
            (json!({"null": null}), true),
            (json!({"gone": null}), false),
        ];
        for (pattern, expected) in table {
            assert_eq!(Pattern::new(&pattern).unwrap().fits(&frame), expected, "{pattern}");
        }
    }

    #[test]
    fn a_wrong_pattern_is_an_error_of_one_line() {
        let table = [
            (json!({"a": {"$res": "x"}}), "unknown pattern operator `$res`"),
            (json!({"$has": 1}), "invalid value of `$has`: expected a boolean"),
            (json!([{"$re": "("}]), "invalid regular expression `(`: error: unclosed group"),
        ];
        for (pattern, expected) in table {
            assert_eq!(Pattern::new(&pattern).unwrap_err().to_string(), expected);
        }
    }
}
