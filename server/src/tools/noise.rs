//! What a process says for people: its stderr, and frames that are none. It goes to the agent's stderr, within
//! bounds.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// How many lines of each kind are passed on.
const LINES: usize = 1_000;
/// How much of a line of stderr is one line.
const LINE: u64 = 4 << 10;

#[derive(Default)]
pub(crate) struct Noise {
    /// How often was complained of what it sent.
    complaints: AtomicUsize,
    /// The last line of its stderr, which often says why it ended.
    last_words: Mutex<String>,
}

impl Noise {
    /// Tells people of something that it should not have sent. What comes too often is not told.
    pub fn complain(&self, name: &str, what: &str) {
        match self.complaints.fetch_add(1, Ordering::Relaxed) {
            before if before < LINES => tracing::warn!("{name}: {what}"),
            LINES => tracing::warn!("{name}: more of what it should not send is not shown"),
            _ => {}
        }
    }

    /// The last line of its stderr.
    pub fn last_words(&self) -> String {
        self.last_words.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Passes its stderr on as `shown` says, until that ends.
    pub async fn pass_on(
        &self,
        errors: impl AsyncRead + Unpin,
        name: impl Fn() -> String,
        shown: impl for<'a> Fn(&'a str) -> Cow<'a, str>,
    ) {
        let mut errors = BufReader::new(errors);
        let mut seen = 0;
        loop {
            let mut line = Vec::new();
            match (&mut errors).take(LINE).read_until(b'\n', &mut line).await {
                Ok(1..) => {}
                _ => return,
            }
            seen += 1;
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end();
            if seen <= LINES {
                tracing::warn!("{}: {}", name(), shown(line));
            }
            if !line.is_empty() {
                line.clone_into(&mut self.last_words.lock().unwrap_or_else(PoisonError::into_inner));
            }
        }
    }
}
