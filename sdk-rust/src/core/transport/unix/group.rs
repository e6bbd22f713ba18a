//! A child's process group: its members and its signals.

use std::io;
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, Command};

/// A process group led by a child of this process.
///
/// Signals are sent to the id of the group only until the group is over. Afterwards the system may use the id
/// for another group. It cannot do so while the group has a member or its leader is not reaped.
pub(in super::super) struct Group {
    id: Pid,
    is_over: Mutex<bool>,
}

impl Group {
    /// Starts a program that leads a group of its own.
    pub(in super::super) fn spawn(mut command: Command) -> io::Result<(Child, Self)> {
        let child = command.process_group(0).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let id = id.ok_or_else(|| io::Error::other("the child has no process id"))?;
        Ok((child, Self { id, is_over: Mutex::new(false) }))
    }

    /// Sends SIGTERM to every member. Returns `true`, because Unix supports this request.
    pub(in super::super) fn ask_to_end(&self) -> bool {
        self.signal(Signal::TERM);
        true
    }

    /// Kills every member.
    pub(in super::super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Signals every member, unless the group is over.
    fn signal(&self, signal: Signal) {
        let over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        if !*over && let Err(error) = kill_process_group(self.id, signal) {
            // Without members the group is over and the error is harmless; any other error is logged.
            if error != Errno::SRCH {
                tracing::warn!(group = self.id.as_raw_nonzero().get(), ?signal, %error, "could not signal");
            }
        }
    }

    /// Marks the group as over. No signal is sent to it afterwards.
    pub(in super::super) fn finish(&self) {
        *self.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    /// Returns `true` if no member is alive. Must be called only after the leader has been reaped.
    pub(in super::super) fn is_empty(&self) -> bool {
        match test_kill_process_group(self.id) {
            Err(Errno::SRCH) => true,
            Err(_) => false,
            Ok(()) => !has_living_member(self.id),
        }
    }
}

/// Returns `true` if a member of the group is alive. The system's own check includes ended members that were
/// not reaped. Some parents never reap them, such as the first process of a container. This function therefore
/// reads the state of each member.
#[cfg(target_os = "linux")]
fn has_living_member(group: Pid) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return true };
    processes.flatten().any(|process| {
        process.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit)
            && std::fs::read(process.path().join("stat")).is_ok_and(|stat| is_living_member(&stat, group))
    })
}

#[cfg(not(target_os = "linux"))]
fn has_living_member(_group: Pid) -> bool {
    true
}

/// Parses `PID (NAME) STATE PARENT GROUP …`; the name may contain any character.
#[cfg(target_os = "linux")]
fn is_living_member(stat: &[u8], group: Pid) -> bool {
    let Some(name_end) = memchr::memrchr(b')', stat) else { return false };
    let fields = String::from_utf8_lossy(&stat[name_end + 1..]);
    let mut fields = fields.split_ascii_whitespace();
    let (state, group_field) = (fields.next(), fields.nth(1));
    group_field == Some(&group.as_raw_nonzero().get().to_string()) && !matches!(state, Some("Z" | "X") | None)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn reads_state_and_group_behind_any_name() {
        let group = Pid::from_raw(77).unwrap();
        assert!(is_living_member(b"5 (a) S 9 (b) S 1 77 77 0 -1", group));
        assert!(!is_living_member(b"5 (sh) Z 1 77 77 0 -1", group));
        assert!(!is_living_member(b"5 (sh) S 77 1 77 0 -1", group));
        assert!(!is_living_member(b"", group));
    }
}
