//! `model`: the scripted model as a server.

use std::path::PathBuf;
use std::process::ExitCode;

use agentese::types::ModelScript;
use agentese_conformance::file;
use agentese_conformance::model::{ModelOptions, ScriptedModel};
use anyhow::Context as _;
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

/// Serve a scripted model on 127.0.0.1, for tests of any agent without a key.
///
/// The model gives the answers of a script, until SIGINT or SIGTERM. It speaks Anthropic Messages (POST
/// …/messages), OpenAI Chat Completions (…/chat/completions), OpenAI Responses (…/responses) and Google Generative
/// AI (…:streamGenerateContent), all of them streaming.
/// It prints its address to stdout.
#[derive(Debug, Args)]
pub(super) struct Model {
    /// Read the script from this file: {"responses": [...]}, see docs/conformance.md.
    #[arg(long, value_name = "FILE")]
    script: PathBuf,
    /// Listen on this port; 0 selects a free port.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Write the port to this file when the server listens, and nothing to stdout.
    #[arg(long, value_name = "FILE")]
    port_file: Option<PathBuf>,
    /// Write a line of JSON for each request to this file.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

impl Model {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let script: ModelScript = file::load(&self.script, "model-script")?;
        let (mut interrupted, mut ended) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let options = ModelOptions { port: self.port, log: self.log };
        let model = ScriptedModel::start_with(script, options).await?;
        match &self.port_file {
            None => super::print(&format!("{}\n", model.url()))?,
            Some(path) => write_atomic(path, &model.address().port().to_string())
                .with_context(|| format!("cannot write {}", path.display()))?,
        }
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = ended.recv() => {}
        }
        model.stop().await;
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes the file in one step, so that no reader sees half of it.
fn write_atomic(path: &std::path::Path, text: &str) -> std::io::Result<()> {
    let part = path.with_extension("part");
    std::fs::write(&part, text)?;
    std::fs::rename(&part, path)
}
