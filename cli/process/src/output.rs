//! Output of commands on stdout, outside of protocols.

use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use super::error::Error;
use super::sanitize::{sanitize, sanitize_json};

/// Prints a text, without adding a line end. On a terminal, control characters are escaped. A reader that
/// closes the pipe early (`… | head`) is not a failure.
pub fn print(text: &str) -> Result<ExitCode, Error> {
    exit_code(write(text))
}

/// Like [`print`], for JSON text, which remains JSON on a terminal.
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

/// Like [`write`], for JSON text.
pub fn write_json(text: &str) -> io::Result<()> {
    write_escaped(text, sanitize_json)
}

fn write_escaped(text: &str, escape: impl Fn(&str) -> Cow<'_, str>) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let text = if stdout.is_terminal() { escape(text) } else { Cow::Borrowed(text) };
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
