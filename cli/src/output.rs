//! Output of commands on stdout, where stdout is no protocol.

use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use super::Failure;
use super::neutral::{neutral, neutral_json};

/// Prints a text that ends its own lines. On a terminal, escapes what that would obey. A reader that has seen enough
/// (`… | head`) is no failure.
pub(super) fn print(text: &str) -> Result<ExitCode, Failure> {
    printed(write(text))
}

/// As [`print`] for JSON text, which stays JSON on a terminal, too.
pub(super) fn print_json(text: &str) -> Result<ExitCode, Failure> {
    printed(write_json(text))
}

fn printed(written: io::Result<()>) -> Result<ExitCode, Failure> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(source) => Err(Failure::Io { context: "stdout".to_owned(), source }),
        Ok(()) => Ok(ExitCode::SUCCESS),
    }
}

/// Writes text to stdout and flushes it. On a terminal, escapes what that would obey.
pub(super) fn write(text: &str) -> io::Result<()> {
    escaped(text, neutral)
}

/// As [`write`] for JSON text.
pub(super) fn write_json(text: &str) -> io::Result<()> {
    escaped(text, neutral_json)
}

fn escaped(text: &str, escape: impl Fn(&str) -> Cow<'_, str>) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let text = if stdout.is_terminal() { escape(text) } else { Cow::Borrowed(text) };
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
