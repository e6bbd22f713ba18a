//! A child's stderr: always read, its end kept.
//!
//! A child that writes more than a pipe holds stops until somebody reads, so reading never depends on anyone
//! being interested.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;
use tokio::time::{Instant, timeout_at};

use super::system;

/// Called with each line a child writes to stderr, without its line end, in order, on the task that reads
/// stderr: it must not block. Should it panic it is not called again.
pub type StderrCallback = Arc<dyn Fn(&str) + Send + Sync>;

/// How much is read at once, in bytes.
const READ: usize = 64 * 1024;
/// A longer line is handed to the callback in pieces of this many bytes.
const LINE_PIECE: usize = 16 * 1024;
/// How much is taken at most when the process has ended, in bytes: what a pipe can hold, and then some. Others
/// may hold the pipe and go on writing.
const LAST_TAKE: usize = 2 * 1024 * 1024;

/// The last bytes of a child's stderr. Clones share them.
#[derive(Clone)]
pub(super) struct StderrTail {
    cap: usize,
    bytes: Arc<Mutex<VecDeque<u8>>>,
}

impl StderrTail {
    pub(super) fn new(cap: usize) -> Self {
        Self { cap, bytes: Arc::default() }
    }

    fn add(&self, chunk: &[u8]) {
        let chunk = &chunk[chunk.len().saturating_sub(self.cap)..];
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let excess = (bytes.len() + chunk.len()).saturating_sub(self.cap);
        bytes.drain(..excess);
        bytes.extend(chunk);
    }

    /// The kept bytes as text; what is not UTF-8 becomes U+FFFD.
    pub(super) fn text(&self) -> String {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = &*bytes.make_contiguous();
        // The cut may have gone through a character.
        let torn = bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
        String::from_utf8_lossy(&bytes[torn..]).into_owned()
    }
}

/// Reads a child's stderr into its tail and its callback.
pub(super) struct StderrDrain {
    /// `None` once it has ended.
    pipe: Option<ChildStderr>,
    tail: StderrTail,
    lines: Lines,
    buffer: Vec<u8>,
}

impl StderrDrain {
    pub(super) fn new(pipe: Option<ChildStderr>, tail: StderrTail, callback: Option<StderrCallback>) -> Self {
        Self { pipe, tail, lines: Lines { callback, held: Vec::new() }, buffer: vec![0; READ] }
    }

    /// Reads once. Never resolves after the end of stderr, so that it can stand in a `select!`.
    pub(super) async fn step(&mut self) {
        let Some(pipe) = &mut self.pipe else { return std::future::pending().await };
        match pipe.read(&mut self.buffer).await {
            Ok(count) if count > 0 => self.take(count),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            _ => self.end(),
        }
    }

    /// Takes what is in the pipe now, without waiting: what a process wrote before it ended. Windows cannot look into
    /// a pipe; there only [`take_rest`](Self::take_rest) does this.
    pub(super) fn take_ready(&mut self) {
        let mut taken = 0;
        while let Some(pipe) = &self.pipe
            && taken < LAST_TAKE
        {
            match system::read_ready(pipe, &mut self.buffer) {
                Ok(0) => self.end(),
                Ok(count) => {
                    taken += count;
                    self.take(count);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
    }

    /// Like [`take_ready`](Self::take_ready), for a process that has just ended. Where the system cannot look into a
    /// pipe, reads it to its end for a short time: other processes may hold it open.
    pub(super) async fn take_rest(&mut self) {
        self.take_ready();
        let Some(wait) = system::STDERR_WAIT else { return };
        let deadline = Instant::now() + wait;
        while self.pipe.is_some() && timeout_at(deadline, self.step()).await.is_ok() {}
    }

    pub(super) fn tail(&self) -> &StderrTail {
        &self.tail
    }

    fn take(&mut self, count: usize) {
        let chunk = &self.buffer[..count];
        self.tail.add(chunk);
        self.lines.add(chunk);
    }

    /// Closes stderr, or notes that it has ended. A last line without its end is handed on.
    pub(super) fn end(&mut self) {
        self.pipe = None;
        self.lines.flush();
    }
}

/// Cuts stderr into lines for the log and the callback.
struct Lines {
    callback: Option<StderrCallback>,
    held: Vec<u8>,
}

impl Lines {
    fn add(&mut self, chunk: &[u8]) {
        if self.callback.is_none() && !tracing::enabled!(target: "agentese::stderr", tracing::Level::DEBUG) {
            return;
        }
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            self.held.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.held.len() >= LINE_PIECE {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(&self.held);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        tracing::debug!(target: "agentese::stderr", "{line}");
        if let Some(callback) = &self.callback
            && catch_unwind(AssertUnwindSafe(|| callback(line))).is_err()
        {
            tracing::warn!("the stderr callback panicked and is not called again");
            self.callback = None;
        }
        self.held.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_end_and_no_torn_character() {
        let tail = StderrTail::new(5);
        tail.add("aä".as_bytes());
        assert_eq!(tail.text(), "aä");
        // The cap now falls between the two bytes of the letter.
        tail.add(b"1234");
        assert_eq!(tail.text(), "1234");
        tail.add(b"a chunk longer than the cap");
        assert_eq!(tail.text(), "e cap");
    }

    #[test]
    fn calls_back_per_line_and_survives_a_panic() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        let callback: StderrCallback = Arc::new(move |line: &str| {
            assert_ne!(line, "bad", "a callback may fail");
            sink.lock().unwrap().push(line.to_owned());
        });
        let mut lines = Lines { callback: Some(callback), held: Vec::new() };
        lines.add(b"one\r\ntw");
        lines.add(b"o\n");
        lines.add(b"bad\nafter\n");
        assert_eq!(*seen.lock().unwrap(), ["one", "two"]);
    }
}
