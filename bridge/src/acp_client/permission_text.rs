//! The text of a permission question: the tool, its arguments, its changes of files, and its title.
//!
//! The title alone proves nothing: with some agents it is a description by the model. Each part is bounded, and a note
//! stands for each text that is cut. Lines of the agent are indented, so they cannot look like a part of their own.

use std::fmt::Write as _;

use agentese::acp::{AcpDiff, AcpToolContent};
use agentese_process::sanitize;
use serde_json::Value;

use super::call_details::{CallDetails, content_text};

/// The maximum number of characters of a value. Of a longer one, the beginning and the end are shown.
const MAX_VALUE: usize = 8_000;

/// The maximum number of characters of a title, a name, a path or a line of a diff.
const MAX_LINE: usize = 1_000;

/// The maximum number of arguments.
const MAX_ARGUMENTS: usize = 40;

/// The maximum number of lines and of characters of each side of a diff.
const MAX_DIFF_LINES: usize = 80;
const MAX_DIFF: usize = 8_000;

/// The maximum number of diffs, of texts and of locations.
const MAX_PARTS: usize = 10;

/// The number of unchanged lines around a change.
const CONTEXT_LINES: usize = 2;

/// Returns the question about a call.
pub(super) fn permission_text(call: &CallDetails) -> String {
    let mut text = heading(call);
    let diffs: Vec<&AcpDiff> = call.content().iter().filter_map(diff).collect();
    let mut parts = Vec::new();
    parts.extend(arguments(call, &diffs));
    parts.extend(bounded_parts(diffs.iter().map(|diff| diff_text(diff)), "changes of files"));
    let texts = call.content().iter().filter_map(|item| match item {
        AcpToolContent::Content(content) => Some(content_text(&content.content)),
        _ => None,
    });
    let texts = texts.filter(|text| !text.trim().is_empty());
    parts.extend(bounded_parts(texts.map(|text| labelled("Content", &shortened(&text))), "texts"));
    let locations = call.locations().iter().map(|location| {
        let line = location.line.as_option().map(|line| format!(":{line}")).unwrap_or_default();
        format!("Location: {}{line}", line_of(&location.path))
    });
    parts.extend(bounded_parts(locations, "locations"));
    if parts.is_empty() {
        parts.push("The agent did not say what the call does.".to_owned());
    }
    parts.extend(call.title().map(|title| format!("Title from the agent: {}", line_of(title))));
    for part in parts {
        text.push('\n');
        text.push_str(&part);
    }
    text
}

/// Returns the first line.
fn heading(call: &CallDetails) -> String {
    match (call.tool_name(), call.kind()) {
        ("", _) => "Allow a call of an unnamed tool?".to_owned(),
        (name, Some(kind)) if kind != name => format!("Allow {} ({})?", line_of(name), line_of(kind)),
        (name, _) => format!("Allow {}?", line_of(name)),
    }
}

/// Returns the arguments of a call, each with its name. Texts that a diff shows are left out.
fn arguments(call: &CallDetails, diffs: &[&AcpDiff]) -> Option<String> {
    let Value::Object(arguments) = call.raw_arguments()? else {
        return Some(labelled("Arguments", &shortened(&value_text(call.raw_arguments()?))));
    };
    let is_in_diff = |value: &Value| {
        let text = value.as_str().filter(|text| !text.is_empty());
        text.is_some_and(|text| {
            diffs
                .iter()
                .any(|diff| diff.new_text == text || diff.old_text.as_option().is_some_and(|old| old == text))
        })
    };
    let shown: Vec<_> = arguments.iter().filter(|(_, value)| !is_in_diff(value)).collect();
    let (shown, left_out) = shown.split_at(shown.len().min(MAX_ARGUMENTS));
    let mut text = String::new();
    for (name, value) in shown {
        push_line(&mut text, &labelled(&line_of(name), &shortened(&value_text(value))));
    }
    if !left_out.is_empty() {
        push_line(&mut text, &format!("[{} more arguments are not shown]", left_out.len()));
    }
    (!text.is_empty()).then(|| format!("Arguments:\n{}", indented(&text)))
}

/// Returns a value of the arguments as text. A text is returned as it is, any other value as JSON.
fn value_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn diff(item: &AcpToolContent) -> Option<&AcpDiff> {
    match item {
        AcpToolContent::Diff(diff) => Some(diff),
        _ => None,
    }
}

/// Returns the removed and the added lines of a file, with some unchanged lines around them.
fn diff_text(diff: &AcpDiff) -> String {
    let old: Vec<&str> = diff.old_text.as_option().map(|text| lines(text)).unwrap_or_default();
    let new: Vec<&str> = lines(&diff.new_text);
    let same = |(one, other): &(&&str, &&str)| one == other;
    let before = old.iter().zip(&new).take_while(same).count();
    let rest = old.len().min(new.len()) - before;
    let after = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(same).count();
    let (end, new_end) = (old.len() - after, new.len() - after);
    let (removed, added) = (&old[before..end], &new[before..new_end]);
    let verb = if diff.old_text.as_option().is_some() { "Change of" } else { "New content of" };
    let path = line_of(&diff.path);
    let mut text = format!("{verb} {path}: {} lines removed, {} lines added", removed.len(), added.len());
    push_diff_lines(&mut text, ' ', &old[before.saturating_sub(CONTEXT_LINES)..before], "unchanged");
    // Bounded apart, so that many removed lines hide no added line.
    push_diff_lines(&mut text, '-', removed, "removed");
    push_diff_lines(&mut text, '+', added, "added");
    push_diff_lines(&mut text, ' ', &old[end..end + after.min(CONTEXT_LINES)], "unchanged");
    text
}

/// Adds lines of a diff after their mark. A note stands for the lines that are too many, named by `name`.
fn push_diff_lines(text: &mut String, mark: char, lines: &[&str], name: &str) {
    let mut length = 0;
    for (at, line) in lines.iter().enumerate() {
        let line = shortened_line(line.strip_suffix('\n').unwrap_or(line), shown_text);
        length += line.chars().count();
        if at == MAX_DIFF_LINES || length > MAX_DIFF {
            let _ =
                write!(text, "\n  [the diff is cut: {} more {name} lines are not shown]", lines.len() - at);
            return;
        }
        let _ = write!(text, "\n  {mark} {line}");
    }
}

/// Returns the lines of a text with their ends.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Returns the first parts. A note stands for further parts, named by `name`.
fn bounded_parts(parts: impl Iterator<Item = String>, name: &str) -> Vec<String> {
    let mut parts: Vec<String> = parts.collect();
    let left_out = parts.len().saturating_sub(MAX_PARTS);
    parts.truncate(MAX_PARTS);
    if left_out > 0 {
        parts.push(format!("[{left_out} more {name} are not shown]"));
    }
    parts
}

/// Returns a text after its label: on the same line, or indented below it if it has several lines.
fn labelled(label: &str, text: &str) -> String {
    match text.contains('\n') {
        true => format!("{label}:\n{}", indented(text)),
        false => format!("{label}: {text}"),
    }
}

/// Returns a text with each line indented.
fn indented(text: &str) -> String {
    text.split('\n').map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

/// Returns the beginning and the end of a long text, with a note between them, without hidden characters.
fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= MAX_VALUE {
        return shown_text(text);
    }
    let half = MAX_VALUE / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    let cut = count - 2 * half;
    format!("{}\n[{cut} characters are not shown here]\n{}", shown_text(&head), shown_text(&tail))
}

/// Returns a text without hidden characters: they are escaped. Line ends remain.
fn shown_text(text: &str) -> String {
    sanitize::sanitize(text).replace('\u{2028}', "\\u{2028}").replace('\u{2029}', "\\u{2029}")
}

/// Returns a text on one line, without hidden characters, cut with a note if it is long.
fn line_of(text: &str) -> String {
    shortened_line(text, |line| sanitize::sanitize_line(line).into_owned())
}

/// Returns the beginning of a line, escaped by `escape`. A note stands for the remainder.
fn shortened_line(line: &str, escape: impl Fn(&str) -> String) -> String {
    match line.char_indices().nth(MAX_LINE) {
        Some((at, _)) => {
            let (head, rest) = line.split_at(at);
            format!("{} [{} more characters are not shown]", escape(head), rest.chars().count())
        }
        None => escape(line),
    }
}

#[cfg(test)]
mod tests;
