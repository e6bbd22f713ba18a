//! Forwarding of a process's stderr, and of warnings about its output, to the log of this program. The number
//! of lines is limited.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// Maximum number of lines, and of warnings, that are forwarded.
const LINES: usize = 1_000;
/// Maximum length in bytes of a forwarded line. A longer line is split.
const LINE: u64 = 4 << 10;

/// Forwards the stderr of a process, and warnings about it, to the log.
#[derive(Default)]
pub struct StderrForwarder {
    /// Number of warnings so far.
    warnings: AtomicUsize,
    /// The last line of the process's stderr. It often contains the reason why the process ended.
    last_line: Mutex<String>,
}

impl StderrForwarder {
    /// Logs a warning about invalid output of the process, unless the limit is reached.
    pub fn warn(&self, name: &str, what: &str) {
        match self.warnings.fetch_add(1, Ordering::Relaxed) {
            before if before < LINES => tracing::warn!("{name}: {what}"),
            LINES => tracing::warn!("{name}: further warnings about its output are not shown"),
            _ => {}
        }
    }

    /// Returns the last line of the process's stderr.
    pub fn last_line(&self) -> String {
        self.last_line.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forwards the stderr of the process until its end.
    pub async fn forward(
        &self,
        errors: impl AsyncRead + Unpin,
        name: impl Fn() -> String,
        filter: &impl StderrFilter,
    ) {
        let mut lines =
            StderrLines { errors: BufReader::new(errors), bytes: Vec::new(), text: String::new() };
        let mut count = 0;
        while let Some(line) = lines.next(filter).await {
            count += 1;
            let line = line.trim_end();
            if count <= LINES {
                tracing::warn!("{}: {}", name(), filter.redact(line));
            }
            if !line.is_empty() {
                line.clone_into(&mut self.last_line.lock().unwrap_or_else(PoisonError::into_inner));
            }
        }
    }
}

/// Removes secrets from the stderr of a process.
pub trait StderrFilter {
    /// Returns the text without its secrets.
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str>;

    /// Returns the position at which an incomplete text can be split without splitting a secret.
    fn split_point(&self, text: &str) -> usize;
}

/// A filter that removes nothing.
pub struct NoFilter;

impl StderrFilter for NoFilter {
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        text.into()
    }

    fn split_point(&self, text: &str) -> usize {
        text.len()
    }
}

/// Reads lines from stderr. A very long line is returned in several parts.
struct StderrLines<R> {
    errors: BufReader<R>,
    /// Bytes of a character that is not complete yet.
    bytes: Vec<u8>,
    /// Text of the line that was not returned yet.
    text: String,
}

impl<R: AsyncRead + Unpin> StderrLines<R> {
    /// Returns the next line or part of a line. Returns `None` at the end.
    async fn next(&mut self, filter: &impl StderrFilter) -> Option<String> {
        loop {
            let piece = (&mut self.errors).take(LINE).read_until(b'\n', &mut self.bytes).await;
            let is_over = !matches!(piece, Ok(1..));
            let is_whole = is_over || self.bytes.ends_with(b"\n");
            let incomplete = match self.bytes.utf8_chunks().last() {
                Some(last) if !is_whole => last.invalid().len(),
                _ => 0,
            };
            let rest = self.bytes.split_off(self.bytes.len() - incomplete);
            self.text.push_str(&String::from_utf8_lossy(&self.bytes));
            self.bytes = rest;
            let at = if is_whole { self.text.len() } else { filter.split_point(&self.text) };
            if at > 0 {
                let rest = self.text.split_off(at);
                return Some(std::mem::replace(&mut self.text, rest));
            }
            if is_over {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A filter that removes the text `canary`.
    struct Canary;

    impl StderrFilter for Canary {
        fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
            text.replace("canary", "***").into()
        }

        fn split_point(&self, text: &str) -> usize {
            let partial = (1..6).rev().find(|length| text.ends_with(&"canary"[..*length]));
            text.len() - partial.unwrap_or(0)
        }
    }

    #[tokio::test]
    async fn fm_f118_a_secret_is_not_split_between_pieces() {
        let piece = usize::try_from(LINE).unwrap();
        for before in piece - 8..piece + 2 {
            let text = format!(
                "{}canary and\u{e9}more\nanother\n",
                "\u{e9}".repeat(before / 2) + &"x".repeat(before % 2)
            );
            let mut lines = StderrLines {
                errors: BufReader::new(text.as_bytes()),
                bytes: Vec::new(),
                text: String::new(),
            };
            let mut shown = String::new();
            while let Some(line) = lines.next(&Canary).await {
                shown.push_str(&Canary.redact(&line));
            }
            assert_eq!(shown, text.replace("canary", "***"));
        }
    }
}
