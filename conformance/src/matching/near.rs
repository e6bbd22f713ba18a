//! Near misses: frames that fit a pattern except for one member.

use serde_json::Value;

use super::difference::{Difference, Weight, clipped};
use super::pattern::Pattern;

/// Returns the difference from a pattern, if it is the only one and at least one member fits. Otherwise
/// returns `None`.
pub(crate) fn near_miss(pattern: &Value, frame: &Value) -> Option<Difference> {
    let mut leaves = Vec::new();
    collect_leaves(pattern, Some(frame), &mut String::new(), &mut leaves);
    let (wrong, right): (Vec<_>, Vec<_>) = leaves.into_iter().partition(|leaf| !leaf.fits);
    match wrong.as_slice() {
        [one] if !right.is_empty() => Some(one.difference()),
        _ => None,
    }
}

/// Returns the first difference from a pattern.
pub(crate) fn first_difference(pattern: &Value, frame: &Value) -> Option<Difference> {
    let mut leaves = Vec::new();
    collect_leaves(pattern, Some(frame), &mut String::new(), &mut leaves);
    leaves.into_iter().find(|leaf| !leaf.fits).map(|wrong| wrong.difference())
}

struct Leaf<'v> {
    path: String,
    wanted: &'v Value,
    found: Option<&'v Value>,
    fits: bool,
}

impl Leaf<'_> {
    fn difference(&self) -> Difference {
        Difference::new(Weight::Case, &self.path, self.message())
    }

    /// Describes the difference, as in "`id` is \"R1\", expected \"r1\"".
    fn message(&self) -> String {
        let place = if self.path.is_empty() { "it".to_owned() } else { format!("`{}`", self.path) };
        match self.found {
            None => format!("{place} is missing, expected {}", value_text(self.wanted)),
            Some(found) => format!("{place} is {}, expected {}", value_text(found), value_text(self.wanted)),
        }
    }
}

fn collect_leaves<'v>(
    pattern: &'v Value,
    found: Option<&'v Value>,
    path: &mut String,
    leaves: &mut Vec<Leaf<'v>>,
) {
    match pattern {
        Value::Object(members) if !members.keys().any(|name| name.starts_with('$')) => {
            for (name, inner) in members {
                let length = path.len();
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
                collect_leaves(inner, found.and_then(|found| found.get(name)), path, leaves);
                path.truncate(length);
            }
        }
        wanted => {
            let fits = |value| Pattern::new(wanted).is_ok_and(|pattern| pattern.fits(value));
            let absent = || wanted.get("$has") == Some(&Value::Bool(false));
            let fits = found.map_or_else(absent, fits);
            leaves.push(Leaf { path: path.clone(), wanted, found, fits });
        }
    }
}

fn value_text(value: &Value) -> String {
    clipped(&value.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_member_that_differs_is_named() {
        let wanted = json!({"type": "response", "id": "r1"});
        let table = [
            (json!({"type": "response", "id": "R1"}), Some("`id` is \"R1\", expected \"r1\"")),
            (json!({"type": "response"}), Some("`id` is missing, expected \"r1\"")),
            (json!({"type": "response", "id": "r1"}), None),
            (json!({"type": "event", "id": "R1"}), None),
        ];
        for (frame, expected) in table {
            let says = near_miss(&wanted, &frame).map(|it| it.message);
            assert_eq!(says.as_deref(), expected, "{frame}");
        }
        let nested =
            near_miss(&json!({"type": "u", "e": {"kind": "d"}}), &json!({"type": "u", "e": {"kind": 1}}));
        assert_eq!(nested.map(|it| it.message).as_deref(), Some("`e.kind` is 1, expected \"d\""));
        let both = first_difference(&json!({"a": 1, "b": {"c": 2}}), &json!({"a": 1, "b": {"c": 3}}));
        let wanted_both = ("b.c".to_owned(), "`b.c` is 3, expected 2".to_owned());
        assert_eq!(both.map(|it| (it.path, it.message)), Some(wanted_both));
        assert_eq!(first_difference(&wanted, &wanted), None);
        // No other member indicates that this is the same frame.
        assert_eq!(near_miss(&json!({"type": "a"}), &json!({"type": "b"})), None);
    }
}
