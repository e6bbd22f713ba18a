//! Progress of subagents, for display while they work.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

use super::outcome::Label;
use super::submit::Submission;
use crate::providers::tokens;
use crate::tools::{ChildStep, ToolContent, ToolUpdate, Updates};

/// Maximum number of recent tool calls that are displayed for each subagent.
const MAX_RECENT_CALLS: usize = 5;
/// Maximum displayed length of a call's arguments, in characters.
const MAX_ARGUMENT_CHARS: usize = 80;

/// Status of a subagent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Pending,
    Running,
    Completed,
    Failed,
    Aborted,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
        }
    }
}

struct Entry {
    label: Label,
    status: Status,
    started_ms: i64,
    duration: i64,
    last_intent: Option<String>,
    recent: Vec<Value>,
    calls: u64,
    tokens: u64,
    submission: Option<Submission>,
}

/// Activity of the subagents of one call. Each change is sent to the client.
pub struct Progress {
    updates: Updates,
    started_ms: i64,
    agents_dir: Value,
    /// The file of the parent's session.
    session_file: Option<PathBuf>,
    entries: Mutex<Vec<Entry>>,
}

impl Progress {
    pub fn new(
        updates: Updates,
        started_ms: i64,
        agents_dir: Value,
        session_file: Option<PathBuf>,
        labels: &[Label],
    ) -> Self {
        let entry = |label: &Label| Entry {
            label: label.clone(),
            status: Status::Pending,
            started_ms,
            duration: 0,
            last_intent: None,
            recent: Vec::new(),
            calls: 0,
            tokens: 0,
            submission: None,
        };
        let entries = Mutex::new(labels.iter().map(entry).collect());
        let progress = Self { updates, started_ms, agents_dir, session_file, entries };
        progress.send(&progress.entries(), started_ms);
        progress
    }

    /// Records the new status of a subagent, with its result if it has submitted one.
    pub fn status(&self, index: usize, status: Status, submitted: Option<&Submission>, now: i64) {
        let mut entries = self.entries();
        let Some(entry) = entries.get_mut(index) else { return };
        if entry.status == Status::Pending {
            entry.started_ms = now;
        }
        entry.status = status;
        entry.duration = now.saturating_sub(entry.started_ms);
        if let Some(submitted) = submitted {
            entry.submission = Some(submitted.clone());
        }
        self.send(&entries, now);
    }

    /// Records a step of a subagent's run.
    pub fn step(&self, index: usize, step: ChildStep<'_>, now: i64) {
        let mut entries = self.entries();
        let Some(entry) = entries.get_mut(index) else { return };
        entry.duration = now.saturating_sub(entry.started_ms);
        match step {
            ChildStep::Called(call) => {
                entry.calls += 1;
                if let Some(intent) = intent(&call.arguments) {
                    entry.last_intent = Some(intent);
                }
                return;
            }
            ChildStep::Returned(call, _) => {
                let arguments = topic(&call.arguments);
                entry.recent.insert(0, json!({"tool": call.name, "args": arguments, "endMs": now}));
                entry.recent.truncate(MAX_RECENT_CALLS);
            }
            ChildStep::Answered(answer) => entry.tokens += tokens(&answer.usage),
        }
        self.send(&entries, now);
    }

    fn send(&self, entries: &[Entry], now: i64) {
        if !self.updates.wanted() {
            return;
        }
        let working = entries.iter().filter(|entry| entry.status == Status::Running).count();
        let text = format!("{working} of {} subagents at work", entries.len());
        let mut details = json!({
            "projectAgentsDir": self.agents_dir,
            "results": [],
            "totalDurationMs": now.saturating_sub(self.started_ms),
            "progress": entries.iter().map(Entry::to_json).collect::<Vec<_>>(),
        });
        if let Some(file) = &self.session_file {
            // The conversations of the subagents are in files beside it.
            details["sessionFile"] = file.to_string_lossy().into();
        }
        self.updates.send(ToolUpdate { content: vec![ToolContent::Text(text)], details: Some(details) });
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn to_json(&self) -> Value {
        let mut json = self.label.to_json();
        let mut put = |name: &str, value: Value| json.insert(name.to_owned(), value);
        put("status", self.status.name().into());
        if let Some(intent) = &self.last_intent {
            put("lastIntent", intent.clone().into());
        }
        put("recentTools", self.recent.clone().into());
        put("recentOutput", json!([]));
        put("toolCount", self.calls.into());
        put("tokens", self.tokens.into());
        put("durationMs", self.duration.into());
        if let Some(model) = &self.label.model {
            put("modelOverride", json!([model]));
        }
        if let Some(submitted) = &self.submission {
            put("extractedToolData", json!({"submit_result": [submitted.to_json()]}));
        }
        Value::Object(json)
    }
}

/// Returns the purpose of a tool call, if the model has stated one.
pub fn intent(arguments: &Map<String, Value>) -> Option<String> {
    arguments.get("_i").and_then(Value::as_str).map(str::to_owned)
}

/// Returns the text that describes a tool call: the first of its arguments that is a text.
fn topic(arguments: &Map<String, Value>) -> String {
    let texts = arguments.iter().filter(|(name, _)| *name != "_i").find_map(|(_, value)| value.as_str());
    let line = texts.and_then(|text| text.lines().next()).unwrap_or_default();
    line.chars().take(MAX_ARGUMENT_CHARS).collect()
}
