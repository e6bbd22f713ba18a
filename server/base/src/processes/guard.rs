//! The guard: a small process between the server and a command. When the server ends, the guard ends the command and
//! then itself.
//!
//! The server runs its own binary as `agentese __guard -- PROGRAM ARGUMENT…`. The guard's standard input is one end of
//! a socket pair. On it the guard reports, a line each:
//!
//! | line | meaning |
//! |---|---|
//! | `started PID` | the program runs; its process group has the same number |
//! | `failed ERRNO` | the program could not be started; `ERRNO` is the error number |
//! | `code N`, `signal N` | the program ended with this code or signal |
//!
//! The server never writes to the socket. When the server closes its end, or ends itself, the guard ends the process
//! group: it sends SIGTERM, and after [`GRACE`] SIGKILL. The guard stays while any process of the group runs, so
//! background processes of a command end with the server at the latest. A process that leaves the group with `setsid`
//! or `setpgid` is not followed.
//!
//! With `--files N` before the dashes, the program has a limit of N open files. With `--talk` before the dashes, the
//! guard's standard output is a second socket, for communication between the server and the program. This socket
//! becomes the program's standard input and output. Otherwise the program reads from the null device.
//!
//! The guard is in a session of its own. Signals of a terminal to the server's group do not reach it. A command that
//! requests a password from a terminal fails instead of waiting forever.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, kill_process_group, setsid, test_kill_process_group, wait,
};

use super::Exit;
use super::open_files::set_limit;

/// The hidden first argument that makes the binary a guard.
pub const GUARD_COMMAND: &str = "__guard";

/// The option for a program that communicates with the server.
pub(super) const TALK: &str = "--talk";

/// The option with the limit of open files for the program, if it differs from the guard's own limit.
pub(super) const FILES: &str = "--files";

/// Time between SIGTERM and SIGKILL when a process group is ended.
pub const GRACE: Duration = Duration::from_millis(500);

/// Waiting time after SIGKILL. The group ends at once unless a process is stuck in the kernel.
const AFTER_KILL: Duration = Duration::from_secs(2);

/// Pause between two checks for the end of the group, on systems on which the guard cannot adopt orphans.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs the guard and returns its exit code, if the program was started as a guard. Otherwise returns `None`.
///
/// Must be the first call in `main`, before the command line is parsed and a runtime is created. Work before the call
/// would delay every command. Uses only the standard library and a few system calls.
pub fn main_if_guard() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    (arguments.next()? == GUARD_COMMAND).then(|| match guard(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            // A user started this command by hand: the server always provides a socket and a program.
            let _ = writeln!(io::stderr(), "agentese {GUARD_COMMAND}: {problem}");
            ExitCode::from(2)
        }
    })
}

fn guard(mut arguments: impl Iterator<Item = OsString>) -> Result<(), &'static str> {
    let mut first = arguments.next();
    let talks = first.as_deref().is_some_and(|first| first == TALK);
    if talks {
        first = arguments.next();
    }
    if first.as_deref().is_some_and(|first| first == FILES) {
        let limit = arguments.next().and_then(|limit| limit.to_str()?.parse().ok());
        set_limit(limit.ok_or("expected a number after --files")?);
        first = arguments.next();
    }
    let program = match (first, arguments.next()) {
        (Some(dashes), Some(program)) if dashes == "--" => program,
        _ => return Err("expected: [--talk] [--files N] -- PROGRAM [ARGUMENT]…"),
    };
    let input = match talks {
        true => io::stdout().as_fd().try_clone_to_owned().map(Stdio::from),
        false => Ok(Stdio::null()),
    };
    let input = input.map_err(|_| "standard output is closed")?;
    let server = io::stdin().as_fd().try_clone_to_owned().map_err(|_| "standard input is closed")?;
    let mut server = UnixStream::from(server);
    server
        .local_addr()
        .map_err(|_| "standard input is not a socket; this command is for the server's own use")?;

    // Fails only for a group leader, and the server does not make the guard one.
    let _ = setsid();
    install_noop_handlers();
    adopt_orphans();
    resume_when_parent_dies();
    // The watcher starts first: a command without a watcher could be left behind. The watcher reads the group
    // only after the lock is released, when the start of the program has succeeded or failed.
    let group = Arc::new(Mutex::new(None));
    let mut known = group.lock().map_err(|_| "a lock is poisoned")?;
    let watcher = server.try_clone().and_then(|server| {
        let group = group.clone();
        thread::Builder::new().spawn(move || kill_group_when_closed(server, &group))
    });
    let spawned =
        watcher.and_then(|_| Command::new(program).args(arguments).stdin(input).process_group(0).spawn());
    let leader = match spawned.as_ref().map(|child| Pid::from_raw(child.id() as i32)) {
        Ok(Some(leader)) => leader,
        Ok(None) => return Err("the program has no process id"),
        Err(error) => {
            let _ = writeln!(server, "failed {}", error.raw_os_error().unwrap_or_default());
            return Ok(());
        }
    };
    *known = Some(leader);
    drop(known);
    release_output();
    // A server that has ended does not read this line; the watcher detects that.
    let _ = writeln!(server, "started {}", leader.as_raw_nonzero());
    wait_for_group(&mut server, leader);
    Ok(())
}

/// Installs handlers that do nothing for SIGHUP, SIGINT and SIGQUIT. A started program inherits ignored signals, as
/// under `nohup` or in the background of a script. A signal with a handler is reset to its default instead. The guard
/// itself does not need these signals.
fn install_noop_handlers() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT};
    for signal in [SIGHUP, SIGINT, SIGQUIT] {
        // Fails only for signals that cannot be handled.
        let _ = signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)));
    }
}

/// Waits until all processes in the group have ended. Reports the exit of the first process, the group leader, to the
/// server.
fn wait_for_group(server: &mut UnixStream, leader: Pid) {
    let mut leader_ended = false;
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == leader => {
                leader_ended = true;
                if let Some(exit) = exit_of(status) {
                    let _ = server.write_all(report(exit).as_bytes());
                }
            }
            Ok(_) | Err(Errno::INTR) => {}
            // No children are left: this process does not adopt orphans.
            Err(_) => {
                leader_ended = true;
                thread::sleep(POLL_INTERVAL);
            }
        }
        // The leader belongs to the group until it is reaped, so its number cannot have passed to another
        // process.
        if leader_ended && test_kill_process_group(leader).is_err() {
            return;
        }
    }
}

/// Ends the group when the server has closed its end of the socket. Then [`wait_for_group`] returns. If a process of
/// the group is stuck, exits after [`AFTER_KILL`].
fn kill_group_when_closed(mut server: UnixStream, group: &Mutex<Option<Pid>>) {
    let mut ignored = [0; 64];
    loop {
        match server.read(&mut ignored) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    let Some(group) = group.lock().ok().and_then(|group| *group) else { return };
    let _ = kill_process_group(group, Signal::TERM);
    thread::sleep(GRACE);
    let _ = kill_process_group(group, Signal::KILL);
    thread::sleep(AFTER_KILL);
    std::process::exit(1);
}

/// Closes the guard's copies of the output pipe. The server waits for the end of this pipe, so only the command must
/// keep it open.
fn release_output() {
    if let Ok(null) = std::fs::File::options().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

/// Makes the guard the parent of orphans in the group. So `wait` reports the end of each, and they do not remain as
/// zombies.
#[cfg(target_os = "linux")]
fn adopt_orphans() {
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

#[cfg(not(target_os = "linux"))]
fn adopt_orphans() {}

/// Makes the system resume a stopped guard when the server dies. A guard that was stopped with SIGSTOP cannot detect
/// that the socket is closed. A server that ends normally resumes the guard itself; a killed server cannot.
#[cfg(target_os = "linux")]
fn resume_when_parent_dies() {
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::CONT));
}

#[cfg(not(target_os = "linux"))]
fn resume_when_parent_dies() {}

fn exit_of(status: WaitStatus) -> Option<Exit> {
    status.exit_status().map(Exit::Code).or_else(|| status.terminating_signal().map(Exit::Signal))
}

fn report(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("code {code}\n"),
        Exit::Signal(signal) => format!("signal {signal}\n"),
    }
}

/// One line from a guard, as the server parses it.
#[derive(Debug, PartialEq)]
pub(crate) enum Report {
    Started(Pid),
    Failed(i32),
    Ended(Exit),
}

impl Report {
    /// Parses a line. If the line has another form, fails with an error that contains it.
    pub(crate) fn parse(line: &str) -> io::Result<Self> {
        let parsed = line.split_once(' ').and_then(|(word, number)| {
            let number = number.parse().ok()?;
            match word {
                "started" => Pid::from_raw(number).map(Self::Started),
                "failed" => Some(Self::Failed(number)),
                "code" => Some(Self::Ended(Exit::Code(number))),
                "signal" => Some(Self::Ended(Exit::Signal(number))),
                _ => None,
            }
        });
        parsed.ok_or_else(|| io::Error::other(format!("unexpected report of the guard process: {line}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read_as_written() {
        for exit in [Exit::Code(0), Exit::Code(255), Exit::Signal(9)] {
            assert_eq!(Report::parse(report(exit).trim_end()).unwrap(), Report::Ended(exit));
        }
        assert_eq!(Report::parse("started 7").unwrap(), Report::Started(Pid::from_raw(7).unwrap()));
        assert_eq!(Report::parse("failed 2").unwrap(), Report::Failed(2));
        for line in ["", "started", "started 0", "started x", "hello 1"] {
            assert!(Report::parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn invalid_arguments_are_rejected() {
        let arguments = |list: &[&str]| list.iter().map(OsString::from).collect::<Vec<_>>().into_iter();
        assert!(guard(arguments(&[])).is_err());
        assert!(guard(arguments(&["--"])).is_err());
        assert!(guard(arguments(&["ls", "-l"])).is_err());
        assert!(guard(arguments(&["--talk", "--"])).is_err());
    }
}
