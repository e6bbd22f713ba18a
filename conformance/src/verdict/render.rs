//! Text of a difference: earlier frames, the expected frame and the found frame, with marks around the
//! difference.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use agentese::types::Direction;
use serde_json::value::RawValue;

use super::{LineExcerpt, Mismatch};

/// Maximum displayed length of a line without a mark, in characters.
const LINE: usize = 200;
/// Number of displayed characters on each side of a mark.
const AROUND: usize = 40;
/// Maximum number of displayed characters between the marks.
const MARKED: usize = 160;

/// Formats a difference as several lines of at most about 300 characters. The lines are: the description, the
/// path, the earlier frames, and the expected and found frames. In these two, the difference is between `⟦`
/// and `⟧`.
pub fn render(mismatch: &Mismatch) -> String {
    let mut out = mismatch.message.clone();
    if !mismatch.path.is_empty() {
        let _ = write!(out, "\n  at {}", mismatch.path);
    }
    for (place, shown) in mismatch.before.iter().enumerate() {
        let title = if place == 0 { "before" } else { "" };
        let _ = write!(out, "\n  {title:<9}{}", frame(shown, &clip(&shown.line)));
    }
    let lines = marked_lines(mismatch);
    for (title, shown, line) in
        [("expected", &mismatch.expected, lines.0), ("found", &mismatch.found, lines.1)]
    {
        match shown {
            Some(shown) => {
                let _ = write!(out, "\n  {title:<9}{}", frame(shown, &line.unwrap_or_default()));
            }
            // A difference without frames is about the transcript as a whole.
            None if mismatch.expected.is_some() || mismatch.found.is_some() => {
                let _ = write!(out, "\n  {title:<9}nothing");
            }
            None => {}
        }
    }
    out
}

fn frame(shown: &LineExcerpt, line: &str) -> String {
    let arrow = match shown.dir {
        Direction::C2s => "→",
        Direction::S2c => "←",
    };
    format!("{:>4} {arrow} {line}", shown.record)
}

/// Returns the expected line and the found line, with marks around the difference.
fn marked_lines(mismatch: &Mismatch) -> (Option<String>, Option<String>) {
    let lines =
        [&mismatch.expected, &mismatch.found].map(|shown| shown.as_ref().map(|shown| shown.line.as_str()));
    let parts = lines.map(|line| line.and_then(|line| locate(line, &mismatch.path)));
    // Both excerpts start at the first difference of the two values.
    let same = match (lines, &parts) {
        ([Some(expected), Some(found)], [Some(was), Some(came)]) => {
            let both = expected[was.clone()].chars().zip(found[came.clone()].chars());
            both.take_while(|(expected, found)| expected == found).count()
        }
        _ => 0,
    };
    let [expected, found] = [0, 1].map(|side| {
        let line = lines[side]?;
        Some(parts[side].clone().map_or_else(|| clip(line), |part| marked(line, part, same)))
    });
    (expected, found)
}

/// Returns an excerpt of the line, with marks around `part`. If both values start with the same `same`
/// characters, that beginning is shortened.
fn marked(line: &str, part: Range<usize>, same: usize) -> String {
    let value = &line[part.clone()];
    let skipped = same.saturating_sub(AROUND);
    let mut value: String = value.chars().skip(skipped).collect();
    if skipped > 0 {
        value.insert(0, '…');
    }
    if value.chars().count() > MARKED {
        value = value.chars().take(MARKED).chain(['…']).collect();
    }
    let (before, after) = (&line[..part.start], &line[part.end..]);
    let hidden = before.chars().count().saturating_sub(AROUND);
    let mut out: String = before.chars().skip(hidden).collect();
    if hidden > 0 {
        out.insert(0, '…');
    }
    let _ = write!(out, "⟦{value}⟧");
    out.extend(after.chars().take(AROUND));
    if after.chars().count() > AROUND {
        out.push('…');
    }
    out
}

fn clip(line: &str) -> String {
    if line.chars().count() <= LINE {
        return line.to_owned();
    }
    line.chars().take(LINE).chain(['…']).collect()
}

/// Members of an envelope that contain the event. A path may start inside them.
const ENVELOPES: [&str; 2] = ["event", "params"];

/// Returns the byte range of the value at a path. If the value is missing, returns the range of the innermost
/// value on the path.
fn locate(line: &str, path: &str) -> Option<Range<usize>> {
    if path.is_empty() {
        return None;
    }
    let steps = steps(path);
    let whole: &RawValue = serde_json::from_str(line).ok()?;
    let bodies = ENVELOPES.iter().filter_map(|name| member(whole.get(), name));
    let bodies: Vec<&str> = std::iter::once(whole.get()).chain(bodies).collect();
    let found = bodies.into_iter().map(|body| descend(body, &steps)).max_by_key(|(depth, _)| *depth);
    let (depth, value) = found?;
    if depth == 0 {
        return None;
    }
    // The parsed value borrows from the line, so its address gives its position.
    let start = value.as_ptr() as usize - line.as_ptr() as usize;
    Some(start..start + value.len())
}

fn descend<'l>(mut value: &'l str, steps: &[Cow<'_, str>]) -> (usize, &'l str) {
    for (depth, step) in steps.iter().enumerate() {
        let next = match step.strip_prefix('[').and_then(|step| step.strip_suffix(']')) {
            Some(index) => index.parse().ok().and_then(|index: usize| element(value, index)),
            None => member(value, step),
        };
        match next {
            Some(next) => value = next,
            None => return (depth, value),
        }
    }
    (steps.len(), value)
}

fn member<'l>(value: &'l str, name: &str) -> Option<&'l str> {
    let members: std::collections::HashMap<Cow<'l, str>, &'l RawValue> = serde_json::from_str(value).ok()?;
    members.get(name).map(|value| value.get())
}

fn element(value: &str, index: usize) -> Option<&str> {
    let elements: Vec<&RawValue> = serde_json::from_str(value).ok()?;
    elements.get(index).map(|value| value.get())
}

/// Splits a path: `a.b[0].c` becomes `a`, `b`, `[0]`, `c`.
fn steps(path: &str) -> Vec<Cow<'_, str>> {
    let mut steps = Vec::new();
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let (name, indices) = part.split_at(part.find('[').unwrap_or(part.len()));
        if !name.is_empty() {
            steps.push(Cow::Borrowed(name));
        }
        let indices = indices.split_inclusive(']').filter(|index| !index.is_empty());
        steps.extend(indices.map(Cow::Borrowed));
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_in_the_line_and_in_envelopes() {
        let of = |line: &str, path: &str| locate(line, path).map(|part| line[part].to_owned());
        let line = r#"{"a": {"b": [1, {"c": "x\"y"}]}, "e": null}"#;
        assert_eq!(of(line, "a.b[1].c").as_deref(), Some(r#""x\"y""#));
        assert_eq!(of(line, "a.b[0]").as_deref(), Some("1"));
        assert_eq!(of(line, "a.b[7].c").as_deref(), Some(r#"[1, {"c": "x\"y"}]"#));
        assert_eq!(of(line, "gone"), None);
        assert_eq!(of(line, ""), None);
        assert_eq!(of("no json", "a"), None);
        assert_eq!(of(r#"{"type":"event","event":{"a":2}}"#, "a").as_deref(), Some("2"));
    }

    #[test]
    fn long_values_are_shown_from_their_first_difference() {
        let long = |end: &str| format!(r#"{{"text":"{}{end}"}}"#, "x".repeat(1000));
        let shown = |line: String| Some(LineExcerpt { record: 1, dir: Direction::S2c, line });
        let mismatch = Mismatch {
            message: "the texts differ".to_owned(),
            path: "text".to_owned(),
            expected: shown(long("one")),
            found: shown(long("two")),
            before: Vec::new(),
        };
        let text = render(&mismatch);
        assert!(text.contains("one\"⟧}") && text.contains("two\"⟧}"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() < 300), "{text}");
    }
}
