//! Lines in and out of a byte stream, the framing of JSON in every dialect.
//!
//! Only LF ends a line. One CR before it is dropped. Every other separator in Unicode (U+2028, U+2029,
//! U+0085, a bare CR) is data, because JSON strings may contain it. Each line is checked as UTF-8 on its own.
//! A bad line therefore causes one [`FramingError`] and never ends the stream.
//!
//! [`Framer`] implements this rule without I/O: bytes in, lines out. [`FrameReader`] applies it to an
//! [`AsyncRead`](tokio::io::AsyncRead) and returns [`FrameText`]s, which own their text.
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
pub use reader::FrameReader;
pub use text::FrameText;

/// The default limit for the length of a line, in bytes: 64 MiB.
///
/// Snapshots of long sessions reach tens of megabytes; larger lines are not expected.
pub const DEFAULT_MAX_LINE: usize = 64 * 1024 * 1024;

/// Handling of a byte order mark at the start of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bom {
    /// The byte order mark is dropped, once for each stream.
    #[default]
    Drop,
    /// The byte order mark stays in the text of the first line as U+FEFF. One dialect requires this, to
    /// answer it as a parse error.
    Keep,
}

/// Options for splitting a stream into lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FramerOptions {
    /// The longest accepted line, in bytes without its line end. A longer line is a
    /// [`FramingError::TooLong`].
    pub max_line: usize,
    /// Handling of a byte order mark at the start of the stream.
    pub bom: Bom,
}

impl Default for FramerOptions {
    fn default() -> Self {
        Self { max_line: DEFAULT_MAX_LINE, bom: Bom::Drop }
    }
}

/// A line that could not be delivered. The stream continues at the next line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FramingError {
    /// The line exceeds the limit; its remaining bytes are discarded.
    #[error("line at byte {offset} is longer than {limit} bytes")]
    TooLong {
        /// The limit, in bytes.
        limit: usize,
        /// Start of the line in the stream, in bytes.
        offset: u64,
    },
    /// The line is not UTF-8.
    #[error("line at byte {line_start} is not utf-8 after {valid_up_to} bytes")]
    InvalidUtf8 {
        /// Start of the line in the stream, in bytes.
        line_start: u64,
        /// Number of valid bytes at the start of the line.
        valid_up_to: usize,
    },
}

/// One item of input: a line, or the reason why a line was not delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    /// A line's text. Blank lines are delivered as empty text.
    Frame(FrameText),
    /// A dropped line. The stream continues.
    Fault(FramingError),
}
