//! Listing of the lines of a case, for users. `->` marks a line to the agent, `<-` a line from it, and `--`
//! an event that is not a line.

use std::fmt::Write as _;

use agentese::types::{Direction, TranscriptRecord};

use crate::recording::Recording;
use crate::transcript::whole_line;

/// Formats the name of the case, and a line for each record.
pub fn frame_listing(recording: &Recording) -> String {
    let mut out = String::new();
    if let Some(name) = recording.header.scenario.as_option() {
        let _ = writeln!(out, "{name}");
    }
    for record in &recording.records {
        let _ = match record {
            TranscriptRecord::Line(line) => {
                let arrow = if line.dir == Direction::C2s { "->" } else { "<-" };
                writeln!(out, "  {arrow} {}", plain(&whole_line(line).unwrap_or_default()))
            }
            TranscriptRecord::Control(control) => {
                let code = control.code.as_option().map(|code| format!(" {code}")).unwrap_or_default();
                let more = [control.text.as_ref(), control.stderr.as_option()];
                let more = more.into_iter().flatten().map(|more| more.trim()).filter(|more| !more.is_empty());
                let more: String = more.map(|more| format!(": {}", plain(more))).collect();
                writeln!(out, "  -- {}{code}{more}", control.event)
            }
            TranscriptRecord::Note(note) => writeln!(out, "  -- {}", plain(note.line.trim_end())),
            TranscriptRecord::Header(_) => Ok(()),
        };
    }
    out.push('\n');
    out
}

/// Replaces control characters, and indents all lines but the first.
fn plain(text: &str) -> String {
    let plain = |character: char| if character.is_control() { '\u{fffd}' } else { character };
    text.replace('\n', "\n     ")
        .split('\n')
        .map(|line| line.chars().map(plain).collect())
        .collect::<Vec<String>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_listing_has_lines_of_both_sides_and_events() {
        let record = |record| serde_json::from_value(record).unwrap();
        let recording = Recording {
            header: record(json!({"transcript": 1, "agent": "a", "scenario": "one"})),
            records: [
                json!({"t": 1, "dir": "c2s", "line": "{}"}),
                json!({"t": 2, "dir": "s2c", "line": "{\"a\":\u{1b}1}"}),
                json!({"dir": "ctl", "event": "exit", "code": 3, "stderr": "one\ntwo\n"}),
            ]
            .into_iter()
            .map(|it| serde_json::from_value(it).unwrap())
            .collect(),
        };
        let wanted = "one\n  -> {}\n  <- {\"a\":\u{fffd}1}\n  -- exit 3: one\n     two\n\n";
        assert_eq!(frame_listing(&recording), wanted);
    }
}
