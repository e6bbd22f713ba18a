//! Reading of a child's stderr. Everything is read, and the last bytes are retained.
//!
//! A child blocks when its pipe is full, so draining must not depend on a consumer.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;
use tokio::time::{Instant, timeout_at};

use super::options::StderrCallback;
use super::system;

/// Size of one read, in bytes.
const READ: usize = 64 * 1024;
/// Maximum length of a line for the callback, in bytes. A longer line is passed in several parts of this
/// length.
const LINE_PIECE: usize = 16 * 1024;
/// Maximum number of bytes to read after the end of the process; a pipe holds less. The limit is necessary
/// because other processes may keep the pipe open and continue to write.
const MAX_FINAL_READ: usize = 2 * 1024 * 1024;

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

    /// Returns the retained bytes as text; invalid UTF-8 becomes U+FFFD.
    pub(super) fn text(&self) -> String {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = &*bytes.make_contiguous();
        // The cut may have split a character.
        let torn = bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
        String::from_utf8_lossy(&bytes[torn..]).into_owned()
    }
}

/// Reader of a child's stderr. It stores the last bytes and calls the callback with each line.
pub(super) struct StderrDrain {
    /// The pipe of the child's stderr; `None` after the end of stderr.
    pipe: Option<ChildStderr>,
    tail: StderrTail,
    lines: LineSplitter,
    buffer: Vec<u8>,
}

impl StderrDrain {
    pub(super) fn new(pipe: Option<ChildStderr>, tail: StderrTail, callback: Option<StderrCallback>) -> Self {
        Self { pipe, tail, lines: LineSplitter { callback, partial: Vec::new() }, buffer: vec![0; READ] }
    }

    /// Reads once. After the end of stderr, waits forever, as a branch of a `select!` must.
    pub(super) async fn step(&mut self) {
        let Some(pipe) = &mut self.pipe else { return std::future::pending().await };
        match pipe.read(&mut self.buffer).await {
            Ok(count) if count > 0 => self.take(count),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            _ => self.end(),
        }
    }

    /// Reads the bytes that are in the pipe now, without waiting. They are the last output of an ended process.
    /// Windows cannot do this: there, only [`take_rest`](Self::take_rest) reads them.
    pub(super) fn take_ready(&mut self) {
        let mut taken = 0;
        while let Some(pipe) = &self.pipe
            && taken < MAX_FINAL_READ
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

    /// Reads the last output of a process that has just ended. Works like [`take_ready`](Self::take_ready). On
    /// Windows, reads the pipe for a short time instead, because other processes may keep it open.
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

    /// Closes stderr. The last line is delivered even without a line end.
    pub(super) fn end(&mut self) {
        self.pipe = None;
        self.lines.flush();
    }
}

/// Splits stderr into lines for the log and the callback.
struct LineSplitter {
    callback: Option<StderrCallback>,
    partial: Vec<u8>,
}

impl LineSplitter {
    fn add(&mut self, chunk: &[u8]) {
        if self.callback.is_none() && !tracing::enabled!(target: "agentese::stderr", tracing::Level::DEBUG) {
            return;
        }
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            self.partial.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.partial.len() >= LINE_PIECE {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        if self.partial.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(&self.partial);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        tracing::debug!(target: "agentese::stderr", "{line}");
        if let Some(callback) = &self.callback
            && catch_unwind(AssertUnwindSafe(|| callback(line))).is_err()
        {
            tracing::warn!("the stderr callback panicked and is not called again");
            self.callback = None;
        }
        self.partial.clear();
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
        let mut lines = LineSplitter { callback: Some(callback), partial: Vec::new() };
        lines.add(b"one\r\ntw");
        lines.add(b"o\n");
        lines.add(b"bad\nafter\n");
        assert_eq!(*seen.lock().unwrap(), ["one", "two"]);
    }
}
