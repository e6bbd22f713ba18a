//! `run --client`: the suite plays the agent and judges a client library.

use std::process::ExitCode;
use std::time::Instant;

use agentese::types::ProfileBuilder;
use agentese_conformance::Suite;
use agentese_conformance::client::{Client, client_only_cases, run_client};
use agentese_conformance::report::{Facts, Report};
use agentese_conformance::run::{ExpectedFailuresFile, select};
use anyhow::Context as _;

use super::{Run, interrupted};
use crate::cli::progress::ProgressReporter;

impl Run {
    /// Plays the agent, and judges the client behind a driver.
    pub(super) async fn run_client(self, suite: &Suite) -> anyhow::Result<ExitCode> {
        anyhow::ensure!(self.profile.is_none(), "--client cannot be combined with --profile");
        let dialect = self.dialect.as_deref().context("--client requires --dialect")?;
        let spec = agentese::dynamic::spec(dialect)?;
        anyhow::ensure!(
            !self.command.is_empty(),
            "no driver given; use: run --client --dialect {dialect} -- DRIVER"
        );
        if let Some(file) = self.only.iter().find(|only| only.ends_with(".json")) {
            anyhow::bail!("--client requires recorded cases, and the case in {file} has no recording");
        }
        let extra = client_only_cases(suite, spec)?;
        let mut all = suite.cases(&spec.id())?;
        all.extend(extra.iter().map(|(case, _)| case.clone()));
        let known: Vec<String> = all.iter().map(|case| case.name.clone()).collect();
        let cases = select(&self.only, all)?;
        let expected = match self.expected.as_deref() {
            None | Some("none") => None,
            Some(path) => Some(ExpectedFailuresFile::load(path.as_ref())?),
        };
        self.outputs.check()?;
        let stop = interrupted()?;
        let options = self.options(&stop);
        let program = std::env::current_exe().context("cannot find the path of this program")?;
        let client = Client { driver: self.command.clone(), program, patience: self.patience };
        let begin = Instant::now();
        let mut reporter = ProgressReporter::new(cases.len(), self.level);
        let told = &mut |progress: agentese_conformance::run::Progress<'_>| reporter.report(progress);
        let run = run_client(suite, &cases, &extra, &client, &options, told).await?;
        reporter.end();
        // The report names the library, as reported by the driver.
        let library = run.library.unwrap_or_else(|| "unknown library".to_owned());
        let profile =
            ProfileBuilder { profile: 1, name: "client".to_owned(), dialect: spec.id(), agent: library }
                .build();
        let facts = Facts {
            profile: &profile,
            command: self.command.clone(),
            level: self.level,
            took: begin.elapsed(),
            interrupted: stop.is_cancelled(),
            known: &known,
            min_coverage: self.min_coverage,
        };
        let report = Report::new(&facts, run.ran, expected.as_ref());
        self.print(&report)?;
        self.outputs.write(&report)?;
        Ok(ExitCode::from(u8::try_from(report.data.exit_code).unwrap_or(2)))
    }
}
