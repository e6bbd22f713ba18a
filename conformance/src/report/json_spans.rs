//! Positions of members in a line of JSON.

/// Returns the byte range of the value at a path. The path has the form of reports, as in
/// `message.content[0].text`.
///
/// If the value is missing, returns the range of the innermost object or array on the path. Paths in reports
/// omit the envelope, so the search also begins in members of the line. Returns `None` if the line is not
/// JSON.
pub(super) fn span_of(line: &str, path: &str) -> Option<(usize, usize)> {
    serde_json::from_str::<serde::de::IgnoredAny>(line).ok()?;
    let parts = parts(path);
    let first = parts.first()?;
    let begin = inside(line, 0, first).map(|_| 0).or_else(|| envelope_span(line, first))?;
    let mut at = (begin, line.len());
    for part in &parts {
        match inside(line, at.0, part) {
            Some(found) => at = found,
            None => break,
        }
    }
    Some(at)
}

/// Returns the byte position of the first object that is a member of the line and has a member with this
/// name.
fn envelope_span(line: &str, name: &str) -> Option<usize> {
    let members: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).ok()?;
    let places = members.keys().filter_map(|member| inside(line, 0, member));
    places.filter(|(from, _)| inside(line, *from, name).is_some()).map(|(from, _)| from).min()
}

/// Returns the text before a value, the value, and the text after it. Both surrounding texts have at most
/// `around` characters; `…` marks omitted text.
pub(super) fn excerpt(line: &str, (from, to): (usize, usize), around: usize) -> [String; 3] {
    let start =
        line[..from].char_indices().rev().nth(around).map(|(at, character)| at + character.len_utf8());
    let end = line[to..].char_indices().nth(around).map(|(at, _)| to + at);
    let before = match start {
        None => line[..from].to_owned(),
        Some(start) => format!("… {}", &line[start..from]),
    };
    let after = match end {
        None => line[to..].to_owned(),
        Some(end) => format!("{} …", &line[to..end]),
    };
    [before, line[from..to].to_owned(), after]
}

fn parts(path: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let mut pieces = part.split('[');
        parts.extend(pieces.next().filter(|name| !name.is_empty()).map(str::to_owned));
        parts.extend(pieces.map(|place| format!("[{}", place.trim_end_matches(']'))));
    }
    parts
}

/// Returns the byte range of a member or an element inside the value at a position.
fn inside(line: &str, from: usize, part: &str) -> Option<(usize, usize)> {
    let bytes = line.as_bytes();
    let mut at = skip(bytes, from);
    let (is_list, wanted) = match part.strip_prefix('[') {
        Some(place) => (true, place.parse::<usize>().ok()?),
        None => (false, 0),
    };
    if *bytes.get(at)? != if is_list { b'[' } else { b'{' } {
        return None;
    }
    at = skip(bytes, at + 1);
    let mut element = 0;
    while !matches!(bytes.get(at)?, b']' | b'}') {
        let mut is_it = is_list && element == wanted;
        if !is_list {
            let end = end(bytes, at)?;
            is_it = serde_json::from_str::<String>(&line[at..end]).is_ok_and(|name| name == part);
            at = skip(bytes, skip(bytes, end) + 1);
        }
        let end = end(bytes, at)?;
        if is_it {
            return Some((at, end));
        }
        at = skip(bytes, end);
        if bytes.get(at) == Some(&b',') {
            at = skip(bytes, at + 1);
        }
        element += 1;
    }
    None
}

fn skip(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// Returns the end of the value that starts at a position. The text must be valid JSON.
fn end(bytes: &[u8], from: usize) -> Option<usize> {
    let (mut at, mut depth, mut in_text) = (from, 0_usize, false);
    loop {
        match bytes.get(at)? {
            b'\\' if in_text => at += 1,
            b'"' => {
                in_text = !in_text;
                if !in_text && depth == 0 {
                    return Some(at + 1);
                }
            }
            _ if in_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                if depth <= 1 {
                    return Some(if depth == 0 { at } else { at + 1 });
                }
                depth -= 1;
            }
            b',' if depth == 0 => return Some(at),
            byte if byte.is_ascii_whitespace() && depth == 0 => return Some(at),
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_context_of_a_value_is_cut_between_characters() {
        let line = "äöü«value»ßéñ";
        let at = (line.find("value").unwrap(), line.find('»').unwrap());
        assert_eq!(excerpt(line, at, 2), ["… ü«", "value", "»ß …"]);
        assert_eq!(excerpt(line, at, 4), ["äöü«", "value", "»ßéñ"]);
    }

    #[test]
    fn members_and_elements_are_found() {
        let line = r#"{"a": {"b\"": [1, "x]", {"c": null}]}, "d":true}"#;
        let table = [
            ("a", r#"{"b\"": [1, "x]", {"c": null}]}"#),
            ("a.b\"[1]", r#""x]""#),
            ("a.b\"[2].c", "null"),
            ("d", "true"),
            ("a.none", r#"{"b\"": [1, "x]", {"c": null}]}"#),
        ];
        for (path, wanted) in table {
            let found = span_of(line, path).map(|(from, to)| &line[from..to]);
            assert_eq!(found, Some(wanted), "{path}");
        }
        assert_eq!(span_of(line, "none"), None);
        // A member of the line itself is preferred to a member of an object in the line.
        assert_eq!(span_of(r#"{"e": {"b": [7]}, "b": [8]}"#, "b[0]").map(|(from, _)| from), Some(24));
        let line = r#"{"type": "event", "event": {"b": [7]}}"#;
        assert_eq!(span_of(line, "b[0]").map(|(from, to)| &line[from..to]), Some("7"));
        assert_eq!(span_of("no json", "a"), None);
    }
}
