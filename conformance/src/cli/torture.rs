//! `torture`: runs an agent with all behaviour that the documents allow and that client authors forget.

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

/// Tortures a client library with an agent that does everything that the documents allow.
///
/// A seed turns a recorded session into a harder one. Bytes come one by one, or many lines at once. Objects
/// have members in any order, and undeclared ones. Answers come late and out of order, dialogs in a storm,
/// floods on stderr. The agent dies at any frame, or closes its stdin. A driver, the same as for
/// `run --client`, reports what the library receives.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes:
  0  nothing hung, nothing was lost, and every answer was right
  1  something was found
  2  something could not be judged: a wrong command line, a driver that does not start, an interruption

docs/conformance-clients.md says what a driver is, what is done to it and what has to hold.")]
pub(super) struct Torture {
    /// Tortures a client. Required: this command tortures nothing else; for agents there is `attack`.
    #[arg(long, required = true)]
    client: bool,
    /// The dialect, as in `pi` or `pi@0.55`.
    #[arg(long, value_name = "NAME")]
    dialect: String,
    /// First seed; random by default. The same seed makes the same session.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Number of seeds, played one after the other.
    #[arg(long, value_name = "N", default_value = "100")]
    seeds: NonZeroU64,
    /// Leaves tricks out, to find more than the known problems: `events`, `dialogs`, `death` and so on. A
    /// wrong name lists them all.
    #[arg(long, value_name = "TRICK", num_args = 1..)]
    without: Vec<String>,
    /// Number of concurrent sessions; by default the number of cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Multiplies all waits by this factor, for slow machines.
    #[arg(long, value_name = "TIMES", default_value_t = 1.0, value_parser = positive)]
    patience: f64,
    #[command(flatten)]
    outputs: Outputs,
    /// Command of the client library's driver.
    #[arg(last = true, value_name = "DRIVER", required = true)]
    driver: Vec<String>,
}

impl Torture {
    pub(super) async fn run(self, suite: &Suite) -> anyhow::Result<ExitCode> {
        ensure!(self.client, "say --client: it is clients that are tortured");
        let spec = agentese::dynamic::spec(&self.dialect)?;
        let known: Vec<String> = TRICKS.iter().map(|(name, _)| (*name).to_owned()).collect();
        for name in &self.without {
            ensure!(known.contains(name), "there is no trick `{name}`; there are {}", known.join(", "));
        }
        self.outputs.check()?;
        let first = self.seed.unwrap_or_else(|| fastrand::u64(..1_000_000_000));
        let seeds = first..first.checked_add(self.seeds.get()).context("there are no such seeds")?;
        let program = std::env::current_exe().context("cannot tell where this program is")?;
        let client = Client { driver: self.driver.clone(), program, patience: self.patience };
        let stop = interrupted()?;
        let options = RunOptions {
            jobs: self.jobs.map_or_else(default_jobs, usize::from),
            stop: stop.clone(),
            ..RunOptions::default()
        };
        super::print(&format!(
            "torture in {}, --seed {first} --seeds {} plays it again\n",
            spec.id(),
            self.seeds
        ))?;
        let begin = Instant::now();
        let mut teller = ProgressReporter::new(usize::try_from(self.seeds.get())?, CheckLevel::Should);
        let tell = &mut |progress: Progress<'_>| teller.report(progress);
        let run = torture(suite, &self.dialect, seeds, &self.without, &client, &options, tell).await?;
        teller.end();
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
