//! Execution of the commands of a verification.

use std::path::{Path, PathBuf};

use agentese::types::{
    AttemptOutcome, AttemptStatus, SubagentVerificationCommandEndBuilder, SubagentVerificationCommandStart,
    SubagentVerificationEnd, SubagentVerificationStart, VerificationAttemptResult,
    VerificationAttemptResultBuilder, VerificationCommandResult, VerificationCommandResultBuilder,
    VerifyCommand,
};
use serde_json::Number;

use super::VerificationPlan;
use crate::outcome::write_private;
use crate::tools::process::{CommandOutcome, CommandResult, Request, run};
use crate::tools::{Exit, ShellSettings, SubagentEvent, SubagentHost, ToolContext};

/// Maximum size of the output file of one command, in bytes.
const MAX_OUTPUT_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// The exit code of a command that was stopped.
const STOPPED_EXIT_CODE: i64 = 143;
/// Maximum size of the displayed output: number of lines, number of characters.
const PREVIEW_LIMITS: (usize, usize) = (20, 4000);

/// Verifies the work of one subagent.
pub struct Verifier<'a> {
    pub plan: &'a VerificationPlan,
    /// The id of the subagent, for events and names of files.
    pub id: &'a str,
    pub agent: &'a str,
    /// Working directory of the commands.
    pub cwd: &'a Path,
    /// Folder for the output of the commands.
    pub artifacts: &'a Path,
    pub context: &'a ToolContext,
    pub agents: &'a dyn SubagentHost,
}

impl Verifier<'_> {
    /// Runs all commands in order, even after one has failed. An abort stops them. A command that may fail does not
    /// affect the result.
    pub async fn attempt(&self, attempt: u64) -> VerificationAttemptResult {
        let started_ms = self.agents.now_ms();
        let mut start = SubagentVerificationStart::new(self.id, attempt);
        start.profile.clone_from(&self.plan.profile);
        self.emit(SubagentEvent::VerificationStarted(&start));
        let mut results = Vec::new();
        for (index, command) in self.plan.commands.iter().enumerate() {
            if self.context.abort.is_cancelled() {
                break;
            }
            let start = SubagentVerificationCommandStart::new(self.id, attempt, &command.name);
            self.emit(SubagentEvent::VerificationCommandStarted(&start));
            let result = self.command(command, &self.file(attempt, index + 1, &command.name)).await;
            let mut end = SubagentVerificationCommandEndBuilder {
                id: self.id.to_owned(),
                attempt,
                command_name: command.name.clone(),
                exit_code: result.exit_code,
                duration_ms: result.duration_ms.clone(),
            }
            .build();
            end.artifact_id.clone_from(&result.artifact_path);
            self.emit(SubagentEvent::VerificationCommandEnded(&end));
            results.push(result);
        }
        let is_complete = results.len() == self.plan.commands.len();
        let counts =
            |result: &VerificationCommandResult| result.exit_code == 0 || result.optional == Some(true);
        let passed = is_complete && results.iter().all(counts) && !self.context.abort.is_cancelled();
        let (status, outcome) = match passed {
            true => (AttemptStatus::Passed, AttemptOutcome::Passed),
            false => (AttemptStatus::Failed, AttemptOutcome::Failed),
        };
        self.emit(SubagentEvent::VerificationEnded(&SubagentVerificationEnd::new(self.id, attempt, outcome)));
        let ended = self.agents.now_ms();
        let mut result = VerificationAttemptResultBuilder {
            attempt,
            status,
            started_at: started_ms,
            ended_at: ended,
            command_results: results,
        }
        .build();
        result.error = (!passed).then(|| "One or more verification commands failed.".to_owned());
        result
    }

    fn emit(&self, event: SubagentEvent<'_>) {
        self.agents.emit(self.id, self.agent, event);
    }

    /// Returns the path of the file for the output of a command.
    fn file(&self, attempt: u64, number: usize, name: &str) -> PathBuf {
        self.artifacts.join(format!("{}.verify.a{attempt}-{number}-{}.log", self.id, slug(name)))
    }

    async fn command(&self, command: &VerifyCommand, file: &Path) -> VerificationCommandResult {
        let mut context = self.context.clone();
        context.cwd = self.cwd.to_owned();
        context.temp_dir = self.artifacts.to_owned();
        context.output_file_limit = MAX_OUTPUT_FILE_BYTES;
        context.shell = ShellSettings {
            program: Some("bash".into()),
            prefix: None,
            login: true,
            ..context.shell.clone()
        };
        #[allow(clippy::cast_precision_loss)] // Milliseconds of years.
        let timeout = command.timeout_ms.map(|limit| limit.max(1) as f64 / 1000.0);
        let started_ms = self.agents.now_ms();
        let request = Request { command: &command.command, timeout, clean: false };
        let finished = run(&context, request, &mut |_| {}).await;
        let took = self.agents.now_ms().saturating_sub(started_ms).max(0);
        let (exit_code, timed_out, output) = match &finished {
            Ok(finished) => {
                (code(&finished.outcome), finished.outcome == CommandOutcome::TimedOut, output(finished))
            }
            Err(error) => (127, false, error.to_string()),
        };
        let mut result = VerificationCommandResultBuilder {
            name: command.name.clone(),
            command: command.command.clone(),
            exit_code,
            duration_ms: Number::from(took),
        }
        .build();
        result.optional = command.optional;
        result.timed_out = Some(timed_out);
        if !output.is_empty() {
            let full_output = finished.ok().and_then(|finished| finished.output.path().map(Path::to_owned));
            let (path, text) = (file.to_owned(), output.clone());
            let saved = tokio::task::spawn_blocking(move || match full_output {
                // A long output is already complete in a file.
                Some(full_output) => std::fs::rename(full_output, path),
                None => write_private(&path, text.as_bytes()),
            });
            match saved.await {
                Ok(Ok(())) => result.artifact_path = Some(file.to_string_lossy().into_owned()),
                failed => tracing::warn!(?failed, file = %file.display(), "an output could not be saved"),
            }
            result.output_preview = Some(preview(&output));
        }
        result
    }
}

fn code(outcome: &CommandOutcome) -> i64 {
    match outcome {
        CommandOutcome::Exited(Exit::Code(code)) => i64::from(*code),
        CommandOutcome::Exited(Exit::Signal(signal)) => 128 + i64::from(*signal),
        CommandOutcome::TimedOut | CommandOutcome::Aborted => STOPPED_EXIT_CODE,
        CommandOutcome::Lost(_) => 1,
    }
}

fn output(finished: &CommandResult) -> String {
    finished.output.tail().content.trim().to_owned()
}

/// Returns the end of an output, within [`PREVIEW_LIMITS`].
fn preview(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let shown = lines[lines.len().saturating_sub(PREVIEW_LIMITS.0)..].join("\n");
    let skip = shown.chars().count().saturating_sub(PREVIEW_LIMITS.1);
    shown.chars().skip(skip).collect()
}

/// Converts a name so that it can be used in file names.
fn slug(name: &str) -> String {
    let lower = name.to_lowercase();
    let parts = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let mut slug = parts.collect::<Vec<_>>().join("-");
    slug.truncate(64);
    if slug.is_empty() { "check".to_owned() } else { slug }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_parts_of_file_names() {
        assert_eq!(slug("Unit Tests!"), "unit-tests");
        assert_eq!(slug("../../etc"), "etc");
        assert_eq!(slug("!!"), "check");
        assert_eq!(slug(&"x".repeat(300)).len(), 64);
    }

    #[test]
    fn the_end_of_an_output_is_shown() {
        let lines: Vec<_> = (0..50).map(|number| format!("line {number}")).collect();
        assert_eq!(preview(&lines.join("\n")), lines[30..].join("\n"));
        assert_eq!(preview(&"é".repeat(5000)).chars().count(), 4000);
        assert_eq!(code(&CommandOutcome::Exited(Exit::Signal(9))), 137);
    }
}
