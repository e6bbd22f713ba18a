//! Start of the agent's program, and detection of its dialect.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentese::any::Agent;
use agentese::dynamic;
use agentese::spec::Spec;
use agentese::transport::ChildOptions;
use agentese_process::stderr::Stderr;
use agentese_server_dialects::dialects::ACP;

use crate::error::BridgeError;
use crate::options::BridgeOptions;

/// The maximum number of commands, mainly prompts, that wait for a response of the agent. Further commands
/// are rejected.
pub(crate) const MAX_COMMANDS: usize = 1024;

/// Returns the dialect of the agents started with a command line, or ACP. If the options do not name a dialect, starts an
/// agent, detects its dialect and ends it. Fails if the dialect is not detected.
pub(crate) async fn agent_dialect(
    options: &BridgeOptions,
    stderr: &Stderr,
) -> Result<&'static Spec, BridgeError> {
    let unusable = |error: agentese::Error| BridgeError::Usage(format!("cannot use the agent: {error}"));
    if let Some(name) = &options.from {
        if is_acp(name) {
            return Ok(ACP.spec());
        }
        let (spec, revision) = dynamic::client(name).map_err(unusable)?;
        return Ok(revision.unwrap_or(spec));
    }
    let agent =
        Agent::spawn(child(options, stderr)?, agentese::any::Options::new()).await.map_err(unusable)?;
    let spec = agent.spec();
    agent.close().await;
    Ok(spec)
}

/// Returns the working directory of this process.
pub(crate) fn current_dir() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| Path::new("/").to_owned())
}

/// Returns the agent's program with its arguments. The program's stderr is forwarded to `stderr`.
pub(crate) fn child(options: &BridgeOptions, stderr: &Stderr) -> Result<ChildOptions, BridgeError> {
    let (program, words) = options
        .command
        .split_first()
        .ok_or_else(|| BridgeError::Usage("no command line of the agent; pass it after `--`".to_owned()))?;
    let mut child = words.iter().fold(ChildOptions::new(program), ChildOptions::arg);
    let stderr = stderr.clone();
    child.on_stderr_line = Some(Arc::new(move |line: &str| stderr.write_line(line)));
    Ok(child)
}

/// Returns `true` if the name denotes ACP, which is a protocol but not a dialect.
pub(crate) fn is_acp(name: &str) -> bool {
    name == ACP.spec().name || name == ACP.spec().id()
}
