//! Check of the time until a command is answered, for commands that no other work can delay.

use std::collections::HashMap;

use agentese::types::{CheckLevel, Direction, TranscriptRecord};
use serde_json::Value;

use super::failed;
use crate::recording::Recording;
use crate::verdict::{Finding, Outcome};

/// Maximum time in milliseconds until a read-only command is answered.
const MAX_LATENCY_MS: f64 = 5000.0;

/// Length in bytes from which a line of the client is considered slow to read.
const LONG: usize = 1 << 20;

/// Checks that the agent answers read-only commands in time, because a user may be waiting. Runs with a very
/// long line of the client are skipped, and runs in which the client stops reading.
pub(super) fn latency(dialect: &str, patience: f64, recording: &Recording) -> Option<Finding> {
    let spec = crate::spec(dialect).ok()?;
    let mut open: HashMap<String, (String, f64)> = HashMap::new();
    let mut slowest: Option<(String, f64)> = None;
    let mut is_held = false;
    let mut has_begun = false;
    for record in &recording.records {
        if let TranscriptRecord::Control(control) = record {
            is_held |= control.event == "reading_held";
            // Another process starts.
            has_begun &= control.event != "exited";
        }
        let TranscriptRecord::Line(line) = record else { continue };
        if line.dir == Direction::C2s && line.line.is_none() {
            return None;
        }
        let (Some(t), Some(text)) = (line.t.as_ref().and_then(serde_json::Number::as_f64), &line.line) else {
            continue;
        };
        let Ok(frame) = serde_json::from_str::<Value>(text) else { continue };
        let Some(id) = frame.get("id").map(Value::to_string) else { continue };
        match line.dir {
            // The measured time would include the time to read megabytes.
            Direction::C2s if text.len() > LONG => return None,
            Direction::C2s => {
                let name = frame.get("type").or_else(|| frame.get("method")).and_then(Value::as_str);
                let row = name.and_then(|name| spec.command(name)).filter(|row| row.reads && has_begun);
                open.extend(row.map(|row| (id, (row.wire.to_owned(), t))));
            }
            Direction::S2c => {
                // Commands before this point wait until the agent has started.
                has_begun = true;
                let Some((name, since)) = open.remove(&id) else { continue };
                if slowest.as_ref().is_none_or(|(_, longest)| t - since > *longest) {
                    slowest = Some((name, t - since));
                }
            }
        }
    }
    let (name, took) = slowest.filter(|_| !is_held)?;
    let limit = MAX_LATENCY_MS * patience.max(1.0);
    let outcome = match took > limit {
        true => failed(format!("the answer to `{name}`, which only reads, took {:.1} s", took / 1000.0)),
        false => Outcome::Held,
    };
    Some(Finding { check: "latency".to_owned(), level: CheckLevel::Should, outcome })
}
