//! `replay`: runs an agent that plays a transcript.

use std::path::Path;
use std::process::ExitCode;

use agentese_conformance::replay::{Deviation, replay_with};
use agentese_conformance::{Suite, Transcript};
use anyhow::Context as _;
use clap::Args;

/// Play the agent's side of a recorded session on stdin and stdout, for tests of clients.
///
/// The played agent waits for each recorded command and sends the recorded lines, with the ids of this client.
/// Deviations of the client are reported on stderr; with --strict they cause exit code 1. A command that is not
/// in the transcript gets the same answer as the last such command.
#[derive(Debug, Args)]
pub(super) struct Replay {
    /// Transcript: a file that ends in .jsonl, or the name of a case.
    transcript: String,
    /// Dialect of the transcript, such as `pi` or `pi@0.55`.
    #[arg(long, value_name = "NAME")]
    dialect: String,
    /// Exit with code 1 if the client deviates from the recorded client.
    #[arg(long)]
    strict: bool,
}

impl Replay {
    pub(super) async fn run(self, suite: &Suite) -> anyhow::Result<ExitCode> {
        let spec = agentese::dynamic::spec(&self.dialect)?;
        let transcript = if self.transcript.ends_with(".jsonl") {
            Transcript::load(Path::new(&self.transcript))?
        } else {
            suite
                .golden(&self.dialect, &self.transcript)?
                .with_context(|| format!("no transcript of a case `{}`", self.transcript))?
        };
        let mut remarks = 0;
        let result = replay_with(spec, &transcript, agentese::transport::stdio()?, |remark| {
            remarks += 1;
            eprintln!("{}", describe_deviation(&remark));
        })
        .await;
        result?;
        Ok(if self.strict && remarks > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

fn describe_deviation(remark: &Deviation) -> String {
    match remark {
        Deviation::Unexpected { line, waiting: Some(waiting) } => {
            format!("unexpected line; the transcript expects {waiting}: {line}")
        }
        Deviation::Unexpected { line, waiting: None } => format!("unexpected line after the end: {line}"),
        Deviation::Different { line, recorded } => format!("different line: {line}\n recorded: {recorded}"),
        Deviation::Unreadable { reason } => format!("unreadable line: {reason}"),
        other => format!("{other:?}"),
    }
}
