//! `detect`: finds the dialect of an agent.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use agentese::types::{Profile, ProfileBuilder};
use agentese_conformance::detect::{
    DetectError, DialectGuess, NotAnAgentError, detect, detect_case, detect_live,
};
use agentese_conformance::player::{PlayOptions, play, relative_argument};
use agentese_conformance::run::{ProbeResult, RunOptions, probe};
use agentese_conformance::{Suite, Transcript};
use anyhow::Context as _;
use clap::Args;
use serde_json::json;

/// Least confidence at which a dialect is reported as certain.
const MIN_CONFIDENCE: f64 = 0.8;

/// Find out which dialect and revision an agent speaks, and print the reasons.
///
/// The agent is started and receives a few commands, unless --transcript names a recorded session.
///
/// Exit code 1: not an agent, unknown dialect, or ambiguous.
#[derive(Debug, Args)]
pub(super) struct Detect {
    /// Detect the dialect of this transcript.
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    transcript: Option<PathBuf>,
    /// Start the agent with this profile: a name from `list --profiles`, or a file that ends in .json. Required
    /// for agents that do not start without a model.
    #[arg(long, value_name = "PROFILE", conflicts_with = "transcript")]
    profile: Option<String>,
    /// Time limit for the first output of the agent, in milliseconds.
    #[arg(long, default_value_t = 15_000, value_name = "MS")]
    timeout: u64,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Write a profile for `run` with the choices of a new agent, such as its dialect and model. With --profile,
    /// complete that profile.
    #[arg(long, value_name = "FILE", conflicts_with = "transcript")]
    write_profile: Option<PathBuf>,
    /// Command of the agent. The agent runs in an empty directory, which is also its home, with this
    /// environment.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Detect {
    pub(super) async fn run(self, suite: &Suite) -> anyhow::Result<ExitCode> {
        let found = match (&self.transcript, &self.profile) {
            (Some(path), _) => detect(&Transcript::load(path)?),
            (None, Some(profile)) => {
                let profile = suite.profile(profile)?;
                let command = (!self.command.is_empty()).then(|| self.command.clone());
                let options = PlayOptions { command, ..PlayOptions::default() };
                let played = play(&detect_case(&profile.dialect), &profile, &options).await?;
                detect(&played.recording.transcript()?)
            }
            (None, None) => {
                let (program, arguments) = self
                    .command
                    .split_first()
                    .context("pass a command after `--`, --profile or --transcript")?;
                let directory = tempfile::tempdir()?;
                let program = absolute(program)?;
                let limit = Duration::from_millis(self.timeout);
                match detect_live(&program, arguments, directory.path(), limit).await {
                    Err(DetectError::NotAnAgent(error)) => Err(error),
                    Err(error @ DetectError::Ended { .. }) => match relative_argument(&self.command) {
                        Some(hint) => anyhow::bail!("{error}; {hint}"),
                        None => return Err(error.into()),
                    },
                    found => Ok(found?),
                }
            }
        };
        let guesses = match found {
            Ok(guesses) => guesses,
            Err(NotAnAgentError::Silent) => anyhow::bail!("the agent sends no output"),
            Err(error) => {
                let line = json!({"sure": false, "reason": error.to_string(), "guesses": []});
                super::print(&if self.json { format!("{line}\n") } else { format!("{error}\n") })?;
                return Ok(ExitCode::FAILURE);
            }
        };
        let is_sure = guesses.first().is_some_and(|best| {
            let sum: f64 = best.reasons.iter().map(|reason| reason.weight).sum();
            best.confidence >= MIN_CONFIDENCE && best.is_confirmed && sum > 0.0
        });
        super::print(&if self.json { as_json(&guesses, is_sure) } else { as_text(&guesses, is_sure) })?;
        if let (Some(file), Some(best)) = (&self.write_profile, guesses.first().filter(|_| is_sure)) {
            self.write(file, &best.spec.id(), suite).await?;
        }
        Ok(if is_sure { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

impl Detect {
    /// Writes the profile that `--profile` names, or a new profile that starts the agent's command. If the
    /// profile has the detected dialect, adds the agent's choices, such as its model.
    async fn write(&self, file: &Path, dialect: &str, suite: &Suite) -> anyhow::Result<()> {
        let mut profile = match &self.profile {
            Some(name) => suite.profile(name)?,
            None => self.profile_of_command(file, dialect)?,
        };
        if profile.dialect == dialect {
            profile.choices = query_choices(&profile).await?;
        }
        let text = serde_json::to_string_pretty(&profile)? + "\n";
        std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
        eprintln!("wrote {}; set in `environment` how the agent finds its model, ${{MODEL}}", file.display());
        Ok(())
    }

    fn profile_of_command(&self, file: &Path, dialect: &str) -> anyhow::Result<Profile> {
        let mut words = self.command.iter();
        let program = absolute(words.next().context("pass a command after `--`")?)?;
        let agent = Path::new(&program).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = file.file_stem().unwrap_or_default().to_string_lossy().replace(".profile", "");
        let mut profile = ProfileBuilder { profile: 1, name, dialect: dialect.to_owned(), agent }.build();
        profile.command = Some(std::iter::once(program).chain(words.cloned()).collect());
        let environment =
            [("PATH", "${env:PATH}"), ("HOME", "${HOME}"), ("TMPDIR", "${TMP}"), ("MODEL_URL", "${MODEL}")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        profile.environment = Some(environment.into_iter().collect());
        Ok(profile)
    }
}

/// Starts the agent of the profile and returns the agent's own choices, such as its model.
async fn query_choices(
    profile: &Profile,
) -> anyhow::Result<Option<serde_json::Map<String, serde_json::Value>>> {
    match probe(profile, &RunOptions::default()).await {
        ProbeResult::Recognized { choices, .. } => Ok(choices),
        ProbeResult::Unusable(reason) => anyhow::bail!("cannot write the profile: {reason}"),
    }
}

/// Makes a program with a path absolute, because the agent runs in another directory.
fn absolute(program: &str) -> anyhow::Result<String> {
    let path = Path::new(program);
    let path = if path.components().count() > 1 { std::path::absolute(path)? } else { path.to_owned() };
    path.into_os_string().into_string().ok().context("the command is not valid UTF-8")
}

fn as_json(guesses: &[DialectGuess], is_sure: bool) -> String {
    let all = guesses.iter().map(|guess| {
        let reasons = guess.reasons.iter().map(|reason| json!({"weight": reason.weight, "text": reason.text}));
        json!({
            "dialect": guess.spec.id(), "confidence": guess.confidence, "reasons": reasons.collect::<Vec<_>>(),
        })
    });
    format!("{}\n", json!({"sure": is_sure, "guesses": all.collect::<Vec<_>>()}))
}

fn as_text(guesses: &[DialectGuess], is_sure: bool) -> String {
    let mut out = String::new();
    if !guesses.iter().any(|guess| guess.is_confirmed) {
        out.push_str("no known dialect; most likely first\n");
    } else if !is_sure {
        out.push_str("ambiguous dialect; most likely first\n");
    }
    // If the best guess is certain, the others are not shown.
    let shown = if is_sure { 1 } else { 3 };
    for guess in guesses.iter().take(shown) {
        out.push_str(&format!("{} ({:.0} %)\n", guess.spec.id(), guess.confidence * 100.0));
        for reason in guess.reasons.iter().take(12) {
            out.push_str(&format!("  {:+.1}  {}\n", reason.weight, reason.text));
        }
    }
    out
}
