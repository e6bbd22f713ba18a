//! Output of responses, events and text on stdout. On a terminal, control characters are escaped.

use std::io::IsTerminal;

use agentese::spec::TextPieces;
use serde_json::{Value, json};

use super::command_line::Output;
use super::error::CallError;
use agentese_process::output;

fn write(text: &str) -> Result<(), CallError> {
    output::write(text).map_err(CallError::Stdout)
}

/// Prints JSON as one line.
pub(super) fn line(text: &str) -> Result<(), CallError> {
    output::write_json(&format!("{text}\n")).map_err(CallError::Stdout)
}

/// Prints the data of a response. Prints nothing if there is no data.
pub(super) fn answer(data: Option<&str>, output: Output) -> Result<(), CallError> {
    let Some(data) = data else { return Ok(()) };
    let value: Value = serde_json::from_str(data)
        .map_err(|error| CallError::Agent(format!("cannot parse the response: {error}")))?;
    match output {
        Output::Json if std::io::stdout().is_terminal() => line(&format!("{value:#}")),
        Output::Json => line(data),
        Output::Text => write(&text(&value)),
    }
}

/// Prints the result of a prompt as one object.
pub(super) fn run(answer: Option<&str>, text: &str) -> Result<(), CallError> {
    let answer: Value = answer.and_then(|data| serde_json::from_str(data).ok()).unwrap_or_default();
    line(&json!({ "answer": answer, "text": text }).to_string())
}

/// Formats a value as text for users: a string unchanged, any other value with one line per member or item.
pub(super) fn text(value: &Value) -> String {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match value {
        Value::Null => String::new(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| format!("{name}: {}\n", plain(value))).collect()
        }
        Value::Array(items) => items.iter().map(|item| format!("{}\n", plain(item))).collect(),
        value => format!("{}\n", plain(value)),
    }
}

/// Printer of the model's text, which grows with each event.
pub(super) struct TextPrinter {
    pieces: TextPieces,
    prints: bool,
    pub text: String,
}

impl TextPrinter {
    pub fn new(pieces: TextPieces, prints: bool) -> Self {
        TextPrinter { pieces, prints, text: String::new() }
    }

    /// Processes an event. If it contains text of the model, prints and keeps that text.
    pub fn push_event(&mut self, kind: &str, body: &str) -> Result<(), CallError> {
        // A line break separates the texts of two messages.
        if kind == self.pieces.begins && !self.text.is_empty() && !self.text.ends_with('\n') {
            self.add("\n")?;
        }
        if kind != self.pieces.event {
            return Ok(());
        }
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let more = self.pieces.of(kind, &body).concat();
        self.add(&more)
    }

    /// Ends the last line with a line feed if it is not empty.
    pub fn end(&mut self) -> Result<(), CallError> {
        if self.text.is_empty() || self.text.ends_with('\n') { Ok(()) } else { self.add("\n") }
    }

    fn add(&mut self, more: &str) -> Result<(), CallError> {
        self.text.push_str(more);
        if self.prints && !more.is_empty() { write(more) } else { Ok(()) }
    }
}
