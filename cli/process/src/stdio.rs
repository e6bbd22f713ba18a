//! Agent on stdin and stdout of this process, until its client disconnects.

use std::process::ExitCode;
use std::time::Duration;

use agentese::serve::{Options, ServeEnd};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::error::Error;
use super::stderr::Stderr;
use super::stdout::StdoutWatcher;
use agentese_server_dialects::server::Server;

/// Time limit of an orderly shutdown, which a client that does not read could delay forever.
const SHUTDOWN: Duration = Duration::from_secs(8);

/// Serves stdin and stdout until the client disconnects, a signal arrives, or the options' token is
/// cancelled.
pub async fn serve(server: Server, options: Options, stderr: &Stderr) -> Result<ExitCode, Error> {
    let failed = |context: &str| {
        let context = context.to_owned();
        |source| Error::Io { context, source }
    };
    let (stop, finish) = (options.stop.clone(), options.finish.clone());
    let mut watch = StdoutWatcher::start();
    let signals = end_on_signals(stop.clone()).map_err(failed("signals"))?;
    let transport = agentese::transport::guard_stdio().map_err(failed("stdio"))?;
    let overdue = async {
        tokio::select! {
            () = stop.cancelled() => {}
            () = finish.cancelled() => {}
        }
        tokio::time::sleep(SHUTDOWN).await;
    };
    let unread = async {
        watch.closed().await;
        stop.cancel();
        std::future::pending::<()>().await
    };
    let code = tokio::select! {
        served = server.serve_with_outcome(transport, options) => {
            tracing::debug!(?served, "serving ended");
            if let Some(reason) = &served.unsaved {
                stderr.write_line(format_args!("Error: part of the conversation could not be saved: {reason}"));
            }
            if served.ended == ServeEnd::FailedOutput {
                stderr.write_line("Error: stdout cannot be written; frames are lost");
            }
            match served.unsaved.is_none() && served.ended != ServeEnd::FailedOutput {
                true => ExitCode::SUCCESS,
                false => ExitCode::FAILURE,
            }
        }
        () = overdue => {
            tracing::error!("the shutdown took too long and was cut short");
            ExitCode::FAILURE
        }
        () = unread => ExitCode::SUCCESS,
    };
    signals.abort();
    Ok(code)
}

/// Requests an orderly end at the first signal, and exits at the second one.
pub fn end_on_signals(stop: CancellationToken) -> std::io::Result<tokio::task::JoinHandle<()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    Ok(tokio::spawn(async move {
        loop {
            let number = tokio::select! {
                _ = terminate.recv() => SignalKind::terminate(),
                _ = interrupt.recv() => SignalKind::interrupt(),
                _ = hang_up.recv() => SignalKind::hangup(),
            };
            if stop.is_cancelled() {
                std::process::exit(128 + number.as_raw_value());
            }
            stop.cancel();
        }
    }))
}
