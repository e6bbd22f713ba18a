//! `proxy`: an agent with one defect.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::ExitCode;

use agentese_conformance_defects::proxy::{Filter, ProxyOptions, Report, run, works_live};
use agentese_conformance_defects::stream::Stream;
use agentese_conformance_defects::{mutator, mutators};
use anyhow::{Context as _, bail};
use clap::Args;

/// Stands between a client and an agent and changes one thing in what the agent says.
///
/// A mutator says itself where it applies; --at chooses the place, counted from 0 as the places come. Everything
/// else passes through as it is: both directions, stderr, signals, the exit code. Where a mutator has to see the
/// next line to know whether it applies, each line waits for it, 100 ms at most. Nothing is ever changed in
/// values that agents make up (ids, times, paths, ports): a client cannot know better there.
///
/// `proxy --list` says what mutators there are.
#[derive(Debug, Args)]
pub(crate) struct Mutate {
    /// What to change: a name, as --list has it. Without it, nothing is changed.
    #[arg(long, value_name = "NAME")]
    mutator: Option<String>,
    /// Which of the places where it applies, from 0.
    #[arg(long, value_name = "N", default_value_t = 0)]
    at: usize,
    /// The dialect of the agent, as in `pi` or `pi@0.55`.
    #[arg(long, value_name = "NAME", default_value = "pi")]
    dialect: String,
    /// Writes a JSON object to this file when the agent has ended: what was changed (`applied`: mutator, line,
    /// place, before, after; null where nothing was), and how many places there were (`places`).
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Lists the mutators and ends.
    #[arg(long, exclusive = true)]
    list: bool,
    /// The agent.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Mutate {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        if self.list {
            crate::print(&listed())?;
            return Ok(ExitCode::SUCCESS);
        }
        if self.command.is_empty() {
            bail!("there is no command; say `proxy … -- COMMAND`");
        }
        let spec = agentese::dynamic::spec(&self.dialect)?;
        let (mutator, at) = match &self.mutator {
            // Counting to a place that never comes.
            None => (mutators()[0], usize::MAX),
            Some(name) => {
                let found = mutator(name);
                (found.with_context(|| format!("there is no mutator `{name}`; see proxy --list"))?, self.at)
            }
        };
        if !works_live(&mutator) {
            bail!("`{}` needs to know everything that is said; it works within `run` alone", mutator.name);
        }
        let options = ProxyOptions { command: self.command, log: self.log };
        let report = run(Filter::new(Stream::new(spec), mutator, at), &options).await?;
        Ok(ended(&report))
    }
}

/// Ends as the agent did; by a signal where that did.
fn ended(report: &Report) -> ExitCode {
    if let Some(signal) = report.signal {
        // A new program has no handlers: there the signal does what it does to everybody. It returns only
        // where there is no such program.
        let _ = std::process::Command::new("/bin/sh").arg("-c").arg(format!("kill -{signal} $$")).exec();
        return ExitCode::from(u8::try_from(128 + signal).unwrap_or(1));
    }
    ExitCode::from(report.code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

fn listed() -> String {
    let all = mutators();
    let width = all.iter().map(|mutator| mutator.name.len()).max().unwrap_or_default();
    let mut group = None;
    let mut text = String::new();
    for mutator in &all {
        if group.replace(mutator.group) != Some(mutator.group) {
            text += &format!("{}\n", mutator.group.name());
        }
        let live = if works_live(mutator) { "" } else { " (within `run` alone)" };
        text += &format!("  {:width$}  {}{live}\n", mutator.name, mutator.says);
    }
    text
}
