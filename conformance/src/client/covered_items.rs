//! Declared items that a client's run of a case covers. The `covers` of a case lists only what an agent has
//! to do.

use std::collections::BTreeSet;

use agentese::framing::FrameText;
use agentese::types::{Direction, TranscriptRecord};

use crate::decode::{LineRole, SentCommands, decode, name, record_commands};
use crate::transcript::whole_line;

/// Returns the commands that the client sent, and the events and dialogs that the agent sent. Each has the
/// notation of `covers`: `command prompt`, `event agent_end`, `dialog select`. Omits undeclared names.
pub(crate) fn covered_items(dialect: &str, records: &[TranscriptRecord]) -> Vec<String> {
    let Some((spec, decode)) = decode(dialect) else { return Vec::new() };
    let mut asked = SentCommands::default();
    let mut shown = BTreeSet::new();
    for record in records {
        let TranscriptRecord::Line(line) = record else { continue };
        let Some(text) = whole_line(line).map(FrameText::from) else { continue };
        match line.dir {
            Direction::C2s => {
                record_commands(&text, &mut asked);
                shown.extend(
                    name(&text)
                        .filter(|name| spec.command(name).is_some())
                        .map(|name| format!("command {name}")),
                );
            }
            Direction::S2c => match decode(&text, &asked) {
                Ok(LineRole::Event { name, known: true }) => {
                    shown.insert(format!("event {name}"));
                }
                Ok(LineRole::Dialog { name, known: true }) => {
                    shown.insert(format!("dialog {name}"));
                }
                _ => {}
            },
        }
    }
    shown.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use agentese::types::TranscriptLine;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_sent_items_are_covered() {
        let line = |dir: Direction, frame: Value| {
            let mut line = TranscriptLine::new(dir);
            line.line = Some(frame.to_string());
            TranscriptRecord::Line(line)
        };
        let records = [
            line(Direction::C2s, json!({"id": 1, "type": "get_state"})),
            line(Direction::C2s, json!({"id": 2, "type": "nobody_knows"})),
            line(Direction::S2c, json!({"id": 1, "type": "response", "command": "abort", "success": true})),
            line(Direction::S2c, json!({"type": "agent_start"})),
            line(Direction::S2c, json!({"type": "agent_start"})),
            line(Direction::S2c, json!({"type": "nobody_knows"})),
        ];
        assert_eq!(covered_items("pi@0.55", &records), ["command get_state", "event agent_start"]);
        assert_eq!(covered_items("nope@1", &records), [""; 0]);
    }
}
