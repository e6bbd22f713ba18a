//! The text of a permission question: the tool, its arguments, its changes of files, and its title.
//!
//! The title alone proves nothing: with some agents it is a description by the model. Each part is bounded. A note
//! stands for each text that is cut, and the second line then states that not everything is shown. Lines of the agent
//! are indented, so they cannot look like a part of their own.

use agentese::acp::{AcpContentBlock, AcpToolContent};
use agentese_process::sanitize;
use serde::Serialize;
use serde_json::Value;

use super::call_details::{CallDetails, content_text};
use super::shown_diff::ShownDiff;
use super::shown_text::{MAX_LINE, indented, labelled, shortened_line, shown_text, value_text};

/// The maximum number of characters of a value. Of a longer one, the beginning and the end are shown.
const MAX_VALUE: usize = 8_000;

/// The number of arguments, diffs and other parts that are shown with all their text.
const MAX_FULL: usize = 20;

/// The maximum number of characters of each further value.
const MAX_FURTHER_VALUE: usize = 200;

/// The maximum number of arguments, of diffs and of other parts.
const MAX_PARTS: usize = 400;

/// Returns the question about a call.
pub(super) fn permission_text(call: &CallDetails) -> String {
    let mut question = Question::default();
    let heading = question.heading(call);
    let diffs: Vec<ShownDiff<'_>> = call.diffs().map(ShownDiff::new).collect();
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
        match (call.known_name().as_deref(), call.kind()) {
            (None, _) => "Allow a call of an unnamed tool?".to_owned(),
            (Some(name), Some(kind)) if kind != name => {
                format!("Allow {} ({})?", self.line(name), self.line(kind))
            }
            (Some(name), _) => format!("Allow {}?", self.line(name)),
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
                Some(diff) => format!("{name}: (in the change of {})", self.line(diff.path())),
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
            let (heading, is_cut) = diff.heading();
            self.is_cut |= is_cut || diff.is_cut || at >= MAX_FULL;
            self.parts.push(match at < MAX_FULL {
                true => diff.text(),
                false => format!("{heading} [its lines are not shown]"),
            });
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

#[cfg(test)]
mod tests;
