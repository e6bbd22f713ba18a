//! Result of one subagent.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentese::types::{AgentMessage, AssistantBlock, Usage, VerificationResult};
use serde_json::{Map, Value, json};

use super::arguments::TaskItem;
use super::submit::Submission;
use crate::providers::{number, tokens};
use crate::tools::truncate::{Limits, truncate_head};

/// Limits for the part of a result that the model receives. A file contains the complete result.
const MODEL_OUTPUT_LIMITS: Limits = Limits { max_lines: 5000, max_bytes: 500_000 };

/// Identity and task of a subagent, as reported to clients.
#[derive(Debug, Clone)]
pub struct Label {
    pub index: usize,
    /// Id of the subagent, unique in the session.
    pub id: String,
    /// The id of the first attempt. A repair has an id of its own.
    pub first_id: String,
    pub agent: String,
    pub source: &'static str,
    /// The first prompt of the subagent.
    pub task: String,
    pub item: TaskItem,
    /// The model, as `provider/id`.
    pub model: Option<String>,
}

impl Label {
    pub fn to_json(&self) -> Map<String, Value> {
        let mut json = Map::new();
        let mut put = |name: &str, value: Value| json.insert(name.to_owned(), value);
        put("index", self.index.into());
        put("id", self.id.clone().into());
        put("agent", self.agent.clone().into());
        put("agentSource", self.source.into());
        put("task", self.task.clone().into());
        put("assignment", self.item.assignment.clone().into());
        put("description", self.item.description.clone().into());
        json
    }
}

/// Result of a subagent.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub label: Label,
    /// 0 if the subagent submitted a result and passed the required verification. 1 otherwise.
    pub exit_code: i64,
    /// The submitted data, or else the text of the subagent.
    pub output: String,
    pub truncated: bool,
    /// Reason for the failure, if the subagent failed.
    pub error: Option<String>,
    /// Reason for the early end, if the subagent was stopped.
    pub abort_reason: Option<String>,
    pub submission: Option<Submission>,
    pub last_intent: Option<String>,
    pub duration_ms: i64,
    pub tokens: u64,
    /// `None` if the subagent was not started.
    pub usage: Option<Usage>,
    /// The file with the complete output.
    pub output_file: Option<PathBuf>,
    pub verification: Option<VerificationResult>,
    /// True if the subagent worked in a copy. Its changes are then recorded.
    pub isolated: bool,
    /// The file with the changes of the subagent.
    pub patch: Option<PathBuf>,
    /// The branch with the changes of the subagent.
    pub branch: Option<String>,
}

impl Outcome {
    /// Creates the outcome of a subagent that was not started.
    pub fn not_started(label: Label, error: String, abort_reason: Option<String>) -> Self {
        Self {
            label,
            exit_code: 1,
            output: String::new(),
            truncated: false,
            error: Some(error),
            abort_reason,
            submission: None,
            last_intent: None,
            duration_ms: 0,
            tokens: 0,
            usage: None,
            output_file: None,
            verification: None,
            isolated: false,
            patch: None,
            branch: None,
        }
    }

    /// Returns true if the subagent submitted a result and passed the required verification. The submitted result may
    /// still report a failure.
    pub fn succeeded(&self) -> bool {
        self.exit_code == 0
    }

    /// Returns true if the subagent submitted a result and was not stopped, so that its changes may be applied.
    pub fn completed_work(&self) -> bool {
        self.succeeded() && self.abort_reason.is_none()
    }

    pub fn to_json(&self) -> Value {
        let mut json = self.label.to_json();
        let mut put = |name: &str, value: Value| json.insert(name.to_owned(), value);
        let shown = |path: &Path| Value::from(path.to_string_lossy().into_owned());
        if let Some(intent) = &self.last_intent {
            put("lastIntent", intent.clone().into());
        }
        put("exitCode", self.exit_code.into());
        put("output", self.output.clone().into());
        // A subagent that was not started has no error output.
        let stderr = self.error.clone().filter(|_| self.usage.is_some()).unwrap_or_default();
        put("stderr", stderr.into());
        put("truncated", self.truncated.into());
        put("durationMs", self.duration_ms.into());
        put("tokens", self.tokens.into());
        if let (Some(model), Some(_)) = (&self.label.model, &self.usage) {
            put("modelOverride", json!([model]));
        }
        if let Some(error) = &self.error {
            put("error", error.clone().into());
        }
        put("aborted", self.abort_reason.is_some().into());
        if let Some(reason) = &self.abort_reason {
            put("abortReason", reason.clone().into());
        }
        if let Some(usage) = &self.usage {
            put("usage", serde_json::to_value(usage).unwrap_or_default());
            put(
                "outputMeta",
                json!({"lineCount": self.output.lines().count(), "charCount": self.output.chars().count()}),
            );
        }
        if let Some(path) = &self.output_file {
            put("outputPath", shown(path));
        }
        if let Some(submitted) = &self.submission {
            put("extractedToolData", json!({"submit_result": [submitted.to_json()]}));
        }
        if let Some(verification) = &self.verification {
            put("verification", serde_json::to_value(verification).unwrap_or_default());
        }
        if let Some(branch) = &self.branch {
            put("branchName", branch.clone().into());
        } else if let Some(patch) = &self.patch {
            put("patchPath", shown(patch));
        }
        if self.isolated && (self.patch.is_some() || self.branch.is_some()) {
            put("nestedPatches", json!([]));
        }
        Value::Object(json)
    }
}

/// Returns the part of an output for the model. The flag is true if the output was truncated.
pub fn truncated_for_model(output: String) -> (String, bool) {
    let cut = truncate_head(&output, MODEL_OUTPUT_LIMITS);
    match cut.truncated() {
        true => (cut.content, true),
        false => (output, false),
    }
}

/// Returns all text that the subagent has written as answers.
pub fn assistant_text(messages: &[Arc<AgentMessage>]) -> String {
    let mut text = String::new();
    for message in messages {
        let AgentMessage::Assistant(answer) = &**message else { continue };
        for block in &answer.content {
            if let AssistantBlock::Text(block) = block {
                text.push_str(&block.text);
            }
        }
    }
    text
}

/// Returns an empty usage.
pub fn no_usage() -> Usage {
    let mut usage = Usage::default();
    usage.total_tokens = Some(0);
    usage
}

/// Returns the sum of several usages.
pub fn sum_usage<'a>(usages: impl IntoIterator<Item = &'a Usage>) -> Usage {
    let mut all = no_usage();
    let plus = |a: &serde_json::Number, b: &serde_json::Number| {
        number(a.as_f64().unwrap_or_default() + b.as_f64().unwrap_or_default())
    };
    for usage in usages {
        all.input += usage.input;
        all.output += usage.output;
        all.cache_read += usage.cache_read;
        all.cache_write += usage.cache_write;
        all.total_tokens = all.total_tokens.map(|total| total + tokens(usage));
        let (to, from) = (&mut all.cost, &usage.cost);
        to.input = plus(&to.input, &from.input);
        to.output = plus(&to.output, &from.output);
        to.cache_read = plus(&to.cache_read, &from.cache_read);
        to.cache_write = plus(&to.cache_write, &from.cache_write);
        to.total = plus(&to.total, &from.total);
    }
    all
}

/// Writes a file that only its owner can read, replacing an existing file.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut file: File = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)
}
