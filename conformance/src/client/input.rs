//! Inputs of a case in progress, and the reader of the client's lines.

use agentese::framing::FrameText;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::OwnedReadHalf;
use tokio::sync::mpsc::UnboundedSender;

use super::relay::AgentWriter;

/// An input of the suite.
pub(super) enum Input {
    /// The agent's process has connected.
    Agent(OwnedReadHalf, AgentWriter),
    /// The client sent a line.
    Line(ClientLine),
    /// The client closed the agent's stdin.
    StdinClosed,
    /// A report of the driver.
    Report(FrameText),
    /// The driver wrote bytes that are not text.
    BadReport(String),
    /// The driver ended.
    DriverEnded,
}

/// A line of the client: its bytes without the line feed. `whole` is `true` if the line had a line feed.
#[derive(Debug)]
pub(super) struct ClientLine {
    pub(super) bytes: Vec<u8>,
    pub(super) whole: bool,
}

/// Reads the client's output to its end. Only a line feed ends a line, not a carriage return.
pub(super) async fn listen(mut reader: OwnedReadHalf, inbox: UnboundedSender<Input>) {
    let mut buffer = Vec::new();
    let mut searched = 0;
    while reader.read_buf(&mut buffer).await.is_ok_and(|count| count > 0) {
        while let Some(end) = memchr::memchr(b'\n', &buffer[searched..]) {
            let rest = buffer.split_off(searched + end + 1);
            let mut bytes = std::mem::replace(&mut buffer, rest);
            bytes.pop();
            searched = 0;
            let _ = inbox.send(Input::Line(ClientLine { bytes, whole: true }));
        }
        searched = buffer.len();
    }
    if !buffer.is_empty() {
        let _ = inbox.send(Input::Line(ClientLine { bytes: buffer, whole: false }));
    }
    let _ = inbox.send(Input::StdinClosed);
}
