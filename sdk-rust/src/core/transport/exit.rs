//! How a child process ended.

use std::fmt;

use super::system;

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exit {
    /// The exit code, where the process exited.
    pub code: Option<i32>,
    /// The signal's number, where a signal ended the process. Windows has no signals: there a killed process has
    /// exit code 1.
    pub signal: Option<i32>,
    /// The last of what it wrote to stderr; what is not UTF-8 became U+FFFD.
    pub stderr_tail: String,
}

impl Exit {
    /// Whether the process exited with code 0.
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }

    /// The signal's name, such as `SIGKILL`; `None` where no signal ended the process, or a nameless one.
    pub fn signal_name(&self) -> Option<&'static str> {
        system::signal_name(self.signal?)
    }
}

/// "exited with code 1", "killed by SIGTERM", or "ended" where the system did not tell.
impl fmt::Display for Exit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal, self.signal_name()) {
            (Some(code), ..) => write!(out, "exited with code {code}"),
            (None, _, Some(name)) => write!(out, "killed by {name}"),
            (None, Some(signal), None) => write!(out, "killed by signal {signal}"),
            (None, None, None) => out.write_str("ended"),
        }
    }
}
