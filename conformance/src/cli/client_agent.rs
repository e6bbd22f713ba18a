//! `client-agent`: the agent's process in client mode. Drivers start it, users do not.

use std::path::PathBuf;
use std::process::ExitCode;

use agentese_conformance::client::relay;
use anyhow::Context as _;
use clap::Args;

/// Runs as the agent of a case in client mode: passes bytes between stdin, stdout and the suite.
#[derive(Debug, Args)]
pub(super) struct ClientAgent {
    /// Socket of the suite.
    socket: PathBuf,
}

impl ClientAgent {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        match relay(&self.socket).await.context("cannot reach the suite")? {}
    }
}
