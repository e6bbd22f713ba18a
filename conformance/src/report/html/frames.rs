//! Lines of a case in both directions, in order.

use std::borrow::Cow;
use std::collections::BTreeSet;

use agentese::types::{Direction, TranscriptControl, TranscriptLine, TranscriptRecord};
use maud::{Markup, html};
use serde_json::Value;

use crate::recording::Recording;

/// Maximum length of a line on the page, in characters.
pub(super) const LONGEST: usize = 20_000;
/// Maximum length of the collapsed form of a line, in characters.
const PREVIEW: usize = 300;
/// Maximum length of a line in cases without a failure, in characters. The option `--transcripts` writes
/// whole lines to files.
const SHORT_LINE: usize = 60;
/// Maximum number of displayed lines of a case without a failure.
const MOST: u64 = 40;
/// Members by which a frame is described, if they are present.
const HEAD: [&str; 4] = ["type", "method", "command", "id"];

/// Returns the HTML id of a line, for links.
pub(super) fn anchor(case: usize, record: u64) -> String {
    format!("case-{case}-{record}")
}

/// Maximum number of bytes of whole lines for one case.
const WHOLE: usize = 200_000;

/// Limits the length of a text, in characters.
pub(super) fn clip(text: &str, longest: usize) -> Cow<'_, str> {
    match text.char_indices().nth(longest) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}… ({} bytes)", &text[..end], text.len())),
    }
}

/// Renders the lines and the other events of a case. If `whole` is `true`, lines are rendered whole up to a
/// limit, and lines with a failed check even beyond it. Otherwise only the beginnings of lines are rendered.
pub(super) fn frames(case: usize, recording: &Recording, blamed: &BTreeSet<u64>, whole: bool) -> Markup {
    // Notes are not numbered, because transcripts for comparisons do not contain them.
    let mut next = 0;
    let mut number = || {
        next += 1;
        next - 1
    };
    let mut is_left_out = false;
    let mut left = if whole { WHOLE } else { 0 };
    let mut is_whole = |number: u64, line: &TranscriptLine| {
        let length = line.line.as_deref().unwrap_or_default().len().min(LONGEST);
        let fits = length <= left || blamed.contains(&number);
        left = left.saturating_sub(length);
        fits && whole
    };
    html! {
        div.frames {
            @for record in &recording.records {
                @match record {
                    TranscriptRecord::Header(_) => {}
                    TranscriptRecord::Line(line) => {
                        ({
                            let number = number();
                            match is_whole(number, line) {
                                true => self::line(case, number, line, blamed),
                                false if number < MOST => short_line(case, number, line),
                                false => {
                                    is_left_out = true;
                                    html! {}
                                }
                            }
                        })
                    }
                    TranscriptRecord::Control(control) => { ({ number(); self::control(control) }) }
                    TranscriptRecord::Note(note) => { (event_markup(note.t.as_ref(), &note.line)) }
                }
            }
            @if is_left_out { div.beside { "… The transcript has all lines: `--transcripts`." } }
        }
    }
}

fn line(case: usize, number: u64, line: &TranscriptLine, blamed: &BTreeSet<u64>) -> Markup {
    let text = line.line.as_deref().unwrap_or_default();
    let (class, way) = match line.dir {
        Direction::C2s => ("c2s", "→"),
        Direction::S2c => ("s2c", "←"),
    };
    let message = match line.dir {
        Direction::C2s => "to the agent",
        Direction::S2c => "from the agent",
    };
    let preview: String = text.chars().take(PREVIEW).collect();
    html! {
        details.frame.(class).bad[blamed.contains(&number)] id=(anchor(case, number)) {
            summary {
                (time(line.t.as_ref()))
                span.way title=(message) { (way) }
                span.line { @if let Some(head) = head(text) { b { (head) } " " } span { (preview) } }
            }
            pre { (clip(text, LONGEST)) }
        }
    }
}

/// Renders the beginning of a line.
fn short_line(case: usize, number: u64, line: &TranscriptLine) -> Markup {
    let text = line.line.as_deref().unwrap_or_default();
    let way = if line.dir == Direction::C2s { "→" } else { "←" };
    let beginning: String = text.chars().take(SHORT_LINE).collect();
    html! { div.beside id=(anchor(case, number)) { (time(line.t.as_ref())) span { (way) } span { (beginning) @if beginning.len() < text.len() { "…" } } } }
}

/// Describes a frame by its identifying members.
fn head(text: &str) -> Option<String> {
    let Ok(Value::Object(members)) = serde_json::from_str(text) else { return None };
    let words = HEAD.iter().filter_map(|name| members.get(*name)).filter_map(|value| match value {
        Value::String(text) => Some(text.chars().take(60).collect()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    });
    words.reduce(|all: String, word| format!("{all} {word}"))
}

fn control(control: &TranscriptControl) -> Markup {
    let code = control.code.as_option().map(|code| format!(" {code}")).unwrap_or_default();
    let text = control.text.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
    let stderr = control.stderr.as_option().map(|text| text.trim()).filter(|text| !text.is_empty());
    let stderr = stderr.map(|text| format!("\n{text}")).unwrap_or_default();
    event_markup(control.t.as_ref(), &format!("{}{code}{text}{stderr}", control.event))
}

fn event_markup(t: Option<&serde_json::Number>, text: &str) -> Markup {
    html! { div.beside { (time(t)) span {} span { (clip(text, LONGEST)) } } }
}

fn time(t: Option<&serde_json::Number>) -> Markup {
    html! { time { @if let Some(t) = t { (t) " ms" } } }
}
