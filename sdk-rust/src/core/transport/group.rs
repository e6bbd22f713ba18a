//! A child's process group: who is in it, and how it is signalled.

use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// A process group that is led by a child of this process.
///
/// Its number is signalled only until the group is over. As long as it has a member or its leader has not been
/// reaped the system gives the number to nobody else; afterwards it might.
pub(super) struct Group {
    id: Pid,
    over: Mutex<bool>,
}

impl Group {
    /// The group that the process with this id leads.
    pub(super) fn new(leader: u32) -> Option<Self> {
        let id = i32::try_from(leader).ok().and_then(Pid::from_raw)?;
        Some(Self { id, over: Mutex::new(false) })
    }

    /// Signals every member, unless the group is over.
    pub(super) fn signal(&self, signal: Signal) {
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        if !*over && let Err(error) = kill_process_group(self.id, signal) {
            // Without members it is over and nothing is lost; anything else is worth knowing.
            if error != Errno::SRCH {
                tracing::warn!(group = self.id.as_raw_nonzero().get(), ?signal, %error, "could not signal");
            }
        }
    }

    /// Forgets the group: it is not signalled any more.
    pub(super) fn finish(&self) {
        *self.over.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    /// Whether no member is alive. To be asked only after the leader has been reaped.
    pub(super) fn is_empty(&self) -> bool {
        match test_kill_process_group(self.id) {
            Err(Errno::SRCH) => true,
            Err(_) => false,
            Ok(()) => !has_living_member(self.id),
        }
    }
}

/// The system counts members that ended but were not reaped. Who inherited them may never do that (a
/// container's first process often does not), so they are told apart here.
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

/// Reads `PID (NAME) STATE PARENT GROUP …`, where the name may hold anything.
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
