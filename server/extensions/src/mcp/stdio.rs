//! Transport to a program over stdin and stdout. Each message is one line of limited length.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use agentese::framing::{FrameReader, FramerOptions, FramingError, Incoming};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;

use super::disconnect::DisconnectSignal;
use super::secrets::Secrets;
use crate::tools::{PipedProcess, StderrForwarder};

/// Maximum length of a message of a server, in bytes: a few images.
pub(super) const LONGEST_MESSAGE: usize = 16 << 20;
/// Maximum time for which a server may read nothing while data waits for it.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of an invalid line in messages for the user, in characters.
const MAX_SHOWN: usize = 200;
/// Maximum length of the part of an invalid line that is searched for secrets, in characters.
const MAX_EXAMINED: usize = 16 << 10;

type Input = Box<dyn AsyncWrite + Send + Unpin>;

/// The input and the output of a program.
pub(super) struct Stdio {
    output: FrameReader<Box<dyn AsyncRead + Send + Unpin>>,
    read: VecDeque<Incoming>,
    batch: Vec<Incoming>,
    input: Arc<Mutex<Option<Input>>>,
    invalid_lines: InvalidLineReporter,
    disconnect: DisconnectSignal,
}

/// Reports invalid lines to the user.
pub(super) struct InvalidLineReporter {
    pub name: String,
    pub stderr: Arc<StderrForwarder>,
    pub secrets: Secrets,
}

impl Stdio {
    /// Creates the transport to a program. Also returns the parts of the program that the transport does not use.
    pub fn new(
        talking: PipedProcess,
        invalid_lines: InvalidLineReporter,
        disconnect: DisconnectSignal,
    ) -> (Self, Box<dyn crate::tools::ProcessHandle>, StderrStream) {
        let PipedProcess { input, output, errors, process: running } = talking;
        let options = FramerOptions { max_line: LONGEST_MESSAGE, ..FramerOptions::default() };
        let stdio = Self {
            output: FrameReader::with_options(output, options),
            read: VecDeque::new(),
            batch: Vec::new(),
            input: Arc::new(Mutex::new(Some(input))),
            invalid_lines,
            disconnect,
        };
        (stdio, running, errors)
    }

    /// Returns the message in a line, or `None` if the line is invalid.
    fn message(&self, incoming: Incoming) -> Option<RxJsonRpcMessage<RoleClient>> {
        match incoming {
            Incoming::Frame(frame) if frame.as_str().trim().is_empty() => None,
            Incoming::Frame(frame) => match serde_json::from_str(frame.as_str()) {
                Ok(message) => Some(message),
                Err(_) => {
                    let line = line_excerpt(frame.as_str(), &self.invalid_lines.secrets);
                    self.invalid_lines.report(&format!("a line on its stdout is not a message: {line}"));
                    None
                }
            },
            Incoming::Fault(FramingError::TooLong { .. }) => {
                // A caller that waits for this message would wait forever.
                self.disconnect.set(format!("it sent a message of more than {} MiB", LONGEST_MESSAGE >> 20));
                None
            }
            Incoming::Fault(error) => {
                self.invalid_lines.report(&format!("a line on its stdout is not a message: {error}"));
                None
            }
        }
    }
}

/// Returns the beginning of a line for the user. Secrets are hidden before the line is cut, because a cut secret would
/// not be recognised.
fn line_excerpt(line: &str, secrets: &Secrets) -> String {
    let line: String = line.chars().take(MAX_EXAMINED).collect();
    secrets.redact(&line).chars().take(MAX_SHOWN).collect()
}

/// The stderr of a program.
pub(super) type StderrStream = Box<dyn AsyncRead + Send + Unpin>;

impl InvalidLineReporter {
    fn report(&self, what: &str) {
        self.stderr.warn(&self.name, &self.secrets.redact(what));
    }
}

impl Transport<RoleClient> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (input, disconnect) = (self.input.clone(), self.disconnect.clone());
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let written = tokio::time::timeout(WRITE_TIMEOUT, async {
                let mut input = input.lock().await;
                let open = input.as_mut().ok_or(io::ErrorKind::NotConnected)?;
                open.write_all(&line).await?;
                open.flush().await
            });
            written.await.unwrap_or_else(|_| {
                // A part of the line may be written, so no other line can follow.
                disconnect.set(format!("it has read nothing for {} s", WRITE_TIMEOUT.as_secs()));
                Err(io::ErrorKind::TimedOut.into())
            })
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            while let Some(incoming) = self.read.pop_front() {
                if let Some(message) = self.message(incoming) {
                    return Some(message);
                }
                if self.disconnect.is_set() {
                    return None;
                }
            }
            // A program with continuous output must not block other tasks of this thread.
            tokio::task::yield_now().await;
            match self.output.next_batch(&mut self.batch).await {
                Ok(1..) => self.read.extend(self.batch.drain(..)),
                _ => return None,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        let Ok(mut input) = tokio::time::timeout(WRITE_TIMEOUT, self.input.lock()).await else {
            return Ok(());
        };
        match input.take() {
            Some(mut input) => input.shutdown().await,
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fm_f118_a_secret_at_the_end_of_an_excerpt_is_hidden() {
        let secrets = Secrets::from_values(vec!["canary-in-a-line"]);
        for before in MAX_SHOWN - 20..=MAX_SHOWN {
            let line = format!("{}canary-in-a-line and more", "x".repeat(before));
            let shown = line_excerpt(&line, &secrets);
            assert!(!shown.contains('c') && shown.chars().count() <= MAX_SHOWN, "{shown}");
        }
    }
}
