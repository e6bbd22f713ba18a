//! The tool that runs shell commands.

use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::process::{CommandOutcome, OutputCapture, Request, StartError, run};
use super::{Exit, NOT_STARTED, StructuredOutput, Tool, ToolContent, ToolContext, ToolOutput, ToolUpdate};

/// Runs a command in the shell and returns its output.
#[derive(Clone, Copy, Debug, Default)]
pub struct BashTool;

/// Maximum size in bytes of the output in a structured result.
const LARGEST_DATA: usize = 1 << 20;

impl BashTool {
    /// The name of the tool.
    pub const NAME: &str = "bash";
}

impl Tool for BashTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Runs a shell command in the working directory. The result is what the command wrote to its output and error \
         channels. Of a long output you see the last 2000 lines or 50KB, and a note says in which file all of it is. \
         The command gets no input. A timeout in seconds may be set."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "The command for the shell"},
                "timeout": {"type": "number", "description": "Seconds after which the command is ended; none by default"},
            },
            "required": ["command"],
        })
    }

    fn read_only(&self) -> bool {
        false
    }

    fn shows_progress(&self) -> bool {
        true
    }

    fn is_terminal(&self) -> bool {
        true
    }

    fn execute<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        execute(context, arguments).boxed()
    }
}

async fn execute(context: &ToolContext, arguments: Value) -> ToolOutput {
    let command = arguments["command"].as_str().unwrap_or_default();
    let timeout = arguments["timeout"].as_f64();
    let mut observe = |output: &OutputCapture| {
        if context.updates.wanted() {
            let tail = output.tail();
            let details = details(output).unwrap_or_else(|| json!({}));
            context
                .updates
                .send(ToolUpdate { content: vec![ToolContent::Text(tail.content)], details: Some(details) });
        }
    };
    let began = Instant::now();
    let finished = match run(context, Request { command, timeout, clean: false }, &mut observe).await {
        Ok(finished) => finished,
        Err(StartError::Aborted) => return ToolOutput::error(NOT_STARTED),
        Err(error) => return ToolOutput::error(format!("The command did not run: {error}")),
    };

    let tail = finished.output.tail();
    let structured = match finished.outcome {
        CommandOutcome::Exited(Exit::Code(code)) if context.wants_structured => {
            Some(structured(&finished.output, code, began.elapsed()).await)
        }
        _ => None,
    };
    let mut text = tail.content.clone();
    if let Some(notice) = finished.output.notice(&tail) {
        text.push_str("\n\n");
        text.push_str(&notice);
    }
    // pi omits this note if the command was stopped from outside.
    let ended_by_itself = matches!(finished.outcome, CommandOutcome::Exited(_));
    if text.is_empty() && ended_by_itself {
        text.push_str("(no output)");
    }
    let mut output = match finished.outcome.failure_message(timeout) {
        None => {
            let output = ToolOutput::text(text);
            match details(&finished.output) {
                Some(details) => output.with_details(details),
                None => output,
            }
        }
        Some(failure) if text.is_empty() => ToolOutput::error(failure),
        Some(failure) => ToolOutput::error(format!("{text}\n\n{failure}")),
    };
    output.structured = structured.map(StructuredOutput::Data);
    output
}

/// Returns a structured result: output, exit code, and duration in seconds.
async fn structured(output: &OutputCapture, code: i32, took: Duration) -> Value {
    let full = output.full_output(LARGEST_DATA).await;
    let seconds = took.as_millis() as f64 / 100.0;
    let mut data = Map::new();
    data.insert("output".into(), full.text.into());
    data.insert("truncated".into(), full.truncated.into());
    if let Some(path) = output.path().filter(|_| full.truncated) {
        data.insert("full_output_path".into(), path.to_string_lossy().into());
    }
    data.insert("exit_code".into(), code.into());
    data.insert("wall_time_seconds".into(), (seconds.round() / 10.0).into());
    Value::Object(data)
}

/// Returns the details of a truncated output for clients, or `None` if the output is complete.
fn details(output: &OutputCapture) -> Option<Value> {
    let tail = output.tail();
    if !tail.truncated() {
        return None;
    }
    let mut details = Map::new();
    details.insert("truncation".into(), tail.to_json());
    if let Some(path) = output.path() {
        details.insert("fullOutputPath".into(), path.to_string_lossy().into());
    }
    Some(Value::Object(details))
}
