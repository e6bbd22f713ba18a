//! Paths into frames, as `message.content.0.text`.

use serde_json::Value;

/// The value at a path; none where there is nothing.
pub(crate) fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, part| match value {
        Value::Array(items) => part.parse::<usize>().ok().and_then(|at| items.get(at)),
        value => value.get(part),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_through_objects_and_arrays() {
        let value = json!({"a": [{"b": 1}, null]});
        for (path, wanted) in
            [("a.0.b", Some(json!(1))), ("a.1", Some(json!(null))), ("a.2", None), ("a.b", None)]
        {
            assert_eq!(at(&value, path), wanted.as_ref(), "{path}");
        }
    }
}
