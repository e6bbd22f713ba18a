//! Output of a walk through all commands: one JSON line per command, and one at the end.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Mutex;

use agentese::tap::{Diagnostic, Tap};
use serde_json::{Value, json};

pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Statistics of received values, and their deviations from the declaration.
#[derive(Default)]
pub struct Report {
    events: Mutex<BTreeMap<String, u64>>,
    unknown: Mutex<Vec<String>>,
    mismatches: Mutex<Vec<String>>,
}

impl Report {
    /// Runs the step for one command: `walked` sends it and describes the response. A failure is reported,
    /// and the walk continues.
    pub async fn step(&self, command: &str, walked: impl Future<Output = Result<String, BoxError>>) {
        match walked.await {
            Ok(got) => write_line(&json!({"command": command, "ok": true, "got": got})),
            Err(error) => write_line(&json!({"command": command, "ok": false, "got": error.to_string()})),
        }
    }

    pub fn event(&self, kind: &str) {
        *lock(&self.events).entry(kind.to_owned()).or_default() += 1;
    }

    pub fn unknown(&self, what: String) {
        lock(&self.unknown).push(what);
    }

    pub fn mismatch(&self, what: String) {
        lock(&self.mismatches).push(what);
    }

    pub fn end(&self) {
        write_line(&json!({
            "events": *lock(&self.events), "unknown": *lock(&self.unknown), "misfits": *lock(&self.mismatches),
        }));
    }
}

/// Tap that adds every diagnostic to the report.
pub struct DiagnosticTap(pub std::sync::Arc<Report>);

impl Tap for DiagnosticTap {
    fn wants_frames(&self) -> bool {
        false
    }

    fn diagnostic(&self, diagnostic: &Diagnostic) {
        if !matches!(diagnostic, Diagnostic::UnknownFrame { .. }) {
            self.0.mismatch(format!("{diagnostic:?}"));
        }
    }
}

fn lock<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn write_line(line: &Value) {
    let mut out = std::io::stdout().lock();
    // The reader of the output may have exited, so a write error is ignored.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
