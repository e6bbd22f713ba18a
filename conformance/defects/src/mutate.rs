//! `proxy`: runs an agent with one defect.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::ExitCode;

use agentese_conformance_defects::proxy::{Filter, ProxyOptions, Report, run, works_live};
use agentese_conformance_defects::stream::Stream;
use agentese_conformance_defects::{mutator, mutators};
use anyhow::{Context as _, bail};
use clap::Args;

/// Runs between a client and an agent, and changes one thing in the agent's output.
///
/// The mutator finds the places that it applies to; --at selects one of them, counted from 0 in the order of
/// the output. Everything else passes through unchanged: both directions, stderr, signals, the exit code. If
/// a mutator needs the next line to decide, each line waits for the next one, for at most 100 ms. Values that
/// agents make up (ids, times, paths, ports) never change: a client cannot check them.
///
/// `proxy --list` lists the mutators.
#[derive(Debug, Args)]
pub(crate) struct Mutate {
    /// Name of the mutator, as in --list. Without it, nothing changes.
    #[arg(long, value_name = "NAME")]
    mutator: Option<String>,
    /// Number of the place, counted from 0.
    #[arg(long, value_name = "N", default_value_t = 0)]
    at: usize,
    /// The dialect of the agent, as in `pi` or `pi@0.55`.
    #[arg(long, value_name = "NAME", default_value = "pi")]
    dialect: String,
    /// Writes a JSON object to this file after the agent has ended. `applied` has the change: mutator, line,
    /// place, before, after; null if nothing changed. `places` has the number of places.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Lists the mutators and exits.
    #[arg(long, exclusive = true)]
    list: bool,
    /// Command of the agent.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Mutate {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        if self.list {
            crate::print(&mutator_list())?;
            return Ok(ExitCode::SUCCESS);
        }
        if self.command.is_empty() {
            bail!("there is no command; say `proxy … -- COMMAND`");
        }
        let spec = agentese::dynamic::spec(&self.dialect)?;
        let (mutator, at) = match &self.mutator {
            // No output has this many places, so the proxy changes nothing.
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
        Ok(exit_code_of(&report))
    }
}

/// Returns the agent's exit code, or ends this process by the same signal as the agent.
fn exit_code_of(report: &Report) -> ExitCode {
    if let Some(signal) = report.signal {
        // The shell has no signal handlers, so the signal ends this process, which it replaces. `exec`
        // returns only if there is no shell.
        let _ = std::process::Command::new("/bin/sh").arg("-c").arg(format!("kill -{signal} $$")).exec();
        return ExitCode::from(u8::try_from(128 + signal).unwrap_or(1));
    }
    ExitCode::from(report.code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

fn mutator_list() -> String {
    let all = mutators();
    let width = all.iter().map(|mutator| mutator.name.len()).max().unwrap_or_default();
    let mut group = None;
    let mut text = String::new();
    for mutator in &all {
        if group.replace(mutator.group) != Some(mutator.group) {
            text += &format!("{}\n", mutator.group.name());
        }
        let live = if works_live(mutator) { "" } else { " (within `run` alone)" };
        text += &format!("  {:width$}  {}{live}\n", mutator.name, mutator.description);
    }
    text
}
