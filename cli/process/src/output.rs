//! Output of commands that print to stdout, outside of any protocol.

use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use super::error::Error;
use super::sanitize::{sanitize, sanitize_json};

/// Prints a text, without adding a line end. On a terminal, control characters are escaped. It is not an
/// error if the reader closes the pipe early (`… | head`).
pub fn print(text: &str) -> Result<ExitCode, Error> {
    exit_code(write(text))
}

/// Prints JSON text like [`print`]; it is still valid JSON on a terminal.
pub fn print_json(text: &str) -> Result<ExitCode, Error> {
    exit_code(write_json(text))
}

fn exit_code(written: io::Result<()>) -> Result<ExitCode, Error> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(source) => Err(Error::Io { context: "stdout".to_owned(), source }),
        Ok(()) => Ok(ExitCode::SUCCESS),
    }
}

/// Writes text to stdout and flushes it. On a terminal, control characters are escaped.
pub fn write(text: &str) -> io::Result<()> {
    write_escaped(text, sanitize)
}

/// Writes JSON text like [`write`].
pub fn write_json(text: &str) -> io::Result<()> {
    write_escaped(text, sanitize_json)
}

fn write_escaped(text: &str, escape: impl Fn(&str) -> Cow<'_, str>) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let text = if stdout.is_terminal() { escape(text) } else { Cow::Borrowed(text) };
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
