//! Edges that a case covers, derived from the actions of its client.

use std::collections::BTreeSet;

use agentese::types::{Scenario, ScenarioStep};
use agentese_protocol::Index;
use agentese_protocol::dialect::Edges;
use base64::Engine as _;
use serde_json::Value;

/// Length in bytes from which a line is considered long.
const LONG: usize = 10_000;

type EdgeCheck = fn(&ClientInput, &Index) -> bool;

/// The edges, each with a check that a case covers it. Some edges have a rule in the declaration; the others
/// are the same in every dialect.
pub const EDGES: &[(&str, EdgeCheck)] = &[
    ("unknown_command", |written, index| {
        written.commands().any(|name| index.commands.iter().all(|row| name.as_deref() != Some(row.wire)))
    }),
    // Some agents report a missing member as an unreadable line. The answer is the same.
    ("parse_failure", |written, index| {
        let answer = index.revision.edges.parse_command;
        written.lines().any(|line| !is_object(line)) || !answer.is_empty() && written.answers.contains(answer)
    }),
    ("handler_failure", |written, _| written.failures > 0),
    ("blank_line", |written, _| written.lines().any(|line| line.trim_ascii().is_empty())),
    ("byte_order_mark", |written, _| written.has("\u{feff}".as_bytes())),
    ("end_of_input", |written, _| written.closes),
    ("partial_line", |written, _| written.bytes.last().is_some_and(|byte| *byte != b'\n') || written.parts),
    ("long_line", |written, _| written.long || written.lines().any(|line| line.len() >= LONG)),
    ("signal", |written, _| written.signals),
    ("unicode_separators", |written, _| {
        written.has("\u{2028}".as_bytes()) || written.has("\u{2029}".as_bytes())
    }),
    ("crlf", |written, _| written.has(b"\r\n")),
    ("split_character", |written, _| written.splits),
    ("two_objects", |written, _| written.has(b"}{") || written.has(b"} {")),
    ("interleaved_writes", |written, _| written.pieces),
    ("slow_reader", |written, _| written.holds),
];

/// Returns the edges that have a rule in the declaration. The pattern names all fields, so that a new rule
/// causes a compile error here.
pub fn of_rules(edges: &Edges) -> BTreeSet<&'static str> {
    let Edges {
        unknown_command_echoes_id: _,
        unknown_command_text: _,
        handler_failure: _,
        parse_prefix: _,
        parse_command: _,
        blank_line_is_error: _,
        unfinished_line_counts: _,
        // Rules about members of answers, which every case with an answer covers.
        empty_data: _,
        response_order: _,
        end_of_input: _,
        // Rule that only clients follow, so no case for agents covers it.
        bare_events: _,
        longest_command: _,
    } = edges;
    ["unknown_command", "handler_failure", "parse_failure", "blank_line", "byte_order_mark", "end_of_input"]
        .into()
}

/// The client's input in a case, and its other actions.
#[derive(Default)]
pub struct ClientInput {
    bytes: Vec<u8>,
    failures: usize,
    /// Names of the commands in failed answers.
    answers: BTreeSet<String>,
    /// `true` if the client sends a line without its line feed, or in several writes.
    parts: bool,
    long: bool,
    splits: bool,
    pieces: bool,
    closes: bool,
    signals: bool,
    holds: bool,
}

impl ClientInput {
    /// Collects the actions of a case. `received` contains the recorded or expected frames.
    pub fn of(case: &Scenario, received: &str) -> Self {
        let frames = received.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let failed: Vec<Value> =
            frames.filter(|frame| frame["success"] == false || frame.get("error").is_some()).collect();
        let answers =
            failed.iter().filter_map(|frame| frame["command"].as_str().map(str::to_owned)).collect();
        let mut written = Self { failures: failed.len(), answers, ..Self::default() };
        case.steps.iter().for_each(|step| written.step(step));
        written
    }

    fn step(&mut self, step: &ScenarioStep) {
        match step {
            ScenarioStep::Send(send) => self.bytes.extend(format!("{}\n", send.send).bytes()),
            ScenarioStep::Raw(raw) => {
                let eol = raw.eol.as_deref().unwrap_or("\n");
                self.bytes.extend(raw.raw.bytes().chain(eol.bytes()));
                self.parts |= eol.is_empty() || raw.piece_bytes.is_some();
                self.long |= raw.repeat.is_some();
                self.pieces |= raw.piece_bytes.is_some();
                self.splits |= raw.piece_bytes.is_some() && !raw.raw.is_ascii();
            }
            ScenarioStep::Bytes(step) => {
                let decode =
                    |piece: &String| base64::engine::general_purpose::STANDARD.decode(piece).unwrap();
                let pieces: Vec<Vec<u8>> = step.bytes.iter().map(decode).collect();
                self.splits |= pieces.iter().any(|piece| std::str::from_utf8(piece).is_err());
                self.pieces |= pieces.len() > 1;
                self.parts |= pieces.iter().any(|piece| !piece.ends_with(b"\n"));
                self.bytes.extend(pieces.concat());
            }
            ScenarioStep::Close(_) => self.closes = true,
            ScenarioStep::Signal(_) => self.signals = true,
            ScenarioStep::Hold(_) => self.holds = true,
            _ => {}
        }
    }

    /// Iterates over the lines of the client, without their line feeds.
    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes).split(|byte| *byte == b'\n')
    }

    /// Iterates over the command names of lines that are JSON; `None` for a line without a command.
    fn commands(&self) -> impl Iterator<Item = Option<String>> {
        let frames = self.lines().filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        frames.map(|frame| frame["method"].as_str().or(frame["type"].as_str()).map(str::to_owned))
    }

    fn has(&self, part: &[u8]) -> bool {
        self.bytes.windows(part.len()).any(|window| window == part)
    }
}

fn is_object(line: &[u8]) -> bool {
    serde_json::from_slice::<Value>(line).is_ok_and(|value| value.is_object())
}
