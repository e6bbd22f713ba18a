//! `run`: counts the defects of an agent that the suite catches.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;

use agentese::types::Scenario;
use agentese_conformance::Suite;
use agentese_conformance::player::{find_program, not_applicable};
use agentese_conformance::run::{default_jobs, profile_for, select};
use agentese_conformance::suggestions::{counted, suggest};
use agentese_conformance_defects::baseline::Baseline;
use agentese_conformance_defects::experiment::{self, CAUGHT, Count, Outcome, Plan};
use agentese_conformance_defects::live::{self, LiveAgent, LiveError};
use agentese_conformance_defects::{mutators, neutrals};
use anyhow::{Context as _, bail};
use clap::Args;

/// Changes the output of an agent in many ways, and counts the changes that the suite reports.
///
/// Without a command, the changed output comes from the golden transcripts. With a command, each case is
/// played once, and the output of that run is changed. The suite judges the original output, and then the
/// output with one change. The suite has to catch 98 % of the defects and to pass all neutral changes.
/// `proxy --list` lists the defects.
///
/// With --live, further runs put a proxy between the agent and the suite. The proxy makes the change while
/// the agent is writing.
///
/// Exit code 0: the suite is good enough; 1: it is not.
#[derive(Debug, Args)]
pub(crate) struct Measure {
    /// The dialect, as in `pi` or `pi@0.55`.
    #[arg(long, value_name = "NAME")]
    dialect: String,
    /// Selects cases, as in `agentese-conformance run`.
    #[arg(long, value_name = "PATTERN", num_args = 1..)]
    only: Vec<String>,
    /// Selects mutators and neutral changes.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    mutator: Vec<String>,
    /// Number of places of each mutator to try in each case; 0: all.
    #[arg(long, value_name = "N", default_value_t = 2)]
    sample: usize,
    /// Largest number of trials in all; 0: no limit.
    #[arg(long, value_name = "N", default_value_t = 0)]
    most: usize,
    /// Seed of the sample; random by default, and printed.
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Number of concurrent trials and of concurrent cases.
    #[arg(long, value_name = "N", default_value_t = default_jobs())]
    jobs: usize,
    /// Number of trials with the wrong outcome to show.
    #[arg(long, value_name = "N", default_value_t = 20)]
    show: usize,
    /// Writes all numbers, and all trials with the wrong outcome, to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Number of defects for the proxy; the agent is played anew for each.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "command")]
    live: usize,
    /// Start of the agent: a name from `list --profiles`, or a file that ends in .json.
    #[arg(long, value_name = "PROFILE", requires = "command")]
    profile: Option<String>,
    /// Multiplies all waits by this factor, for slow machines.
    #[arg(long, default_value_t = 1.0)]
    patience: f64,
    /// Command of the agent.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Measure {
    pub(crate) async fn run(self, suite: &Suite) -> anyhow::Result<ExitCode> {
        let seed = self.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
        self.check_names()?;
        let agent = self.agent(suite)?;
        let bases = match &agent {
            Some(agent) => self.played(suite, agent).await?,
            None => self.golden(suite)?,
        };
        if bases.is_empty() {
            bail!("there is no case to change anything in");
        }
        let plan =
            Plan { sample: self.sample, most: self.most, seed, jobs: self.jobs, only: self.mutator.clone() };
        let mut parts = vec![("what was said", experiment::run(suite, &bases, &plan, &progress)?)];
        if let Some(agent) = agent.filter(|_| self.live > 0) {
            let program = std::env::current_exe().context("the path of this program")?;
            let draw = (self.live, seed);
            let outcome =
                live::run(suite, &agent, &program, &bases, draw, &self.mutator, &mut |_, _| {}).await?;
            parts.push(("the agent with the proxy", outcome));
        }
        let mut text =
            format!("{} of {}, seed {seed}\n", counted(bases.len(), "case", "cases"), self.dialect);
        let mut json = serde_json::json!({"dialect": self.dialect, "seed": seed, "cases": bases.len()});
        for (title, outcome) in &parts {
            text += &format!("\nChanges in {title}\n\n{}", table(outcome, self.show));
            json[*title] = outcome.json();
        }
        if let Some(path) = &self.json {
            std::fs::write(path, json.to_string() + "\n")
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        crate::print(&text)?;
        let is_good = parts.iter().all(|(_, outcome)| outcome.is_good());
        Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Fails for unknown names, which would select no trial.
    fn check_names(&self) -> anyhow::Result<()> {
        let mutators = mutators().into_iter().map(|it| it.name);
        let names: Vec<String> =
            mutators.chain(neutrals().into_iter().map(|it| it.name)).map(str::to_owned).collect();
        match self.mutator.iter().find(|name| !names.contains(name)) {
            Some(name) => bail!(
                "there is no mutator and no neutral change `{name}`; {}",
                suggest(name, &names, "`proxy --list` has the mutators")
            ),
            None => Ok(()),
        }
    }

    fn agent(&self, suite: &Suite) -> anyhow::Result<Option<LiveAgent>> {
        let Some(program) = self.command.first() else { return Ok(None) };
        let profile = match &self.profile {
            Some(name) => suite.profile(name)?,
            None => profile_for(suite, &self.dialect, &self.command)?,
        };
        let mut command = self.command.clone();
        // The proxy starts the program in another directory and with another `PATH`, so the path is made
        // absolute.
        command[0] = find_program(program).to_string_lossy().into_owned();
        Ok(Some(LiveAgent { profile, command, patience: self.patience, jobs: self.jobs }))
    }

    fn cases(&self, suite: &Suite) -> anyhow::Result<Vec<Scenario>> {
        Ok(select(&self.only, suite.cases(&self.dialect)?)?)
    }

    async fn played(&self, suite: &Suite, agent: &LiveAgent) -> anyhow::Result<Vec<Baseline>> {
        let mut cases = self.cases(suite)?;
        cases.retain(|case| not_applicable(case, &agent.profile).is_none());
        let mut tell = |case: &Scenario, base: Result<&Baseline, &LiveError>| match base {
            Ok(_) => {}
            Err(error) => tracing::info!("{} is left out: {error}", case.name),
        };
        Ok(live::bases(suite, agent, cases, &mut tell).await)
    }

    fn golden(&self, suite: &Suite) -> anyhow::Result<Vec<Baseline>> {
        let name = self.dialect.split('@').next().unwrap_or_default();
        let profile = suite.profile(name).or_else(|_| suite.profile(&format!("agentese-{name}")))?;
        let mut bases = Vec::new();
        for case in self.cases(suite)? {
            match Baseline::golden(suite, &case, &profile) {
                Ok(base) => bases.push(base),
                Err(error) => tracing::info!("{} is left out: {error}", case.name),
            }
        }
        Ok(bases)
    }
}

/// Prints the progress in one line, if stderr is a terminal.
fn progress(done: usize, all: usize) {
    if (done.is_multiple_of(100) || done == all) && std::io::stderr().is_terminal() {
        let end = if done == all { "\n" } else { "" };
        eprint!("\r{done} of {all}{end}");
    }
}

fn table(outcome: &Outcome, show: usize) -> String {
    let mut text = String::new();
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

/// Shortens a line to 300 characters.
fn short(line: &str) -> String {
    const LENGTH: usize = 300;
    match line.char_indices().nth(LENGTH) {
        None => line.trim_end().to_owned(),
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}
