//! `defects`: how many defects of an agent the suite notices.

use std::path::PathBuf;
use std::process::ExitCode;

use agentese_conformance::Suite;
use agentese_conformance::defects::experiment::{self, CAUGHT, Count, Outcome, Plan};
use agentese_conformance::defects::trial::Base;
use anyhow::{Context as _, bail};
use clap::Args;

/// Changes what an agent says, in many ways, and counts how many of the changes the suite notices.
///
/// What is changed is what the golden transcripts have: each is judged as it is, and then again with one change.
/// Defects have to be caught (98 % of them at least), neutral changes have to pass (all of them). Which mutators
/// there are says `proxy --list`.
///
/// Exit code 0: the suite is as good as that; 1: it is not.
#[derive(Debug, Args)]
pub(super) struct Defects {
    /// The dialect, as in `pi` or `pi@0.55`.
    #[arg(long, value_name = "NAME")]
    dialect: String,
    /// Only these cases.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    only: Vec<String>,
    /// Only these mutators and neutral changes.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    mutator: Vec<String>,
    /// How many places of each mutator are tried in each case; 0: all.
    #[arg(long, value_name = "N", default_value_t = 2)]
    sample: usize,
    /// How many changes are tried at most in all; 0: no limit.
    #[arg(long, value_name = "N", default_value_t = 0)]
    most: usize,
    /// What the sample is drawn with; any by default. It is printed.
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// How many trials are made at the same time.
    #[arg(long, value_name = "N", default_value_t = jobs())]
    jobs: usize,
    /// How many of those that came out wrong are shown.
    #[arg(long, value_name = "N", default_value_t = 20)]
    show: usize,
    /// Writes all numbers, and all trials that came out wrong, to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn jobs() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Defects {
    pub(super) async fn run(self, suite: &Suite) -> anyhow::Result<ExitCode> {
        let bases = self.bases(suite)?;
        let seed = self.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
        let plan =
            Plan { sample: self.sample, most: self.most, seed, jobs: self.jobs, only: self.mutator.clone() };
        let outcome = experiment::run(suite, &bases, &plan, &progress)?;
        eprint!("\r\x1b[K");
        if let Some(path) = &self.json {
            let mut json = outcome.json();
            json["dialect"] = self.dialect.clone().into();
            json["seed"] = seed.into();
            std::fs::write(path, json.to_string() + "\n")
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        super::print(&table(&outcome, bases.len(), seed, self.show))?;
        Ok(if outcome.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn bases(&self, suite: &Suite) -> anyhow::Result<Vec<Base>> {
        let name = self.dialect.split('@').next().unwrap_or_default();
        let profile = suite.profile(name).or_else(|_| suite.profile(&format!("agentese-{name}")))?;
        let cases = suite.cases(&self.dialect)?;
        if let Some(unknown) = self.only.iter().find(|only| !cases.iter().any(|case| case.name == **only)) {
            bail!("there is no case `{unknown}`");
        }
        let cases = cases.into_iter().filter(|case| self.only.is_empty() || self.only.contains(&case.name));
        let mut bases = Vec::new();
        for case in cases {
            match Base::golden(suite, &case, &profile) {
                Ok(base) => {
                    if let Some(fault) = base.faults().first() {
                        tracing::warn!("{} fails as it is: {fault}", case.name);
                    }
                    bases.push(base);
                }
                Err(error) => tracing::info!("{} is left out: {error}", case.name),
            }
        }
        if bases.is_empty() {
            bail!("there is no case to change anything in");
        }
        Ok(bases)
    }
}

fn progress(done: usize, all: usize) {
    if done % 100 == 0 {
        eprint!("\r{done} of {all}");
    }
}

fn table(outcome: &Outcome, cases: usize, seed: u64, show: usize) -> String {
    let mut text = format!("{cases} cases, seed {seed}\n\n");
    let names = outcome.defects.keys().chain(outcome.neutral.keys());
    let width = names.map(|name| name.len()).max().unwrap_or_default();
    let mut rows =
        |title: &str, right: &str, counts: &std::collections::BTreeMap<&'static str, Count>, all: Count| {
            text += &format!("{title:width$}  {:>8} {:>7} {right:>7} {:>7}\n", "places", "tried", "%");
            let mut row = |name: &str, count: &Count| {
                let percent =
                    if count.tried == 0 { "-".to_owned() } else { format!("{:.1}", count.percent()) };
                text += &format!(
                    "{name:width$}  {:>8} {:>7} {:>7} {percent:>7}\n",
                    count.places, count.tried, count.right
                );
            };
            counts.iter().for_each(|(name, count)| row(name, count));
            row("all", &all);
            text += "\n";
        };
    rows("defect", "caught", &outcome.defects, outcome.all_defects());
    rows("neutral change", "passed", &outcome.neutral, outcome.all_neutral());
    for wrong in outcome.wrong.iter().take(show) {
        text += &format!(
            "{} in {}, {}\n  was {}\n  is  {}\n",
            wrong.name,
            wrong.case,
            wrong.place,
            short(&wrong.before),
            short(&wrong.after)
        );
    }
    if outcome.wrong.len() > show {
        text += &format!("and {} more\n", outcome.wrong.len() - show);
    }
    let (defects, neutral) = (outcome.all_defects(), outcome.all_neutral());
    text + &format!(
        "{:.2} % of {} defects are caught (at least {CAUGHT} % have to be), {} of {} neutral changes pass (all have to)\n",
        defects.percent(),
        defects.tried,
        neutral.right,
        neutral.tried,
    )
}

/// A line in few characters.
fn short(line: &str) -> String {
    const LENGTH: usize = 300;
    match line.char_indices().nth(LENGTH) {
        None => line.trim_end().to_owned(),
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}
