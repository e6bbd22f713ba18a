//! Messages of a process for the user: its stderr, and invalid frames. They are forwarded to the agent's
//! stderr, within limits.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// Maximum number of forwarded lines of each kind.
const LINES: usize = 1_000;
/// Maximum length of a forwarded line of stderr in bytes; longer lines are split.
const LINE: u64 = 4 << 10;

/// Output of a program for people: its stderr, which is logged.
#[derive(Default)]
pub struct Noise {
    /// Number of warnings about its output.
    complaints: AtomicUsize,
    /// The last line of its stderr, which often contains the reason for its end.
    last_words: Mutex<String>,
}

impl Noise {
    /// Logs a warning about invalid output. Further warnings beyond the limit are dropped.
    pub fn complain(&self, name: &str, what: &str) {
        match self.complaints.fetch_add(1, Ordering::Relaxed) {
            before if before < LINES => tracing::warn!("{name}: {what}"),
            LINES => tracing::warn!("{name}: more of what it should not send is not shown"),
            _ => {}
        }
    }

    /// Returns the last line of its stderr.
    pub fn last_words(&self) -> String {
        self.last_words.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forwards its stderr until the end.
    pub async fn pass_on(
        &self,
        errors: impl AsyncRead + Unpin,
        name: impl Fn() -> String,
        shows: &impl Shows,
    ) {
        let mut lines = Lines { errors: BufReader::new(errors), bytes: Vec::new(), text: String::new() };
        let mut seen = 0;
        while let Some(line) = lines.next(shows).await {
            seen += 1;
            let line = line.trim_end();
            if seen <= LINES {
                tracing::warn!("{}: {}", name(), shows.shown(line));
            }
            if !line.is_empty() {
                line.clone_into(&mut self.last_words.lock().unwrap_or_else(PoisonError::into_inner));
            }
        }
    }
}

/// Filter for the messages of a process.
pub trait Shows {
    /// Returns the text without its secrets.
    fn shown<'a>(&self, text: &'a str) -> Cow<'a, str>;

    /// Returns the position at which an incomplete text may be cut without splitting a secret.
    fn cut(&self, text: &str) -> usize;
}

/// Filter that hides nothing.
pub struct Everything;

impl Shows for Everything {
    fn shown<'a>(&self, text: &'a str) -> Cow<'a, str> {
        text.into()
    }

    fn cut(&self, text: &str) -> usize {
        text.len()
    }
}

/// The lines of a channel; very long lines in pieces.
struct Lines<R> {
    errors: BufReader<R>,
    /// The bytes of an incomplete character.
    bytes: Vec<u8>,
    /// The retained end of the previous piece.
    text: String,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Returns the next line or a piece of it, or `None` at the end.
    async fn next(&mut self, shows: &impl Shows) -> Option<String> {
        loop {
            let piece = (&mut self.errors).take(LINE).read_until(b'\n', &mut self.bytes).await;
            let is_over = !matches!(piece, Ok(1..));
            let is_whole = is_over || self.bytes.ends_with(b"\n");
            let begun = match self.bytes.utf8_chunks().last() {
                Some(last) if !is_whole => last.invalid().len(),
                _ => 0,
            };
            let rest = self.bytes.split_off(self.bytes.len() - begun);
            self.text.push_str(&String::from_utf8_lossy(&self.bytes));
            self.bytes = rest;
            let at = if is_whole { self.text.len() } else { shows.cut(&self.text) };
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

    /// Hides `canary`.
    struct Canary;

    impl Shows for Canary {
        fn shown<'a>(&self, text: &'a str) -> Cow<'a, str> {
            text.replace("canary", "***").into()
        }

        fn cut(&self, text: &str) -> usize {
            let begun = (1..6).rev().find(|length| text.ends_with(&"canary"[..*length]));
            text.len() - begun.unwrap_or(0)
        }
    }

    #[tokio::test]
    async fn fm_f118_what_nobody_is_to_see_is_not_cut_in_two() {
        let piece = usize::try_from(LINE).unwrap();
        for before in piece - 8..piece + 2 {
            let said = format!(
                "{}canary and\u{e9}more\nanother\n",
                "\u{e9}".repeat(before / 2) + &"x".repeat(before % 2)
            );
            let mut lines =
                Lines { errors: BufReader::new(said.as_bytes()), bytes: Vec::new(), text: String::new() };
            let mut shown = String::new();
            while let Some(line) = lines.next(&Canary).await {
                shown.push_str(&Canary.shown(&line));
            }
            assert_eq!(shown, said.replace("canary", "***"));
        }
    }
}
