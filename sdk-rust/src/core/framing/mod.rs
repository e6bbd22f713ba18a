//! Lines in and out of a byte stream, the way every dialect frames its JSON.
//!
//! Only LF ends a line. One CR before it is dropped; every other separator that Unicode knows (U+2028,
//! U+2029, U+0085, a bare CR) is data, because JSON strings may hold it. Each line is checked as UTF-8 on
//! its own, so that one bad line costs one [`FramingError`] and never the stream.
//!
//! [`Framer`] is the rule without any I/O: bytes in, lines out. [`FrameReader`] drives it over an
//! [`AsyncRead`](tokio::io::AsyncRead) and hands out [`FrameText`]s that own what they show.
//!
//! ```
//! use agentese::framing::{Framer, Line};
//!
//! let mut framer = Framer::default();
//! let mut seen = Vec::new();
//! let mut keep = |line: Result<Line<'_>, _>| seen.push(line.unwrap().text.to_owned());
//! framer.push(b"{\"type\":\"ab", &mut keep);
//! framer.push(b"ort\"}\r\n\n", &mut keep);
//! assert_eq!(seen, [r#"{"type":"abort"}"#, ""]);
//! ```

mod framer;
mod reader;
mod text;

pub use framer::{Framer, Line};
pub use reader::{FrameReader, Incoming};
pub use text::FrameText;

/// The longest line that is accepted where nothing else is asked for, in bytes: 64 MiB.
///
/// Snapshots of long sessions reach tens of megabytes; nothing sound is larger.
pub const DEFAULT_MAX_LINE: usize = 64 * 1024 * 1024;

/// What becomes of a byte order mark at the start of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bom {
    /// It is dropped once, as if it had not been sent.
    #[default]
    Drop,
    /// It stays in the first line's text as U+FEFF, for the dialect that answers it as a parse error.
    Keep,
}

/// How a stream is cut into lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FramerOptions {
    /// The longest line accepted, in bytes without its line end. A longer one is a [`FramingError::TooLong`].
    pub max_line: usize,
    /// What becomes of a byte order mark at the start of the stream.
    pub bom: Bom,
}

impl Default for FramerOptions {
    fn default() -> Self {
        Self { max_line: DEFAULT_MAX_LINE, bom: Bom::Drop }
    }
}

/// One line that could not be delivered. The stream goes on at the next line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FramingError {
    /// The line is longer than the limit; what is left of it is thrown away unseen.
    #[error("line at byte {offset} is longer than {limit} bytes")]
    TooLong {
        /// The limit, in bytes.
        limit: usize,
        /// Where the line starts in the stream, in bytes.
        offset: u64,
    },
    /// The line is not UTF-8.
    #[error("line at byte {line_start} is not utf-8 after {valid_up_to} bytes")]
    InvalidUtf8 {
        /// Where the line starts in the stream, in bytes.
        line_start: u64,
        /// How many bytes of the line are sound, counted from its start.
        valid_up_to: usize,
    },
}
