//! Functions that find and kill the processes of an agent's process group.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::peer::within;

/// Kills a group that has a live process.
pub fn kill_left(group: u32) {
    assert!(is_alive(group), "a process of the agent's group is left");
    let group = Pid::from_raw(group.try_into().unwrap()).unwrap();
    kill_process_group(group, Signal::KILL).unwrap();
}

/// Waits until a group has no live process.
pub async fn gone(group: u32) {
    within("the agent's processes to go", async {
        while is_alive(group) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

fn is_alive(group: u32) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let Some((_, rest)) = stat.rsplit_once(')') else { return false };
        let fields: Vec<&str> = rest.split_whitespace().collect();
        fields[2] == group.to_string() && !matches!(fields[0], "Z" | "X")
    })
}
