//! Relay for an agent that speaks the client's dialect and revision. The bytes of both sides pass unchanged.

use std::io;
use std::path::Path;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use agentese::framing::{Framer, FramerOptions};
use agentese::spec::Spec;
use agentese::tap::{Direction, Tap as _};
use agentese::transport::Transport;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

use super::fidelity_report::{FidelityReport, FrameCounts};
use crate::error::BridgeError;
use agentese_process::stderr::Stderr;
use agentese_process::stdio;
use agentese_process::stdout::StdoutWatcher;

/// Size in bytes of the blocks that are copied, equal to the capacity of a pipe.
const BLOCK: usize = 64 * 1024;

/// The time that a client has to read the last output of an agent that has ended.
const LAST_OUTPUT_LIMIT: Duration = Duration::from_secs(8);

/// Returns `true` if the agent speaks the client's dialect and revision. An unknown revision of the agent matches only
/// if the dialect has a single revision.
pub(super) fn is_same(front: &Spec, (dialect, revision): (&Spec, Option<&Spec>)) -> bool {
    match revision {
        Some(revision) => revision.id() == front.id(),
        None => dialect.name == front.name && dialect.revisions.len() <= 1,
    }
}

/// Passes bytes in both directions until the client disconnects, then ends the agent. Counts the frames and writes a
/// report if a file is given. Returns exit code 1 if the agent disconnects before the client.
pub(super) async fn serve(
    agent: Transport,
    front: &'static Spec,
    report: Option<&Path>,
    stderr: &Stderr,
) -> Result<ExitCode, BridgeError> {
    let Some(path) = report else { return relay(agent, None, stderr).await };
    let received = Arc::<FrameCounts>::default();
    let fidelity = FidelityReport::new(front, front, received.clone());
    let fidelity = fidelity.map_err(|error| BridgeError::Usage(format!("cannot use the agent: {error}")))?;
    let code = relay(agent, Some(RelayCounters { fidelity: &fidelity, received: &received }), stderr).await?;
    fidelity.write_report(path)?;
    Ok(code)
}

/// Counters for the frames of both directions.
#[derive(Clone, Copy)]
struct RelayCounters<'a> {
    fidelity: &'a FidelityReport,
    received: &'a FrameCounts,
}

impl RelayCounters<'_> {
    fn count(self, direction: Direction, line: &str) {
        match direction {
            Direction::Sent => self.fidelity.count_sent(line),
            Direction::Received => self.received.frame(direction, line),
        }
    }
}

/// Returns a function that counts the frames in the bytes of one direction. Without counters, the function
/// does nothing.
fn counter(counts: Option<RelayCounters<'_>>, direction: Direction) -> impl FnMut(&[u8]) {
    let mut framer = Framer::new(FramerOptions::default());
    move |bytes| {
        let Some(counts) = counts else { return };
        framer.push(bytes, &mut |line| {
            // An invalid line is passed on, but not counted.
            if let Ok(line) = line {
                counts.count(direction, line.text);
            }
        });
    }
}

async fn relay(
    agent: Transport,
    counts: Option<RelayCounters<'_>>,
    stderr: &Stderr,
) -> Result<ExitCode, BridgeError> {
    let failed = |context: &str| {
        let context = context.to_owned();
        |source| BridgeError::Io { context, source }
    };
    let stop = CancellationToken::new();
    let mut watch = StdoutWatcher::start();
    let signals = stdio::end_on_signals(stop.clone()).map_err(failed("signals"))?;
    let (from_client, to_client, _) =
        agentese::transport::guard_stdio().map_err(failed("stdio"))?.into_parts();
    let (from_agent, to_agent, child) = agent.into_parts();
    let mut down = pin!(copy(from_agent, to_client, counter(counts, Direction::Received)));
    let mut is_output_done = false;
    let has_left = {
        let mut up = pin!(copy(from_client, to_agent, counter(counts, Direction::Sent)));
        let mut listens = true;
        loop {
            tokio::select! {
                biased;
                passed = &mut up, if listens => match passed {
                    RelayEnd::EndOfInput => break true,
                    // The agent reads no more input, but may still write the reason for its end.
                    RelayEnd::ReceiverClosed => listens = false,
                },
                passed = &mut down => {
                    is_output_done = true;
                    break passed == RelayEnd::ReceiverClosed;
                }
                () = stop.cancelled() => break true,
                () = watch.closed() => {
                    is_output_done = true;
                    break true;
                }
            }
        }
    };
    let end = async {
        match &child {
            Some(child) => child.shutdown().await.to_string(),
            None => "ended".to_owned(),
        }
    };
    let ended = if is_output_done {
        end.await
    } else {
        // The client receives all output of the agent up to its end.
        let mut end = pin!(end);
        tokio::select! {
            _ = &mut down => end.await,
            ended = &mut end => {
                let _ = tokio::time::timeout(LAST_OUTPUT_LIMIT, down).await;
                ended
            }
        }
    };
    signals.abort();
    if has_left {
        return Ok(ExitCode::SUCCESS);
    }
    stderr.write_line(format_args!("Error: the agent disconnected: {ended}"));
    Ok(ExitCode::FAILURE)
}

/// Reason why the copying in one direction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RelayEnd {
    /// The input has ended, and all of it was passed on.
    EndOfInput,
    /// The receiver accepts no more input.
    ReceiverClosed,
}

/// Copies all bytes as they arrive, and passes them to `seen`.
async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut seen: impl FnMut(&[u8]),
) -> RelayEnd {
    let mut block = vec![0; BLOCK];
    loop {
        let bytes = match from.read(&mut block).await {
            Ok(0) => return RelayEnd::EndOfInput,
            Ok(count) => &block[..count],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return RelayEnd::EndOfInput,
        };
        seen(bytes);
        if to.write_all(bytes).await.is_err() || to.flush().await.is_err() {
            return RelayEnd::ReceiverClosed;
        }
    }
}

#[cfg(test)]
mod tests {
    use agentese::dynamic;

    use super::*;

    fn same(to: &str, from: &str) -> bool {
        is_same(dynamic::spec(to).unwrap(), dynamic::client(from).unwrap())
    }

    #[test]
    fn one_dialect_in_one_revision_needs_no_translation() {
        assert!(same("pi@1.5", "pi@1.5") && same("pi", "pi@0.55"));
        assert!(same("opal", "opal") && same("opal@0.1", "opal"));
        // If both sides name only the dialect, the agent may still speak another revision.
        assert!(!same("pi", "pi") && !same("pi@1.5", "pi") && !same("omp", "omp"));
        assert!(!same("pi", "pi@1.5") && !same("pi", "omp"));
    }

    #[tokio::test]
    async fn bytes_are_copied_unchanged_and_observed() {
        let sent: Vec<u8> = (0..3 * BLOCK).map(|at| (at % 251) as u8).collect();
        let (mut to, mut shown) = (Vec::new(), Vec::new());
        let passed = copy(&sent[..], &mut to, |bytes| shown.extend_from_slice(bytes)).await;
        assert_eq!(passed, RelayEnd::EndOfInput);
        assert!(to == sent && shown == sent);
    }

    #[tokio::test]
    async fn a_closed_receiver_ends_the_copy() {
        let (reader, writer) = tokio::io::duplex(16);
        drop(reader);
        assert_eq!(copy(&b"lost\n"[..], writer, |_| {}).await, RelayEnd::ReceiverClosed);
    }
}
