//! The process of the driver. It receives instructions on stdin and sends reports on stdout.

use std::io;
use std::time::Duration;

use agentese::framing::{FrameReader, FramerOptions, Incoming};
use agentese::transport::{BoxReader, BoxWriter, ChildOptions, ChildProcess, SpawnError};
use agentese::types::DriverInstruction;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc::UnboundedSender;

use super::input::Input;

/// Longest report, in bytes. A report contains a frame, which may have 64 MiB.
const MAX_REPORT: usize = 256 << 20;
/// Time for the driver to end after its stdin is closed, and time after SIGTERM.
const GRACES: (Duration, Duration) = (Duration::from_secs(3), Duration::from_secs(1));

/// A driver that is running.
pub(super) struct Driver {
    process: ChildProcess,
    stdin: BoxWriter,
}

impl Driver {
    /// Starts the program in a process group of its own; sends its reports to the inbox.
    pub(super) fn start(command: &[String], inbox: UnboundedSender<Input>) -> Result<Self, SpawnError> {
        let (program, arguments) = command.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
        let options = ChildOptions::new(program).args(arguments).graces(GRACES.0, GRACES.1);
        let (process, stdout, stdin) = ChildProcess::spawn(options)?;
        tokio::spawn(read(stdout, inbox));
        Ok(Self { process, stdin })
    }

    /// Sends an instruction to the driver.
    pub(super) async fn send(&mut self, instruction: &DriverInstruction) -> io::Result<()> {
        let mut line = serde_json::to_string(instruction).map_err(io::Error::other)?;
        // Some JSON readers treat these characters as line ends, so they are escaped.
        for (character, escape) in [('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029"), ('\u{85}', "\\u0085")] {
            line = line.replace(character, escape);
        }
        line.push('\n');
        // The writer has no buffer. A flush would fail if the driver has already obeyed and ended.
        self.stdin.write_all(line.as_bytes()).await
    }

    /// Closes the driver's stdin: there are no more instructions.
    pub(super) async fn close_stdin(&mut self) {
        // If the driver has already ended, its closed stdout shows that.
        let _ = self.stdin.shutdown().await;
        self.process.close_stdin();
    }

    /// Returns the last line that the driver wrote to stderr.
    pub(super) fn last_stderr_line(&self) -> Option<String> {
        let tail = self.process.stderr_tail();
        tail.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned)
    }

    /// Ends the driver and everything in its process group.
    pub(super) async fn end(self) {
        drop(self.stdin);
        self.process.close_stdin();
        self.process.shutdown().await;
    }
}

async fn read(stdout: BoxReader, inbox: UnboundedSender<Input>) {
    let options = FramerOptions { max_line: MAX_REPORT, ..FramerOptions::default() };
    let mut frames = FrameReader::with_options(stdout, options);
    let mut batch = Vec::new();
    while frames.next_batch(&mut batch).await.is_ok_and(|count| count > 0) {
        for incoming in batch.drain(..) {
            let input = match incoming {
                Incoming::Frame(line) => Input::Report(line),
                Incoming::Fault(fault) => Input::BadReport(fault.to_string()),
            };
            if inbox.send(input).is_err() {
                return;
            }
        }
    }
    let _ = inbox.send(Input::DriverEnded);
}
