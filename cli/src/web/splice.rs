//! Edits of one member in the text of a JSON object. All other bytes stay unchanged.

use agentese::scan;

/// Replaces the value of every occurrence of a member, and returns the new text. Returns `None` if the member
/// is absent. Values are raw JSON.
pub(super) fn replaced(text: &str, name: &str, value: &str) -> Option<String> {
    let places = value_ranges(text, name);
    if places.is_empty() {
        return None;
    }
    let (mut out, mut at) = (String::with_capacity(text.len() + value.len()), 0);
    for (start, end) in places {
        out.push_str(&text[at..start]);
        out.push_str(value);
        at = end;
    }
    out.push_str(&text[at..]);
    Some(out)
}

/// Returns the text with the member added as the first one.
pub(super) fn inserted(text: &str, name: &str, value: &str) -> String {
    let Some((before, after)) = text.split_once('{') else { return text.to_owned() };
    let comma = if after.trim_start().starts_with('}') { "" } else { "," };
    format!("{before}{{\"{name}\":{value}{comma}{after}")
}

/// Returns the text without the member.
pub(super) fn removed(text: &str, name: &str) -> String {
    let mut kept = Vec::new();
    let whole = scan::members(text, |key, value| {
        if !scan::is_named(key, name) {
            kept.push(format!("\"{key}\":{value}"));
        }
    });
    if whole.is_err() { text.to_owned() } else { format!("{{{}}}", kept.join(",")) }
}

/// Returns the byte ranges of all values of the member.
fn value_ranges(text: &str, name: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let _ = scan::members(text, |key, value| {
        if scan::is_named(key, name) {
            let start = value.as_ptr() as usize - text.as_ptr() as usize;
            found.push((start, start + value.len()));
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_value_is_replaced() {
        assert_eq!(
            replaced(r#"{ "id" : 1, "x":{"id":2} }"#, "id", r#""a""#).unwrap(),
            r#"{ "id" : "a", "x":{"id":2} }"#
        );
        assert_eq!(replaced(r#"{"id":1,"id":{"b":[2]}}"#, "id", "9").unwrap(), r#"{"id":9,"id":9}"#);
        assert_eq!(replaced(r#"{"x":1}"#, "id", "9"), None);
    }

    #[test]
    fn a_member_is_inserted_and_removed() {
        assert_eq!(inserted(r#" {"x":1}"#, "id", "9"), r#" {"id":9,"x":1}"#);
        assert_eq!(inserted("{ }", "id", "9"), r#"{"id":9 }"#);
        assert_eq!(removed(r#"{"id":9,"x":{"id":1}}"#, "id"), r#"{"x":{"id":1}}"#);
    }
}
