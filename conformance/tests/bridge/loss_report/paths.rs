//! Functions for paths in frames.

use agentese::any::Member;
use serde_json::Value;

/// Returns `true` if the path `inner` is equal to `outer` or lies within it.
pub fn is_within(outer: &str, inner: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[', '<']))
}

/// Returns `true` if a path in a frame is equal to the path of a member in the report, contains it, or lies
/// within it.
pub fn is_about(member: &Member, path: &str, body: &Value) -> bool {
    let (any, places) = without_indexes(path);
    if !is_within(&member.path, &any) && !is_within(&any, &member.path) {
        return false;
    }
    member.only.iter().all(|(path, word)| match at(body, path, &places) {
        Some(value) => value.as_str().map_or_else(|| value.to_string(), str::to_owned) == *word,
        None => true,
    })
}

/// Converts a path in an answer to the form of the report: `result` of JSON-RPC becomes `data`.
pub fn in_answer(path: &str) -> String {
    match path.strip_prefix("result") {
        Some(rest) if rest.is_empty() || rest.starts_with(['.', '[']) => format!("data{rest}"),
        _ => path.to_owned(),
    }
}

/// Replaces each index in a path with `[]`. Returns the path and the indexes.
pub fn without_indexes(path: &str) -> (String, Vec<usize>) {
    let (mut any, mut places) = (String::new(), Vec::new());
    let mut rest = path;
    while let Some((before, behind)) = rest.split_once('[') {
        let Some((place, behind)) = behind.split_once(']') else { break };
        any.push_str(before);
        any.push_str("[]");
        places.extend(place.parse::<usize>());
        rest = behind;
    }
    any.push_str(rest);
    (any, places)
}

/// Returns the value at a path. `places` contains an index for each `[]` of the path. Returns `None` if there
/// are too few indexes.
pub fn at<'a>(body: &'a Value, path: &str, places: &[usize]) -> Option<&'a Value> {
    let mut places = places.iter();
    let mut found = body;
    for name in path.split('.') {
        let (name, lists) = (name.trim_end_matches("[]"), name.matches("[]").count());
        found = if name.is_empty() { found } else { found.get(name)? };
        for _ in 0..lists {
            found = found.get(places.next()?)?;
        }
    }
    Some(found)
}
