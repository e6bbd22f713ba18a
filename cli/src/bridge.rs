//! `agentese bridge`: the command line of the crate `agentese-bridge`.

use std::process::ExitCode;
use std::time::Duration;

use agentese_bridge::{Bridge, BridgeOptions};
use agentese_process::output;
use agentese_process::stderr::Stderr;

use crate::command_line;
use crate::error::CliError;
use crate::rpc;

/// Serves a client until it disconnects, with an agent of another dialect, or prints the translation between
/// two dialects.
pub(super) fn run(options: command_line::Bridge, stderr: &Stderr) -> Result<ExitCode, CliError> {
    if let Some(pair) = &options.explain {
        return explain(pair, options.json);
    }
    let bridge = Bridge::new(BridgeOptions {
        to: options.to.unwrap_or_default(),
        from: options.from,
        port: options.port,
        allow_origin: options.allow_origin,
        reconnect_limit: options.reconnect_seconds.map(|seconds| Duration::from_secs(seconds.into())),
        overlapping_calls: options.overlapping_calls,
        report: options.report,
        command: options.command,
    })?;
    rpc::log_to(stderr, false);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|source| CliError::Io { context: "cannot start the runtime".to_owned(), source })?;
    let code = runtime.block_on(bridge.serve(stderr));
    runtime.shutdown_background();
    Ok(code?)
}

/// Prints how faithfully each row is translated between two dialects.
fn explain(pair: &[String], json: bool) -> Result<ExitCode, CliError> {
    let [front, agent] = pair else {
        return Err(CliError::Usage("--explain needs two dialects".to_owned()));
    };
    let explanation = agentese_bridge::explain(front, agent)?;
    Ok(match json {
        false => output::print(&explanation.text())?,
        true => output::print_json(&explanation.json())?,
    })
}
