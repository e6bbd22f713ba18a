//! Paths into values, as in `message.content.0.text`: names of members and indexes of arrays, separated by
//! dots. `[]` is every element of an array, `NAME=VALUE` is the first element whose member `NAME` is the text
//! `VALUE`.

use serde_json::Value;

/// Returns the value at a path without `[]`, or `None` if there is no value.
pub fn get<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, part| match value {
        Value::Array(items) => match part.split_once('=') {
            Some((name, text)) => items.iter().find(|item| item[name] == text),
            None => part.parse::<usize>().ok().and_then(|at| items.get(at)),
        },
        value => value.get(part),
    })
}

/// Returns all values at a path.
pub(super) fn all<'a>(value: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut found = vec![value];
    for part in path.split('.') {
        let name = part.trim_end_matches("[]");
        found = found.into_iter().filter_map(|value| value.get(name)).collect();
        if part.ends_with("[]") {
            found = found.into_iter().filter_map(Value::as_array).flatten().collect();
        }
    }
    found
}

/// Changes all values at a path.
pub(super) fn change(value: &mut Value, path: &str, change: &mut dyn FnMut(&mut Value)) {
    let (part, rest) = match path.split_once('.') {
        Some((part, rest)) => (part, Some(rest)),
        None => (path, None),
    };
    let Some(found) = value.get_mut(part.trim_end_matches("[]")) else { return };
    let mut each = |value: &mut Value| match rest {
        Some(rest) => self::change(value, rest, change),
        None => change(value),
    };
    if part.ends_with("[]") {
        found.as_array_mut().into_iter().flatten().for_each(each);
    } else {
        each(found);
    }
}

/// Copies a value, leaving out the members at the given paths.
pub(super) fn without(value: &Value, paths: &[&str]) -> Value {
    if paths.is_empty() {
        return value.clone();
    }
    let Value::Object(members) = value else { return value.clone() };
    let kept = members.iter().filter(|(name, _)| !paths.contains(&name.as_str()));
    let kept = kept.map(|(name, value)| {
        let below: Vec<&str> =
            paths.iter().filter_map(|path| path.strip_prefix(name.as_str())?.strip_prefix('.')).collect();
        (name.clone(), without(value, &below))
    });
    Value::Object(kept.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_reach_members_and_elements() {
        let value = json!({"a": {"b": [{"c": 1}, {"c": 2}, {"d": 3}]}, "e": "f"});
        assert_eq!(get(&value, "e"), Some(&json!("f")));
        assert_eq!(get(&value, "a.x"), None);
        assert_eq!(get(&value, "a.b.1.c"), Some(&json!(2)));
        let named = json!({"list": [{"kind": "x", "id": 1}, {"kind": "y", "id": 2}]});
        assert_eq!(get(&named, "list.kind=y.id"), Some(&json!(2)));
        assert_eq!(get(&named, "list.kind=z.id"), None);
        assert_eq!((get(&value, "a.b.3"), get(&value, "a.b.c")), (None, None));
        assert_eq!(all(&value, "a.b[].c"), [&json!(1), &json!(2)]);
        assert_eq!(without(&value, &["a.b"]), json!({"a": {}, "e": "f"}));
        let mut changed = value.clone();
        change(&mut changed, "a.b[].c", &mut |value| *value = json!(0));
        assert_eq!(changed, json!({"a": {"b": [{"c": 0}, {"c": 0}, {"d": 3}]}, "e": "f"}));
    }
}
