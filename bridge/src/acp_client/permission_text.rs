//! The text of a permission question: the tool, its arguments, its changes of files, and its title.
//!
//! The title alone proves nothing: with some agents it is a description by the model. Each part is bounded. A note
//! stands for each text that is cut, and the second line then states that not everything is shown. Lines of the agent
//! are indented, so they cannot look like a part of their own.

use std::time::Duration;

use agentese::acp::{AcpContentBlock, AcpDiff, AcpToolContent};
use agentese_process::sanitize;
use serde::Serialize;
use serde_json::Value;
use similar::{Algorithm, ChangeTag, TextDiff};

use super::call_details::{CallDetails, content_text};

/// The maximum number of characters of a value. Of a longer one, the beginning and the end are shown.
const MAX_VALUE: usize = 8_000;

/// The maximum number of characters of a name, a path, a title or a line of a diff.
const MAX_LINE: usize = 1_000;

/// The number of arguments, diffs and other parts that are shown with all their text.
const MAX_FULL: usize = 20;

/// The maximum number of characters of each further value.
const MAX_FURTHER_VALUE: usize = 200;

/// The maximum number of arguments, of diffs and of other parts.
const MAX_PARTS: usize = 400;

/// The maximum number of successive removed lines, and of successive added ones. Of more lines, the first and the last
/// are shown.
const MAX_REMOVED: usize = 40;
const MAX_ADDED: usize = 120;

/// The maximum number of lines of a diff.
const MAX_DIFF_LINES: usize = 400;

/// The number of unchanged lines before and after a change.
const CONTEXT_LINES: usize = 2;

/// Time limit for comparing two texts. After it, the diff is coarse.
const DIFF_TIMEOUT: Duration = Duration::from_millis(200);

/// Numbers of successive blank lines, and of blank characters in a line, from which a note replaces them. Otherwise they
/// could push the remainder of a command out of sight.
const MIN_BLANK_LINES: usize = 5;
const MIN_BLANKS: usize = 40;

/// Returns the question about a call.
pub(super) fn permission_text(call: &CallDetails) -> String {
    let mut question = Question::default();
    let heading = question.heading(call);
    let diffs: Vec<ShownDiff<'_>> = call.content().iter().filter_map(diff).map(ShownDiff::new).collect();
    question.push_arguments(call, &diffs);
    question.push_diffs(&diffs);
    question.push_contents(call.content());
    question.push_locations(call);
    if question.parts.is_empty() {
        question.parts.push("The agent did not say what the call does.".to_owned());
    }
    if let Some(title) = call.title() {
        let title = question.line(title);
        question.parts.push(format!("Title from the agent: {title}"));
    }
    let warning = question.is_cut.then(|| "Not everything is shown; see the notes in brackets.".to_owned());
    let lines: Vec<String> = [heading].into_iter().chain(warning).chain(question.parts).collect();
    lines.join("\n")
}

/// The parts of a question.
#[derive(Debug, Default)]
struct Question {
    parts: Vec<String>,
    /// `true` if a text of the agent is cut or left out.
    is_cut: bool,
}

impl Question {
    /// Returns the first line.
    fn heading(&mut self, call: &CallDetails) -> String {
        match (call.tool_name(), call.kind()) {
            ("", _) => "Allow a call of an unnamed tool?".to_owned(),
            (name, Some(kind)) if kind != name => {
                format!("Allow {} ({})?", self.line(name), self.line(kind))
            }
            (name, _) => format!("Allow {}?", self.line(name)),
        }
    }

    /// Adds the arguments of a call, each with its name. A text that a diff shows is named but not repeated.
    fn push_arguments(&mut self, call: &CallDetails, diffs: &[ShownDiff<'_>]) {
        let Some(arguments) = call.raw_arguments() else { return };
        let Value::Object(arguments) = arguments else {
            let text = self.value(&value_text(arguments), MAX_VALUE);
            return self.parts.push(labelled("Arguments", &text));
        };
        let mut lines = Vec::new();
        for (at, (name, value)) in arguments.iter().take(MAX_PARTS).enumerate() {
            let max = if at < MAX_FULL { MAX_VALUE } else { MAX_FURTHER_VALUE };
            let name = self.bounded_line(name, max.min(MAX_LINE));
            let shown =
                diffs.iter().take(MAX_FULL).find(|diff| value.as_str().is_some_and(|text| diff.shows(text)));
            lines.push(match shown {
                Some(diff) => format!("{name}: (in the change of {})", self.line(&diff.diff.path)),
                None => labelled(&name, &self.value(&value_text(value), max)),
            });
        }
        lines.extend(self.left_out(arguments.len(), "argument"));
        if !lines.is_empty() {
            self.parts.push(format!("Arguments:\n{}", indented(&lines.join("\n"))));
        }
    }

    fn push_diffs(&mut self, diffs: &[ShownDiff<'_>]) {
        for (at, diff) in diffs.iter().take(MAX_PARTS).enumerate() {
            let verb = if diff.diff.old_text.as_option().is_some() { "Change of" } else { "New content of" };
            let path = self.line(&diff.diff.path);
            let (removed, added) = (counted(diff.removed, "line"), counted(diff.added, "line"));
            let heading = format!("{verb} {path}: {removed} removed, {added} added");
            if at < MAX_FULL {
                self.is_cut |= diff.is_cut;
                self.parts.push([&[heading][..], &diff.lines].concat().join("\n"));
            } else {
                self.is_cut = true;
                self.parts.push(format!("{heading} [its lines are not shown]"));
            }
        }
        let left_out = self.left_out(diffs.len(), "change");
        self.parts.extend(left_out);
    }

    /// Adds all content that is no diff.
    fn push_contents(&mut self, content: &[AcpToolContent]) {
        let contents: Vec<(String, String)> = content.iter().filter_map(content_part).collect();
        for (at, (label, text)) in contents.iter().take(MAX_PARTS).enumerate() {
            let max = if at < MAX_FULL { MAX_VALUE } else { MAX_FURTHER_VALUE };
            let (label, text) = (self.line(label), self.value(text, max));
            self.parts.push(labelled(&label, &text));
        }
        let left_out = self.left_out(contents.len(), "text");
        self.parts.extend(left_out);
    }

    fn push_locations(&mut self, call: &CallDetails) {
        for location in call.locations().iter().take(MAX_PARTS) {
            let line = location.line.as_option().map(|line| format!(":{line}")).unwrap_or_default();
            let path = self.line(&location.path);
            self.parts.push(format!("Location: {path}{line}"));
        }
        let left_out = self.left_out(call.locations().len(), "location");
        self.parts.extend(left_out);
    }

    /// Returns a note if there are more than [`MAX_PARTS`] things of a kind.
    fn left_out(&mut self, count: usize, name: &str) -> Option<String> {
        let left_out = count.saturating_sub(MAX_PARTS);
        self.is_cut |= left_out > 0;
        (left_out > 0).then(|| format!("[{left_out} more {name}s are not shown]"))
    }

    /// Returns a text without hidden characters. Of a text with more than `max` characters, returns the beginning and
    /// the end, with a note between them.
    fn value(&mut self, text: &str, max: usize) -> String {
        let count = text.chars().count();
        if count <= max {
            return shown_text(text);
        }
        self.is_cut = true;
        let half = max / 2;
        let head: String = text.chars().take(half).collect();
        let tail: String = text.chars().skip(count - half).collect();
        let cut = count - 2 * half;
        format!("{}\n[{cut} characters are not shown here]\n{}", shown_text(&head), shown_text(&tail))
    }

    /// Returns a text on one line, without hidden characters, cut with a note if it is long.
    fn line(&mut self, text: &str) -> String {
        self.bounded_line(text, MAX_LINE)
    }

    fn bounded_line(&mut self, text: &str, max: usize) -> String {
        let (line, is_cut) = shortened_line(text, max, |line| sanitize::sanitize_line(line).into_owned());
        self.is_cut |= is_cut;
        line
    }
}

/// A diff as the question shows it.
#[derive(Debug)]
struct ShownDiff<'a> {
    diff: &'a AcpDiff,
    lines: Vec<String>,
    /// Numbers of removed and of added lines.
    removed: usize,
    added: usize,
    is_cut: bool,
    /// `true` if all lines of the old text are shown.
    shows_old: bool,
    shows_new: bool,
}

impl<'a> ShownDiff<'a> {
    /// Compares both texts. The lines have some unchanged lines around each change.
    fn new(diff: &'a AcpDiff) -> Self {
        let old: Vec<&str> = diff.old_text.as_option().map(|text| lines(text)).unwrap_or_default();
        let new: Vec<&str> = lines(&diff.new_text);
        let compared =
            TextDiff::configure().algorithm(Algorithm::Myers).timeout(DIFF_TIMEOUT).diff_slices(&old, &new);
        let mut shown = Self {
            diff,
            lines: Vec::new(),
            removed: 0,
            added: 0,
            is_cut: false,
            shows_old: false,
            shows_new: false,
        };
        let mut unchanged = 0;
        for (at, group) in compared.grouped_ops(CONTEXT_LINES).iter().enumerate() {
            if at > 0 {
                shown.lines.push("  …".to_owned());
            }
            let changes: Vec<_> =
                group.iter().flat_map(|operation| compared.iter_changes(operation)).collect();
            for run in changes.chunk_by(|one, next| one.tag() == next.tag()) {
                let values: Vec<&str> = run.iter().map(|change| change.value()).collect();
                match run[0].tag() {
                    ChangeTag::Equal => {
                        unchanged += values.len();
                        shown.push_run(' ', &values, "unchanged", MAX_ADDED);
                    }
                    ChangeTag::Delete => {
                        shown.removed += values.len();
                        shown.push_run('-', &values, "removed", MAX_REMOVED);
                    }
                    ChangeTag::Insert => {
                        shown.added += values.len();
                        shown.push_run('+', &values, "added", MAX_ADDED);
                    }
                }
            }
        }
        if shown.lines.len() > MAX_DIFF_LINES {
            let half = MAX_DIFF_LINES / 2;
            let cut = shown.lines.len() - 2 * half;
            let note = format!("  [{cut} lines of the diff are not shown here]");
            shown.lines.splice(half..half + cut, [note]);
            shown.is_cut = true;
        }
        shown.shows_old = !shown.is_cut && shown.removed + unchanged == old.len();
        shown.shows_new = !shown.is_cut && shown.added + unchanged == new.len();
        shown
    }

    /// Adds successive lines of one kind, named by `name`. Of more than `max` lines, adds the first and the last ones.
    fn push_run(&mut self, mark: char, lines: &[&str], name: &str, max: usize) {
        let (first, last) = match lines.len() > max {
            true => (&lines[..max / 2], &lines[lines.len() - max / 2..]),
            false => (lines, &lines[lines.len()..]),
        };
        self.push_lines(mark, first);
        let cut = lines.len() - first.len() - last.len();
        if cut > 0 {
            self.is_cut = true;
            self.lines.push(format!("  [{} not shown here]", counted(cut, &format!("{name} line"))));
        }
        self.push_lines(mark, last);
    }

    fn push_lines(&mut self, mark: char, lines: &[&str]) {
        for line in lines {
            let (line, is_cut) =
                shortened_line(line.strip_suffix('\n').unwrap_or(line), MAX_LINE, shown_text);
            self.is_cut |= is_cut;
            self.lines.push(format!("  {mark} {line}"));
        }
    }

    /// Returns `true` if the lines contain the whole text.
    fn shows(&self, text: &str) -> bool {
        let is_old = self.shows_old && self.diff.old_text.as_option().is_some_and(|old| old == text);
        !text.is_empty() && (is_old || self.shows_new && self.diff.new_text == text)
    }
}

/// Returns the label and the text of content that is no diff. Returns `None` for an empty text.
fn content_part(item: &AcpToolContent) -> Option<(String, String)> {
    let content = match item {
        AcpToolContent::Diff(_) => return None,
        AcpToolContent::Content(content) => &content.content,
        other => return Some(("Content".to_owned(), json_text(other))),
    };
    let (label, text) = match content {
        AcpContentBlock::Resource(resource) => {
            let text = resource.resource.text.as_option().cloned();
            (format!("Content of {}", resource.resource.uri), text.unwrap_or_else(|| json_text(content)))
        }
        AcpContentBlock::Text(_)
        | AcpContentBlock::Image(_)
        | AcpContentBlock::Audio(_)
        | AcpContentBlock::ResourceLink(_) => ("Content".to_owned(), content_text(content)),
        other => ("Content".to_owned(), json_text(other)),
    };
    (!text.trim().is_empty()).then_some((label, text))
}

fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| format!("(not JSON: {error})"))
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

/// Returns the lines of a text with their ends.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Returns a number with the name of what is counted, such as `1 line` and `2 lines`.
fn counted(count: usize, name: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {name}{plural}")
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

/// Returns a text without hidden characters: they are escaped. Line ends remain. Notes replace long blank parts.
fn shown_text(text: &str) -> String {
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
fn shortened_line(line: &str, max: usize, escape: impl Fn(&str) -> String) -> (String, bool) {
    match line.char_indices().nth(max) {
        Some((at, _)) => {
            let (head, rest) = line.split_at(at);
            (format!("{} [{} more characters are not shown]", escape(head), rest.chars().count()), true)
        }
        None => (escape(line), false),
    }
}

#[cfg(test)]
mod tests;
