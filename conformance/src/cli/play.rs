//! `play`: one case, one transcript.

use std::path::PathBuf;
use std::process::ExitCode;

use agentese::types::CheckLevel;
use agentese_conformance::Suite;
use agentese_conformance::expectations;
use agentese_conformance::player::{PlayOptions, check_requests, play};
use agentese_conformance::verdict::Outcome;
use anyhow::Context as _;
use clap::Args;

/// Plays one case against an agent and writes the transcript.
///
/// The agent gets a fresh home and work directory, the environment of the profile and nothing else, and a
/// model of its own. Paths and ports are replaced in the transcript. Exit code 1: the scenario broke off,
/// the model did not receive what the case wants, or
/// something that the case expects in its own words did not happen. Golden transcripts are not looked at.
#[derive(Debug, Args)]
pub(super) struct Play {
    /// The case: a name, as `list` has it, or a file that ends in .json.
    case: String,
    /// How the agent is started: a name, as `list --profiles` has it, or a file that ends in .json.
    #[arg(long, value_name = "PROFILE")]
    profile: String,
    /// Where the transcript goes; stdout by default.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Writes a JSON line for each request that the model received to this file.
    #[arg(long, value_name = "FILE")]
    model_log: Option<PathBuf>,
    /// Makes all waits that many times as long, for machines that are slow.
    #[arg(long, default_value_t = 1.0)]
    patience: f64,
    /// Keeps the directory of the run and says where it is.
    #[arg(long)]
    keep: bool,
    /// Program and first arguments, in place of the profile's.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Play {
    pub(super) async fn run(self, suite: &Suite) -> anyhow::Result<ExitCode> {
        anyhow::ensure!(
            self.patience.is_finite() && self.patience > 0.0,
            "--patience is a number above zero"
        );
        let profile = suite.profile(&self.profile)?;
        let case = suite.case(&profile.dialect, &self.case)?;
        let options = PlayOptions {
            command: (!self.command.is_empty()).then_some(self.command),
            patience: self.patience,
            keep: self.keep,
            model_log: self.model_log,
            ..PlayOptions::default()
        };
        let played = play(&case, &profile, &options).await?;
        match &self.out {
            None => super::print(&played.recording.text())?,
            Some(path) => {
                played.recording.write(path).with_context(|| format!("cannot write {}", path.display()))?
            }
        }
        let mut code = ExitCode::SUCCESS;
        if let Some(directory) = &played.directory {
            eprintln!("the run is kept in {}", directory.display());
        }
        if let Some(reason) = &played.broke_off {
            eprintln!("broke off: {reason}");
            code = ExitCode::FAILURE;
        }
        for finding in check_requests(&case, &profile, &played.requests) {
            if let Some(failure) = finding.failure {
                eprintln!("{}: {}: {failure}", finding.level, finding.says);
                if finding.level != CheckLevel::Info {
                    code = ExitCode::FAILURE;
                }
            }
        }
        for finding in expectations::check(&case, &played.recording.transcript()?) {
            let why = match finding.outcome {
                Outcome::Held => continue,
                Outcome::Allowed { mismatch, .. } | Outcome::Failed(mismatch) => mismatch.says,
                Outcome::Unclear(why) => why,
            };
            eprintln!("{}: {}: {why}", finding.level, finding.check);
            if finding.level != CheckLevel::Info {
                code = ExitCode::FAILURE;
            }
        }
        Ok(code)
    }
}
