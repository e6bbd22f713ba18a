//! Events of a run: text of the model on stdout, tools and notices on stderr; or all events as JSON on stdout.

use std::collections::BTreeSet;

use agentese::any::Event;
use agentese::view::{Block, Message, Role, ToolState};
use agentese_process::output;
use agentese_process::stderr::Stderr;

use crate::error::CliError;

/// Maximum length of a line about a tool, in characters.
const LINE_CHARS: usize = 200;

/// Printer of the events of one run.
pub(super) struct Printer {
    json: bool,
    /// `true` if the text of the model is printed.
    text: bool,
    /// Keys of the messages whose text has grown.
    grown: BTreeSet<String>,
    /// `true` if the last printed character is not a line end.
    in_line: bool,
    stderr: Stderr,
}

impl Printer {
    /// Creates a printer. With `json`, every event is a line of JSON. Otherwise the text of the model is printed if
    /// `text` is `true`.
    pub fn new(json: bool, text: bool, stderr: Stderr) -> Self {
        Self { json, text, grown: BTreeSet::new(), in_line: false, stderr }
    }

    /// Prints an event. Fails if stdout cannot be written.
    pub fn print(&mut self, event: &Event) -> Result<(), CliError> {
        if self.json {
            let line = serde_json::to_string(event).map_err(|error| CliError::Agent(error.to_string()))?;
            output::print_json(&format!("{line}\n"))?;
            return Ok(());
        }
        match event {
            Event::TextGrew { message, text, .. } => {
                if self.grown.insert(message.clone()) {
                    self.end()?;
                }
                self.write(text)?;
            }
            Event::MessageEnded { message } if is_unseen(message, &self.grown) => {
                self.end()?;
                self.write(&message.text())?;
            }
            _ => {
                if let Some(line) = describe(event) {
                    self.stderr.write_line(shortened(&line));
                }
            }
        }
        Ok(())
    }

    /// Ends the last line if it is not empty.
    pub fn end(&mut self) -> Result<(), CliError> {
        if self.in_line { self.write("\n") } else { Ok(()) }
    }

    fn write(&mut self, text: &str) -> Result<(), CliError> {
        if self.text && !text.is_empty() {
            output::print(text)?;
            self.in_line = !text.ends_with('\n');
        }
        Ok(())
    }
}

/// Returns `true` for a message of the model that arrived complete.
fn is_unseen(message: &Message, grown: &BTreeSet<String>) -> bool {
    message.role == Role::Assistant && !grown.contains(&message.key)
}

/// Returns the line about an event on stderr; `None` if the event has no line.
fn describe(event: &Event) -> Option<String> {
    match event {
        Event::ToolStarted { name, arguments, .. } => {
            let arguments = arguments.as_ref().map(|arguments| format!(" {arguments}")).unwrap_or_default();
            Some(format!("{name}{arguments}"))
        }
        Event::ToolEnded { name, state: ToolState::Failed, result, .. } => {
            Some(format!("{name} failed: {}", text_of(result)))
        }
        Event::NoticeAdded { notice } => Some(notice.text.clone()),
        Event::RetryStarted { retry } => Some(format!("retry {}", retry.attempt.unwrap_or_default())),
        _ => None,
    }
}

fn text_of(blocks: &[Block]) -> String {
    let text = |block: &Block| match block {
        Block::Text { text } => Some(text.clone()),
        _ => None,
    };
    blocks.iter().filter_map(text).collect()
}

/// Returns a text as one line of limited length.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LINE_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
