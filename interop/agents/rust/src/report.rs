//! What a walk tells: one JSON line per command, and one at the end.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Mutex;

use agentese::tap::{Diagnostic, Tap};
use serde_json::{Value, json};

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The account of what came and of what did not fit the declaration.
#[derive(Default)]
pub struct Report {
    events: Mutex<BTreeMap<String, u64>>,
    unknown: Mutex<Vec<String>>,
    misfits: Mutex<Vec<String>>,
}

impl Report {
    /// Walks one command: `walked` sends it and says what came. A failure is told, and the walk goes on.
    pub async fn step(&self, command: &str, walked: impl Future<Output = Result<String, Failure>>) {
        match walked.await {
            Ok(got) => tell(&json!({"command": command, "ok": true, "got": got})),
            Err(error) => tell(&json!({"command": command, "ok": false, "got": error.to_string()})),
        }
    }

    pub fn event(&self, kind: &str) {
        *lock(&self.events).entry(kind.to_owned()).or_default() += 1;
    }

    pub fn unknown(&self, what: String) {
        lock(&self.unknown).push(what);
    }

    pub fn misfit(&self, what: String) {
        lock(&self.misfits).push(what);
    }

    pub fn end(&self) {
        tell(&json!({
            "events": *lock(&self.events), "unknown": *lock(&self.unknown), "misfits": *lock(&self.misfits),
        }));
    }
}

/// Tells the report of everything odd.
pub struct Odd(pub std::sync::Arc<Report>);

impl Tap for Odd {
    fn wants_frames(&self) -> bool {
        false
    }

    fn diagnostic(&self, diagnostic: &Diagnostic) {
        if !matches!(diagnostic, Diagnostic::UnknownFrame { .. }) {
            self.0.misfit(format!("{diagnostic:?}"));
        }
    }
}

fn lock<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn tell(line: &Value) {
    let mut out = std::io::stdout().lock();
    // Whoever reads the walk is gone: there is nobody to tell.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
