//! What a command prints to stdout, where stdout is no protocol.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use super::Failure;

/// Prints a text that ends its own lines. A reader that has seen enough (`… | head`) is no failure.
pub(super) fn print(text: &[u8]) -> Result<ExitCode, Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(source) => Err(Failure::Io { context: "stdout".to_owned(), source }),
        Ok(()) => Ok(ExitCode::SUCCESS),
    }
}
