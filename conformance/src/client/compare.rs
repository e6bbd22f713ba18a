//! Comparison of the JSON that a client reported with the expected JSON.

use serde_json::{Number, Value};

/// Difference between two values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ValueDifference {
    /// Path of the difference, as in `message.content[0].text`; empty at the root.
    pub(super) path: String,
    /// Description of the difference.
    pub(super) message: String,
    /// Allowance that permits the difference; `None` if the difference is a failure.
    pub(super) allowance: Option<ValueAllowance>,
}

/// A difference that is reported but is not a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueAllowance {
    /// One value is null, the other is absent.
    NullOrAbsent,
    /// The received value is the double nearest to a number that no double can represent.
    NearestDouble,
}

impl ValueAllowance {
    /// Returns the name of the allowance in reports.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::NullOrAbsent => "null-or-absent",
            Self::NearestDouble => "nearest-double",
        }
    }
}

/// Returns the first difference that is a failure. If there is no failure, returns the first allowed
/// difference. Returns `None` if the values are equal. The order of members does not matter, and `1` equals
/// `1.0`.
pub(super) fn difference(expected: &Value, found: &Value) -> Option<ValueDifference> {
    let mut soft = None;
    walk(expected, found, "", &mut soft).or(soft)
}

fn walk(
    expected: &Value,
    found: &Value,
    path: &str,
    soft: &mut Option<ValueDifference>,
) -> Option<ValueDifference> {
    let differs = |message: String| Some(ValueDifference { path: path.to_owned(), message, allowance: None });
    match (expected, found) {
        (Value::Object(ours), Value::Object(theirs)) => {
            let names = ours.keys().chain(theirs.keys().filter(|name| !ours.contains_key(*name)));
            names.into_iter().find_map(|name| {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match (ours.get(name), theirs.get(name)) {
                    (Some(ours), Some(theirs)) => walk(ours, theirs, &path, soft),
                    (ours, theirs) => one_sided(ours, theirs, path, soft),
                }
            })
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            let pairs = ours.iter().zip(theirs).enumerate();
            let first = pairs
                .into_iter()
                .find_map(|(at, (ours, theirs))| walk(ours, theirs, &format!("{path}[{at}]"), soft));
            let lengths = (ours.len(), theirs.len());
            first.or_else(|| match lengths.0 == lengths.1 {
                true => None,
                false => differs(format!("expected {} elements, found {}", lengths.0, lengths.1)),
            })
        }
        (Value::Number(ours), Value::Number(theirs)) if same_number(ours, theirs) => None,
        (Value::Number(ours), Value::Number(theirs)) if ours.as_f64() == theirs.as_f64() => {
            let message = format!("expected {ours}, found {theirs}, which is equal as a double");
            soft.get_or_insert(ValueDifference {
                path: path.to_owned(),
                message,
                allowance: Some(ValueAllowance::NearestDouble),
            });
            None
        }
        (ours, theirs) if ours == theirs => None,
        (ours, theirs) => differs(format!("expected {}, found {}", brief(ours), brief(theirs))),
    }
}

fn one_sided(
    ours: Option<&Value>,
    theirs: Option<&Value>,
    path: String,
    soft: &mut Option<ValueDifference>,
) -> Option<ValueDifference> {
    let (value, message) = match (ours, theirs) {
        (Some(value), _) => (value, format!("missing, expected {}", brief(value))),
        (None, value) => {
            let value = value.unwrap_or(&Value::Null);
            (value, format!("unexpected value {}", brief(value)))
        }
    };
    let allowance = value.is_null().then_some(ValueAllowance::NullOrAbsent);
    let difference = ValueDifference { path, message, allowance };
    if allowance.is_some() {
        soft.get_or_insert(difference);
        return None;
    }
    Some(difference)
}

fn same_number(ours: &Number, theirs: &Number) -> bool {
    ours == theirs || (ours.is_f64() || theirs.is_f64()) && ours.as_f64() == theirs.as_f64()
}

/// Formats a value for a message, in at most 120 characters.
pub(super) fn brief(value: &Value) -> String {
    const SHOWN: usize = 120;
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_are_named_with_their_path() {
        let table = [
            (json!({"a": 1, "b": [0]}), json!({"b": [0.0], "a": 1}), None),
            (json!({"a": [{"b": 1}]}), json!({"a": [{"b": 2}]}), Some(("a[0].b", "expected 1, found 2"))),
            (json!({"a": 1}), json!({}), Some(("a", "missing, expected 1"))),
            (json!({}), json!({"b": 2}), Some(("b", "unexpected value 2"))),
            (json!([1]), json!([1, 2]), Some(("", "expected 1 elements, found 2"))),
            (json!("x"), json!(null), Some(("", "expected \"x\", found null"))),
            (
                json!(9_007_199_254_740_991_u64),
                json!(9_007_199_254_740_990_u64),
                Some(("", "expected 9007199254740991, found 9007199254740990")),
            ),
        ];
        for (expected, found, wanted) in table {
            let difference = difference(&expected, &found);
            let told = difference.as_ref().map(|it| (it.path.as_str(), it.message.as_str(), it.allowance));
            assert_eq!(told, wanted.map(|(path, message)| (path, message, None)), "{expected} {found}");
        }
    }

    #[test]
    fn null_for_absent_is_reported_without_other_differences_only() {
        let found = difference(&json!({"a": null, "b": 1}), &json!({"b": 1})).unwrap();
        assert!(found.allowance == Some(ValueAllowance::NullOrAbsent) && found.path == "a");
        let found = difference(&json!({"a": null, "b": 1}), &json!({"b": 2})).unwrap();
        assert!(found.allowance.is_none() && found.path == "b");
    }
    #[test]
    fn a_number_that_no_double_holds_may_come_as_the_nearest_one() {
        let expected = json!({"a": 9_007_199_254_740_993_u64});
        let found = difference(&expected, &json!({"a": 9_007_199_254_740_992_u64})).unwrap();
        assert_eq!((found.path.as_str(), found.allowance), ("a", Some(ValueAllowance::NearestDouble)));
        let found = difference(&expected, &json!({"a": 9_007_199_254_740_994_u64})).unwrap();
        assert_eq!(found.allowance, None, "{}", found.message);
    }
}
