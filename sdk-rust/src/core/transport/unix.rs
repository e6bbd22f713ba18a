//! Linux and macOS: process groups, signals, descriptors.

mod group;
mod pipe;
mod spawn_error;
mod stdio;

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Signal;
use tokio::process::ChildStderr;

use super::options::ChildOptions;

pub(super) use group::Group;
pub(super) use spawn_error::kind_of;
pub(super) use stdio::{divert as divert_stdio, enlarge, open as open_stdio};

/// Time to wait for the last output on stderr after the end of a process. No wait is needed, because
/// [`read_ready`] reads that output.
pub(super) const STDERR_WAIT: Option<Duration> = None;

/// Returns the program to start, as the caller named it. The system searches for it.
pub(super) fn program(options: &ChildOptions) -> OsString {
    options.program.clone()
}

/// Returns the signal that ended a process.
pub(super) fn signal_of(status: ExitStatus) -> Option<i32> {
    status.signal()
}

/// Returns the name of a signal.
pub(super) fn signal_name(number: i32) -> Option<&'static str> {
    SIGNALS.iter().find(|(known, _)| known.as_raw() == number).map(|(_, name)| *name)
}

/// Reads the bytes that are in the pipe now. Fails if the pipe is empty.
///
/// Reads the file descriptor directly, because the runtime may not have noticed yet that it is readable.
pub(super) fn read_ready(pipe: &ChildStderr, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(pipe, buffer)?)
}

/// Signals and their names. The numbers of signals differ between systems; the names do not.
const SIGNALS: &[(Signal, &str)] = &[
    (Signal::HUP, "SIGHUP"),
    (Signal::INT, "SIGINT"),
    (Signal::QUIT, "SIGQUIT"),
    (Signal::ILL, "SIGILL"),
    (Signal::TRAP, "SIGTRAP"),
    (Signal::ABORT, "SIGABRT"),
    (Signal::BUS, "SIGBUS"),
    (Signal::FPE, "SIGFPE"),
    (Signal::KILL, "SIGKILL"),
    (Signal::USR1, "SIGUSR1"),
    (Signal::SEGV, "SIGSEGV"),
    (Signal::USR2, "SIGUSR2"),
    (Signal::PIPE, "SIGPIPE"),
    (Signal::ALARM, "SIGALRM"),
    (Signal::TERM, "SIGTERM"),
    (Signal::XCPU, "SIGXCPU"),
    (Signal::XFSZ, "SIGXFSZ"),
    (Signal::SYS, "SIGSYS"),
];
