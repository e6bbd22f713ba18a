//! The framing of lines, without I/O.

use std::sync::{Mutex, PoisonError};

use agentese::framing::{self, Bom, DEFAULT_MAX_LINE, FramerOptions, FramingError, Line};
use pyo3::prelude::*;

/// The text of a line, or its error: kind, position in the stream in bytes, and number of bytes.
type FramedLine = (Option<String>, Option<(&'static str, u64, usize)>);

/// Splits bytes into lines. Only LF ends a line, and one CR before it is dropped.
#[pyclass(frozen)]
pub struct Framer {
    framer: Mutex<framing::Framer>,
}

impl Framer {
    fn with(
        &self,
        run: impl FnOnce(&mut framing::Framer, &mut dyn FnMut(Result<Line<'_>, FramingError>)),
    ) -> Vec<FramedLine> {
        let mut found = Vec::new();
        let mut take = |line: Result<Line<'_>, FramingError>| {
            found.push(match line {
                Ok(line) => (Some(line.text.to_owned()), None),
                Err(FramingError::TooLong { limit, offset }) => (None, Some(("too_long", offset, limit))),
                Err(FramingError::InvalidUtf8 { line_start, valid_up_to }) => {
                    (None, Some(("invalid_utf8", line_start, valid_up_to)))
                }
                Err(_) => (None, Some(("unknown", 0, 0))),
            });
        };
        run(&mut self.framer.lock().unwrap_or_else(PoisonError::into_inner), &mut take);
        found
    }
}

#[pymethods]
impl Framer {
    #[new]
    #[pyo3(signature = (*, max_line=DEFAULT_MAX_LINE, keep_bom=false))]
    fn new(max_line: usize, keep_bom: bool) -> Self {
        let bom = if keep_bom { Bom::Keep } else { Bom::Drop };
        Framer { framer: Mutex::new(framing::Framer::new(FramerOptions { max_line, bom })) }
    }

    /// Reads the next bytes and returns the lines that end in them.
    fn push(&self, chunk: &[u8]) -> Vec<FramedLine> {
        self.with(|framer, mut take| framer.push(chunk, &mut take))
    }

    /// Returns the last line, if the stream ended inside one.
    fn finish(&self) -> Vec<FramedLine> {
        self.with(|framer, mut take| framer.finish(&mut take))
    }
}
