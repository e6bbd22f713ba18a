//! The end of a connection, as one value.
//!
//! Every pending call, stream and dialog ends with the same [`Termination`]. It contains all known facts: the
//! cause, the last output of the process, the last frames, and the pending calls.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::Arc;

use crate::framing::FrameText;
use crate::redact::{redact, redact_beginning};
use crate::transport::Exit;

/// Cause of the end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// The agent's process ended.
    Exited(Exit),
    /// The agent closed its output. The end of its process was not observed.
    EndOfStream,
    /// This side closed the connection.
    Closed,
    /// Reading or writing failed.
    Io {
        /// The kind of failure.
        kind: io::ErrorKind,
        /// Error message of the system.
        text: String,
    },
    /// This client failed: a defect of the client or of a callback.
    Internal(String),
}

impl From<&io::Error> for Cause {
    fn from(error: &io::Error) -> Self {
        Self::Io { kind: error.kind(), text: error.to_string() }
    }
}

/// The end of a connection: its cause and the last observations. Clones share the value.
///
/// The displayed form is one line, with the exit code or signal and the last line of stderr. The debug form
/// omits the frames, because frames may contain keys.
#[derive(Clone)]
pub struct Termination(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    cause: Cause,
    stderr_tail: String,
    last_frames: Vec<FrameText>,
    pending: Vec<String>,
    closed_by_us: bool,
}

impl Termination {
    /// Creates a termination with this cause and no further facts.
    pub fn new(cause: Cause) -> Self {
        let inner = Inner {
            cause,
            stderr_tail: String::new(),
            last_frames: Vec::new(),
            pending: Vec::new(),
            closed_by_us: false,
        };
        Self(Arc::new(inner))
    }

    /// Adds the last output of the process on stderr, for causes that do not contain it.
    pub fn with_stderr_tail(mut self, tail: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.0).stderr_tail = tail.into();
        self
    }

    /// Adds the last received frames, oldest first.
    pub fn with_last_frames(mut self, frames: Vec<FrameText>) -> Self {
        Arc::make_mut(&mut self.0).last_frames = frames;
        self
    }

    /// Adds the ids of the unanswered calls.
    pub fn with_pending(mut self, ids: Vec<String>) -> Self {
        Arc::make_mut(&mut self.0).pending = ids;
        self
    }

    /// Marks the termination as caused by this side.
    pub fn with_closed_by_us(mut self) -> Self {
        Arc::make_mut(&mut self.0).closed_by_us = true;
        self
    }

    /// Returns the cause.
    pub fn cause(&self) -> &Cause {
        &self.0.cause
    }

    /// Returns the exit of the process if it is the cause.
    pub fn exit(&self) -> Option<&Exit> {
        match &self.0.cause {
            Cause::Exited(exit) => Some(exit),
            _ => None,
        }
    }

    /// Returns `true` if this side ended the connection by closing or dropping the client. The cause may still
    /// be the exit of the process afterwards.
    pub fn is_closed_by_us(&self) -> bool {
        self.0.closed_by_us || self.0.cause == Cause::Closed
    }

    /// Returns the last output of the process on stderr; empty without output.
    pub fn stderr_tail(&self) -> &str {
        match &self.0.cause {
            Cause::Exited(exit) if self.0.stderr_tail.is_empty() => &exit.stderr_tail,
            _ => &self.0.stderr_tail,
        }
    }

    /// Returns the last line of stderr that is not blank.
    pub fn last_stderr_line(&self) -> Option<&str> {
        self.stderr_tail().lines().map(str::trim).rfind(|line| !line.is_empty())
    }

    /// Returns the beginnings of the last received frames, oldest first.
    pub fn last_frames(&self) -> &[FrameText] {
        &self.0.last_frames
    }

    /// Returns the ids of the unanswered calls.
    pub fn pending(&self) -> &[String] {
        &self.0.pending
    }
}

/// Maximum displayed length of the last stderr line, in characters.
const SHOWN_STDERR: usize = 300;

impl fmt::Display for Termination {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.cause {
            Cause::Exited(exit) => write!(out, "the agent {}", ExitClause(exit))?,
            Cause::EndOfStream => out.write_str("the agent closed its output")?,
            Cause::Closed => return out.write_str("the client closed the connection"),
            Cause::Io { text, .. } => write!(out, "the connection failed: {}", OneLine(text))?,
            Cause::Internal(text) => write!(out, "the client failed: {}", OneLine(text))?,
        }
        match self.last_stderr_line() {
            Some(line) => write!(out, ", last on stderr: {}", OneLine(line)),
            None => Ok(()),
        }
    }
}

/// The exit as the last part of a sentence.
struct ExitClause<'a>(&'a Exit);

impl fmt::Display for ExitClause<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Only "killed" needs "was": "was killed", but "exited" and "ended".
        let passive = self.0.signal.is_some();
        write!(out, "{}{}", if passive { "was " } else { "" }, self.0)
    }
}

/// Text of an agent in a displayed line. It is shortened and contains no control characters, which could move a
/// terminal's cursor.
struct OneLine<'a>(&'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        let mut characters = self.0.chars();
        for character in characters.by_ref().take(SHOWN_STDERR) {
            out.write_char(if character.is_control() { ' ' } else { character })?;
        }
        if characters.next().is_some() { out.write_str("…") } else { Ok(()) }
    }
}

impl fmt::Debug for Termination {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Termination")
            .field("cause", &self.0.cause)
            .field("stderr_tail", &self.stderr_tail())
            .field("last_frames", &self.0.last_frames.len())
            .field("pending", &self.0.pending)
            .finish()
    }
}

impl std::error::Error for Termination {}

/// The last frames of a connection, limited in number and in length.
#[derive(Debug)]
pub(crate) struct RecentFrames {
    max_frames: usize,
    max_bytes_each: usize,
    frames: VecDeque<FrameExcerpt>,
}

/// The beginning of a frame.
#[derive(Debug, Default)]
struct FrameExcerpt {
    text: String,
    /// `true` if only the beginning of the frame is stored.
    cut: bool,
}

impl RecentFrames {
    /// Creates a buffer for the first `max_bytes_each` bytes of the last `max_frames` frames.
    pub fn new(max_frames: usize, max_bytes_each: usize) -> Self {
        Self { max_frames, max_bytes_each, frames: VecDeque::with_capacity(max_frames) }
    }

    /// Records a frame. Only its beginning is copied, so the buffer of the whole frame can be freed.
    pub fn push(&mut self, frame: &str) {
        if self.max_frames == 0 {
            return;
        }
        // The oldest entry's memory is reused for the newest, because every frame passes through here.
        let mut kept = match self.frames.len() == self.max_frames {
            true => self.frames.pop_front().unwrap_or_default(),
            false => FrameExcerpt::default(),
        };
        let mut end = frame.len().min(self.max_bytes_each);
        while !frame.is_char_boundary(end) {
            end -= 1;
        }
        kept.text.clear();
        kept.text.push_str(&frame[..end]);
        kept.cut = end < frame.len();
        self.frames.push_back(kept);
    }

    /// Returns the recorded frames, oldest first, with keys redacted.
    pub fn take(&mut self) -> Vec<FrameText> {
        let without_keys = |FrameExcerpt { text, cut }: FrameExcerpt| match cut {
            true => FrameText::from(&*redact_beginning(&text)),
            false => FrameText::from(&*redact(&text)),
        };
        self.frames.drain(..).map(without_keys).collect()
    }
}

/// Number of frames that a connection records.
pub(crate) const RECENT_FRAMES: usize = 8;

/// Records the first 2 KiB of each of the last eight frames.
impl Default for RecentFrames {
    fn default() -> Self {
        Self::new(RECENT_FRAMES, 2 * 1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cause: Cause, stderr: &str, expected: &str) {
        assert_eq!(Termination::new(cause).with_stderr_tail(stderr).to_string(), expected);
    }

    #[test]
    fn displays_one_line_with_what_matters() {
        let exited = Exit { code: Some(1), ..Exit::default() };
        let killed = Exit { signal: Some(9), ..Exit::default() };
        check(Cause::Exited(exited.clone()), "", "the agent exited with code 1");
        check(
            Cause::Exited(exited),
            "at main\nno \u{1b}[31mkey\n\n",
            "the agent exited with code 1, last on stderr: no  [31mkey",
        );
        check(Cause::Exited(killed), "", "the agent was killed by SIGKILL");
        check(Cause::Exited(Exit::default()), "", "the agent ended");
        check(Cause::EndOfStream, "bye", "the agent closed its output, last on stderr: bye");
        check(Cause::Closed, "noise", "the client closed the connection");
        check(Cause::from(&io::Error::other("broken\npipe")), "", "the connection failed: broken pipe");
        check(Cause::Internal("two\nlines".into()), "", "the client failed: two lines");
    }

    #[test]
    fn the_exits_own_stderr_is_used() {
        let exit = Exit { code: Some(3), stderr_tail: "first\nlast\n".into(), ..Exit::default() };
        let end = Termination::new(Cause::Exited(exit)).with_pending(vec!["c1".into()]);
        assert_eq!(end.last_stderr_line(), Some("last"));
        assert_eq!(end.clone().pending(), ["c1"]);
        assert_eq!(end.exit().and_then(|exit| exit.code), Some(3));
    }

    #[test]
    fn recent_frames_are_bounded_in_number_and_bytes() {
        let mut recent = RecentFrames::new(2, 3);
        for frame in ["one", "twoo", "aaä"] {
            recent.push(frame);
        }
        assert_eq!(recent.take(), ["two", "aa"]);
        assert!(recent.take().is_empty());
    }

    #[test]
    fn a_key_at_the_cut_of_a_frame_is_not_shown() {
        let mut recent = RecentFrames::new(2, 24);
        recent.push(r#"{"text":"sk-ant-0123456789abcdefghij"}"#);
        recent.push(r#"{"text":"plain words that go on"}"#);
        assert_eq!(recent.take(), [r#"{"text":"[redacted]"#, r#"{"text":"plain words tha"#]);
    }

    #[test]
    fn debug_output_does_not_show_frames() {
        let end = Termination::new(Cause::Closed).with_last_frames(vec!["{\"apiKey\":\"canary\"}".into()]);
        assert!(!format!("{end:?}").contains("canary"));
    }
}
