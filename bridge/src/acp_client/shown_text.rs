//! Texts of the agent as a question or a result shows them: without hidden characters, and bounded.

use agentese_process::sanitize;
use serde_json::Value;

/// The maximum number of characters of a name, a path, a title or a line of a diff.
pub(super) const MAX_LINE: usize = 1_000;

/// Numbers of successive blank lines, and of blank characters in a line, from which a note replaces them. Otherwise they
/// could push the remainder of a command out of sight.
const MIN_BLANK_LINES: usize = 5;
const MIN_BLANKS: usize = 40;

/// Returns a value of the arguments as text. A text is returned as it is, any other value as JSON.
pub(super) fn value_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns a number with the name of what is counted, such as `1 line` and `2 lines`.
pub(super) fn counted(count: usize, name: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {name}{plural}")
}

/// Returns a text after its label: on the same line, or indented below it if it has several lines.
pub(super) fn labelled(label: &str, text: &str) -> String {
    match text.contains('\n') {
        true => format!("{label}:\n{}", indented(text)),
        false => format!("{label}: {text}"),
    }
}

/// Returns a text with each line indented.
pub(super) fn indented(text: &str) -> String {
    text.split('\n').map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// Returns a text without hidden characters: they are escaped. Line ends remain. Notes replace long blank parts.
pub(super) fn shown_text(text: &str) -> String {
    let text = sanitize::sanitize(text).replace('\u{2028}', "\\u{2028}").replace('\u{2029}', "\\u{2029}");
    let lines: Vec<&str> = text.split('\n').collect();
    let mut shown = Vec::new();
    for run in lines.chunk_by(|one, next| is_blank_line(one) == is_blank_line(next)) {
        match is_blank_line(run[0]) && run.len() >= MIN_BLANK_LINES {
            true => shown.push(format!("[{}]", counted(run.len(), "blank line"))),
            false => shown.extend(run.iter().map(|line| without_padding(line))),
        }
    }
    shown.join("\n")
}

/// Returns `true` for a character that is drawn as a space.
fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\u{2800}'
}

fn is_blank_line(line: &str) -> bool {
    line.chars().all(is_blank)
}

/// Returns a line with notes in place of long blank parts.
fn without_padding(line: &str) -> String {
    let characters: Vec<char> = line.chars().collect();
    let runs = characters.chunk_by(|one, next| is_blank(*one) == is_blank(*next));
    let shown = runs.map(|run| match is_blank(run[0]) && run.len() >= MIN_BLANKS {
        true => format!("[{}]", counted(run.len(), "space")),
        false => run.iter().collect(),
    });
    shown.collect()
}

/// Returns the beginning of a line, escaped by `escape`, and `true` if it is cut. A note stands for the remainder.
pub(super) fn shortened_line(line: &str, max: usize, escape: impl Fn(&str) -> String) -> (String, bool) {
    match line.char_indices().nth(max) {
        Some((at, _)) => {
            let (head, rest) = line.split_at(at);
            (format!("{} [{} more characters are not shown]", escape(head), rest.chars().count()), true)
        }
        None => (escape(line), false),
    }
}
