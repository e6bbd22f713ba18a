//! Report on a bridge between two dialects: the declared fidelity of each row, and the number of frames in
//! one run.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use agentese::any::{Fidelity, RowFidelity, RowKind, explain};
use agentese::scan::{self, MemberSet, inner, member};
use agentese::serve::{CommandError, Gate};
use agentese::spec::{Framing, Spec};
use agentese::tap::{Direction, Tap};
use serde::Serialize;

use crate::error::BridgeError;

/// The declared fidelity of each row, and the counters of a run.
pub(super) struct FidelityReport {
    front: &'static Spec,
    agent: &'static Spec,
    /// The fidelity of the client's rows with this agent.
    rows: Vec<RowFidelity>,
    /// The number of commands that the client sent, by wire name.
    sent: Mutex<BTreeMap<&'static str, u64>>,
    /// The number of events and dialogs that the agent sent, by kind and name.
    received: Arc<FrameCounts>,
}

/// Counters for the events and dialogs of an agent.
#[derive(Default)]
pub(super) struct FrameCounts(Mutex<BTreeMap<String, u64>>);

/// A row of a dialect, with the number of its frames.
#[derive(Serialize)]
struct CountedRow<'a> {
    #[serde(flatten)]
    row: &'a RowFidelity,
    /// The number of occurrences.
    count: u64,
}

/// The loss report as it is written to a file.
#[derive(Serialize)]
struct Report<'a> {
    /// The client's dialect, with its revision.
    front: String,
    /// The agent's dialect, with its revision.
    agent: String,
    /// The rows of the client's dialect. The count of a command is the number of times that the client sent it.
    rows: Vec<CountedRow<'a>>,
    /// The events and dialogs that the agent sent, each with its count and its fidelity for the client.
    #[serde(rename = "told")]
    received: Vec<CountedRow<'a>>,
}

impl FidelityReport {
    pub fn new(
        front: &'static Spec,
        agent: &'static Spec,
        received: Arc<FrameCounts>,
    ) -> Result<Self, agentese::Error> {
        Ok(Self { front, agent, rows: explain(front, agent)?, sent: Mutex::default(), received })
    }

    /// Returns a gate that counts commands and rejects lost ones.
    pub fn gate(self: &Arc<Self>) -> Gate {
        let report = self.clone();
        Gate::new(move |command| {
            report.count(command.wire);
            let row = report.rows.iter().find(|row| row.kind == RowKind::Command && row.row == command.wire);
            match row {
                Some(row) if row.fidelity == Fidelity::Lost => {
                    let agent = report.agent.name;
                    Err(CommandError::new(format!(
                        "`{}` is not supported with an agent of {agent}: {}",
                        row.row, row.reason
                    )))
                }
                _ => Ok(()),
            }
        })
    }

    /// Returns a gate that counts but does not reject commands, for servers that reject lost commands
    /// themselves.
    pub fn counter(self: &Arc<Self>) -> Gate {
        let report = self.clone();
        Gate::new(move |command| {
            report.count(command.wire);
            Ok(())
        })
    }

    /// Counts the command in a line of the client. A line without a command is not counted.
    pub fn count_sent(&self, line: &str) {
        let member = match self.front.framing {
            Framing::JsonRpc { .. } => METHOD,
            Framing::Flat | Framing::Enveloped => TYPE,
        };
        let Ok(found) = scan::scan(line, &NAMES) else { return };
        let name = found.string(member).unwrap_or_default();
        if let Some(command) = self.front.command(&name) {
            self.count(command.wire);
        }
    }

    /// Counts one use of a command, by its wire name.
    pub fn count(&self, command: &'static str) {
        *self.sent.lock().unwrap_or_else(PoisonError::into_inner).entry(command).or_default() += 1;
    }

    /// Writes the report of a run. Fails if the file cannot be written.
    pub fn write_report(&self, path: &Path) -> Result<(), BridgeError> {
        self.write(path).map_err(|source| BridgeError::Io { context: path.display().to_string(), source })
    }

    fn write(&self, path: &Path) -> std::io::Result<()> {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let received = self.received.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let of = |row: &RowFidelity| match row.kind {
            RowKind::Command => sent.get(row.row.as_str()).copied().unwrap_or_default(),
            _ => 0,
        };
        // Rows of the agent's dialect, with their fidelity for the client.
        let mut received_rows = explain(self.agent, self.front).map_err(std::io::Error::other)?;
        received_rows.retain(|row| row.kind != RowKind::Command);
        let report = Report {
            front: self.front.id(),
            agent: self.agent.id(),
            rows: self.rows.iter().map(|row| CountedRow { row, count: of(row) }).collect(),
            received: received_rows
                .iter()
                .map(|row| CountedRow { row, count: received.get(&row.row).copied().unwrap_or_default() })
                .collect(),
        };
        let mut text = serde_json::to_string_pretty(&report)?;
        text.push('\n');
        std::fs::write(path, text)
    }
}

/// The index in `NAMES` of the member that contains the name of a command.
const METHOD: usize = 2;
const TYPE: usize = 3;

/// The members that may contain the name of a frame. A member whose value is not a string is ignored.
static NAMES: MemberSet<4> =
    MemberSet::new([inner("event", "type"), inner("params", "type"), member("method"), member("type")]);

impl Tap for FrameCounts {
    fn frame(&self, direction: Direction, text: &str) {
        if direction != Direction::Received {
            return;
        }
        let Ok(found) = scan::scan(text, &NAMES) else { return };
        // The name of an event in an envelope, of a dialog, or of a plain event.
        let name = (0..4).find_map(|at| found.string(at)).map(Cow::into_owned);
        if let Some(name) = name {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default() += 1;
        }
    }
}

/// Formats the fidelity of each row as text for users.
pub(super) fn text(front: &Spec, agent: &Spec, rows: &[RowFidelity]) -> String {
    let count = |fate| rows.iter().filter(|row| row.fidelity == fate).count();
    let mut text = format!(
        "{} with an agent that speaks {}: {} of {} rows are carried, {} approximated, {} lost.\n",
        front.id(),
        agent.id(),
        count(Fidelity::Carried),
        rows.len(),
        count(Fidelity::Approximated),
        count(Fidelity::Lost),
    );
    let width = rows.iter().map(|row| row.row.len()).max().unwrap_or_default();
    for (kind, title) in
        [(RowKind::Command, "Commands"), (RowKind::Event, "Events"), (RowKind::Dialog, "Dialogs")]
    {
        if rows.iter().all(|row| row.kind != kind) {
            continue;
        }
        let _ = writeln!(text, "\n{title}");
        for row in rows.iter().filter(|row| row.kind == kind) {
            let fate = match row.fidelity {
                Fidelity::Carried => "carried",
                Fidelity::Approximated => "approximated",
                Fidelity::Lost => "lost",
                _ => "unknown",
            };
            let line = format!("  {:width$}  {fate:12}  {}", row.row, row.reason);
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_frame_is_counted_by_its_name() {
        let counts = FrameCounts::default();
        for frame in [
            r#"{"type":"extension_error","extensionPath":"a.ts","event":"input","error":"no"}"#,
            r#"{"type":"event","event":{"type":"turn_end"}}"#,
            r#"{"jsonrpc":"2.0","method":"event","params":{"type":"turn_started"}}"#,
            r#"{"type":"extension_ui_request","id":"1","method":"con\u0066irm","params":3}"#,
            r#"{"type":"agent_end"}"#,
        ] {
            counts.frame(Direction::Received, frame);
        }
        let counted = counts.0.lock().unwrap().clone();
        let names = ["agent_end", "confirm", "extension_error", "turn_end", "turn_started"];
        assert_eq!(counted, names.map(|name| (name.to_owned(), 1)).into());
    }
}
