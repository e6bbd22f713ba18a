//! `torture`: tests a client with agent behaviour that the documents allow and that authors of clients often
//! forget.

use std::num::NonZeroU64;
use std::process::ExitCode;
use std::time::Instant;

use agentese::types::{CheckLevel, ProfileBuilder};
use agentese_conformance::Suite;
use agentese_conformance::client::Client;
use agentese_conformance::client::torture::{TRICKS, torture};
use agentese_conformance::report::{Facts, Report, text::text};
use agentese_conformance::run::{Progress, RunOptions, default_jobs};
use anyhow::{Context as _, ensure};
use clap::Args;

use super::outputs::Outputs;
use super::progress::ProgressReporter;
use super::run::{interrupted, positive};

/// Test a client with an agent that does everything that the documents allow.
///
/// Each seed changes a recorded session. Bytes arrive one by one, or many lines at once. Objects have members in
/// any order, and undeclared ones. Answers arrive late and out of order, many dialogs at once. Stderr is flooded.
/// The agent exits at any frame, or closes its stdin. A driver, the same as for `run --client`, reports the input
/// of the library.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes:
  0  all sessions pass: no hang, no loss, each answer correct
  1  a session fails
  2  a session is inconclusive, the command line is invalid, the driver does not start, or the run was interrupted

See docs/conformance-clients.md for drivers, tricks and requirements.")]
pub(super) struct Torture {
    /// Test a client. Required, as clients are the only subject; use `attack` for agents.
    #[arg(long, required = true)]
    client: bool,
    /// Dialect of the client, such as `pi` or `pi@0.55`.
    #[arg(long, value_name = "NAME")]
    dialect: String,
    /// First seed; the same seed repeats the same session. Default: random; printed at start.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Number of consecutive seeds.
    #[arg(long, value_name = "N", default_value = "100")]
    seeds: NonZeroU64,
    /// Leave out these tricks, to find problems beyond the known ones: `events`, `dialogs`, `death` and others. An
    /// unknown name prints the list.
    #[arg(long, value_name = "TRICK", num_args = 1..)]
    without: Vec<String>,
    /// Number of concurrent sessions. Default: the number of cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Multiply all waits by this factor, for slow machines.
    #[arg(long, value_name = "TIMES", default_value_t = 1.0, value_parser = positive)]
    patience: f64,
    #[command(flatten)]
    outputs: Outputs,
    /// Command of the driver of the client library.
    #[arg(last = true, value_name = "DRIVER", required = true)]
    driver: Vec<String>,
}

impl Torture {
    pub(super) async fn run(self, suite: &Suite) -> anyhow::Result<ExitCode> {
        ensure!(self.client, "torture requires --client; use attack for agents");
        let spec = agentese::dynamic::spec(&self.dialect)?;
        let known: Vec<String> = TRICKS.iter().map(|(name, _)| (*name).to_owned()).collect();
        for name in &self.without {
            ensure!(known.contains(name), "unknown trick `{name}`; known: {}", known.join(", "));
        }
        self.outputs.check()?;
        let first = self.seed.unwrap_or_else(|| fastrand::u64(..1_000_000_000));
        let seeds = first
            ..first.checked_add(self.seeds.get()).context("--seed plus --seeds exceeds the largest seed")?;
        let program = std::env::current_exe().context("cannot find the path of this program")?;
        let client = Client { driver: self.driver.clone(), program, patience: self.patience };
        let stop = interrupted()?;
        let options = RunOptions {
            jobs: self.jobs.map_or_else(default_jobs, usize::from),
            stop: stop.clone(),
            ..RunOptions::default()
        };
        super::print(&format!(
            "torture in {}; repeat with --seed {first} --seeds {}\n",
            spec.id(),
            self.seeds
        ))?;
        let begin = Instant::now();
        let mut reporter = ProgressReporter::new(usize::try_from(self.seeds.get())?, CheckLevel::Should);
        let tell = &mut |progress: Progress<'_>| reporter.report(progress);
        let run = torture(suite, &self.dialect, seeds, &self.without, &client, &options, tell).await?;
        reporter.end();
        let agent = run.library.unwrap_or_else(|| "unknown library".to_owned());
        let profile =
            ProfileBuilder { profile: 1, name: "client".to_owned(), dialect: spec.id(), agent }.build();
        let known: Vec<String> = run.ran.iter().map(|ran| ran.judgement.case.name.clone()).collect();
        let facts = Facts {
            profile: &profile,
            command: self.driver.clone(),
            level: CheckLevel::Should,
            took: begin.elapsed(),
            interrupted: stop.is_cancelled(),
            known: &known,
            min_coverage: 0.0,
        };
        let report = Report::new(&facts, run.ran, None);
        super::print(&text(&report.data))?;
        self.outputs.write(&report)?;
        Ok(ExitCode::from(u8::try_from(report.data.exit_code).unwrap_or(2)))
    }
}
