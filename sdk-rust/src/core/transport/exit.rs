//! Exit of a child process.

use std::fmt;

use super::system;

/// Exit of a process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exit {
    /// The exit code, if the process exited.
    pub code: Option<i32>,
    /// The number of the signal, if a signal ended the process. Windows has no signals: there a killed
    /// process has exit code 1.
    pub signal: Option<i32>,
    /// The last output on stderr; invalid UTF-8 became U+FFFD.
    pub stderr_tail: String,
}

impl Exit {
    /// Returns `true` if the process exited with code 0.
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }

    /// Returns the name of the signal, such as `SIGKILL`; `None` if no signal or an unnamed signal ended the
    /// process.
    pub fn signal_name(&self) -> Option<&'static str> {
        system::signal_name(self.signal?)
    }
}

/// "exited with code 1", "killed by SIGTERM", or "ended" if the system reported neither.
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
