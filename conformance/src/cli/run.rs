//! `run`: plays many cases against one agent, and reports.

mod client;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use agentese::types::{CheckLevel, Profile, Scenario};
use agentese_conformance::Suite;
use agentese_conformance::report::frame_listing::frame_listing;
use agentese_conformance::report::text::text;
use agentese_conformance::report::{Facts, Report};
use agentese_conformance::run::{
    CaseResult, ExpectedFailuresFile, ProbeResult, RunOptions, default_jobs, none_played, probe, profile_for,
    run, select,
};
use anyhow::Context as _;
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::outputs::Outputs;
use super::progress::ProgressReporter;

/// Play the recorded cases of a dialect with an agent, or with a client (--client), and report the differences.
///
/// For each case the agent starts with a new home and work directory and its own model. The environment contains
/// only the variables of the profile. The output of the agent is compared with the document of the dialect and
/// with the output of the reference agent.
///
/// `run --only NAME --show` plays one case and prints all its lines.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes:
  0  each case passes, or its failure is expected
  1  a case fails, or a line of the expected failures is wrong
  2  a case is inconclusive, the command line is invalid, the agent does not start, or the run was interrupted

See docs/conformance.md for verdicts, levels, reports and expected failures.")]
pub(super) struct Run {
    /// Dialect of the agent, such as `pi` or `pi@0.55`.
    #[arg(long, value_name = "NAME", required_unless_present = "profile")]
    dialect: Option<String>,
    /// Start the agent with this profile: a name from `list --profiles`, or a file that ends in .json. Default:
    /// the profile for this program and dialect, else the profile of the dialect.
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// Test a client library: play the agents of the recorded sessions to it. COMMAND is a driver, a program around
    /// the library. See docs/conformance-clients.md for drivers.
    #[arg(long)]
    client: bool,
    /// Play only cases with this text in their name or in a part of the dialect that they test, such as `bash`,
    /// `ext-*` or `command fork`. Without --client, a file that ends in .json selects the case in that file. Takes
    /// several values; may be repeated.
    #[arg(long, value_name = "PATTERN", num_args = 1..)]
    only: Vec<String>,
    /// Lowest level of checks that apply: `must` (required by the document of the dialect), `should` (done by the
    /// reference agent), or `info` (useful facts that never fail).
    #[arg(long, value_name = "LEVEL", default_value = "should", value_parser = level)]
    level: CheckLevel,
    /// Number of concurrent cases. Default: the number of cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Time limit of a case, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 180.0, value_parser = positive)]
    timeout: f64,
    /// Multiply all waits by this factor, for slow machines.
    #[arg(long, value_name = "TIMES", default_value_t = 1.0, value_parser = positive)]
    patience: f64,
    /// File of expected failures; `none` for no file. Default: the file of the profile.
    #[arg(long, value_name = "FILE")]
    expected: Option<String>,
    /// Print the lines of each case before the report.
    #[arg(long)]
    show: bool,
    /// Keep the directories of the cases, and print their paths.
    #[arg(long, conflicts_with = "client")]
    keep: bool,
    /// Write a line of JSON to this file for each request to the model. Requires a single case.
    #[arg(long, value_name = "FILE", conflicts_with = "client")]
    model_log: Option<PathBuf>,
    #[command(flatten)]
    outputs: Outputs,
    /// Exit with code 2 if a smaller percentage of the cases is judged. Cases that are not applicable or
    /// inconclusive are not judged.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = percent)]
    min_coverage: f64,
    /// Command of the agent, or with --client of the driver. Default: the command of the profile.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

fn level(text: &str) -> Result<CheckLevel, String> {
    text.parse()
}

fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "expected a number".to_owned())?;
    if (0.0..=100.0).contains(&number) {
        Ok(number)
    } else {
        Err("expected a number from 0 to 100".to_owned())
    }
}

pub(super) fn positive(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "expected a number".to_owned())?;
    if number.is_finite() && number > 0.0 { Ok(number) } else { Err("expected a number above 0".to_owned()) }
}

impl Run {
    pub(super) async fn run(self, suite: &Suite) -> anyhow::Result<ExitCode> {
        if self.client {
            return self.run_client(suite).await;
        }
        let mut profile = self.find_profile(suite)?;
        let all = suite.cases(&profile.dialect)?;
        let mut known: Vec<String> = all.iter().map(|case| case.name.clone()).collect();
        let cases = self.cases(suite, &profile, all)?;
        for case in &cases {
            if !known.contains(&case.name) {
                known.push(case.name.clone());
            }
        }
        anyhow::ensure!(
            self.model_log.is_none() || cases.len() == 1,
            "--model-log requires a single case, and {} are selected; select one with --only",
            cases.len()
        );
        let expected = self.find_expected(&profile, suite)?;
        self.outputs.check()?;
        let stop = interrupted()?;
        let options = self.options(&stop);
        let begin = Instant::now();
        let ran = self.play(suite, &mut profile, &cases, options).await;
        for (ran, kept) in ran.iter().filter_map(|ran| Some((ran, ran.kept_directory.as_ref()?))) {
            eprintln!("{} was played in {}", ran.judgement.case.name, kept.display());
        }
        let facts = Facts {
            profile: &profile,
            command: command(&profile, &self.command),
            level: self.level,
            took: begin.elapsed(),
            interrupted: stop.is_cancelled(),
            known: &known,
            min_coverage: self.min_coverage,
        };
        let report = Report::new(&facts, ran, expected.as_ref());
        self.print(&report)?;
        self.outputs.write(&report)?;
        Ok(ExitCode::from(u8::try_from(report.data.exit_code).unwrap_or(2)))
    }

    fn options(&self, stop: &CancellationToken) -> RunOptions {
        RunOptions {
            jobs: self.jobs.map_or_else(default_jobs, usize::from),
            level: self.level,
            limit: Duration::from_secs_f64(self.timeout),
            patience: self.patience,
            slowness: 1.0,
            command: (!self.command.is_empty()).then(|| self.command.clone()),
            keep: self.keep,
            model_log: self.model_log.clone(),
            stop: stop.clone(),
        }
    }

    /// Returns the cases that the arguments select: cases of the suite, and cases from files.
    fn cases(&self, suite: &Suite, profile: &Profile, all: Vec<Scenario>) -> anyhow::Result<Vec<Scenario>> {
        let (files, patterns): (Vec<_>, Vec<_>) =
            self.only.iter().cloned().partition(|only| only.ends_with(".json"));
        let mut cases = match patterns.is_empty() && !files.is_empty() {
            true => Vec::new(),
            false => select(&patterns, all)?,
        };
        for file in files {
            let case = suite.case(&profile.dialect, &file)?;
            anyhow::ensure!(
                case.dialect == profile.dialect,
                "the dialect of the case in {file} is {}, not {}",
                case.dialect,
                profile.dialect
            );
            cases.push(case);
        }
        Ok(cases)
    }

    /// Prints the lines of each case if requested, and the report.
    fn print(&self, report: &Report) -> anyhow::Result<()> {
        if self.show {
            for recording in report.recordings.iter().flatten() {
                super::print(&frame_listing(recording))?;
            }
        }
        Ok(super::print(&text(&report.data))?)
    }

    async fn play(
        &self,
        suite: &Suite,
        profile: &mut Profile,
        cases: &[Scenario],
        mut options: RunOptions,
    ) -> Vec<CaseResult> {
        match probe(profile, &options).await {
            ProbeResult::Unusable(reason) => return none_played(cases, &reason),
            ProbeResult::Recognized { remark, choices, slowness } => {
                if profile.choices.is_none() {
                    profile.choices = choices;
                }
                if let Some(remark) = remark {
                    eprintln!("note: {remark}");
                }
                options.slowness = slowness;
            }
        }
        let mut reporter = ProgressReporter::new(cases.len(), self.level);
        let ran = run(suite, profile, cases, &options, &mut |progress| reporter.report(progress)).await;
        reporter.end();
        ran
    }

    fn find_profile(&self, suite: &Suite) -> anyhow::Result<Profile> {
        let Some(name) = &self.profile else {
            let dialect = self.dialect.as_deref().context("pass --dialect or --profile")?;
            agentese_conformance::spec(dialect)?;
            return Ok(profile_for(suite, dialect, &self.command)?);
        };
        let profile = suite.profile(name)?;
        if let Some(dialect) = &self.dialect {
            let wanted = agentese_conformance::spec(dialect)?.id();
            anyhow::ensure!(
                wanted == profile.dialect,
                "the dialect of the profile {name} is {}, not {wanted}",
                profile.dialect
            );
        }
        Ok(profile)
    }

    fn find_expected(
        &self,
        profile: &Profile,
        suite: &Suite,
    ) -> anyhow::Result<Option<ExpectedFailuresFile>> {
        match self.expected.as_deref() {
            Some("none") => Ok(None),
            Some(path) => Ok(Some(ExpectedFailuresFile::load(Path::new(path))?)),
            None => {
                let name = self.profile.as_deref().filter(|name| name.ends_with(".json"));
                let place = name.and_then(|name| Path::new(name).parent()).unwrap_or(Path::new(""));
                Ok(ExpectedFailuresFile::of(profile, suite, place)?)
            }
        }
    }
}

/// Returns the agent's command line, without the arguments of a case.
fn command(profile: &Profile, given: &[String]) -> Vec<String> {
    let own = profile.command.as_deref().unwrap_or_default();
    let command = if given.is_empty() { own } else { given };
    command.iter().chain(profile.arguments.iter().flatten()).cloned().collect()
}

/// Returns a token that the first SIGINT or SIGTERM cancels. The second signal ends the program at once.
pub(super) fn interrupted() -> anyhow::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let token = stop.clone();
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if token.is_cancelled() {
                std::process::exit(2);
            }
            eprintln!("\ninterrupted: ending the current cases before the report");
            token.cancel();
        }
    });
    Ok(stop)
}
