//! Resource usage of a process. Every value is `None` on systems without `/proc`.

/// Returns the maximum memory of a process so far, in MiB.
pub(super) fn peak_memory(pid: u32) -> Option<u64> {
    status(pid, "VmHWM:").map(|kib| kib >> 10)
}

/// Returns the current memory of a process, in MiB.
pub(super) fn memory(pid: u32) -> Option<u64> {
    status(pid, "VmRSS:").map(|kib| kib >> 10)
}

/// Returns the number of threads of a process.
pub(super) fn threads(pid: u32) -> Option<u64> {
    status(pid, "Threads:")
}

/// Returns the number of open descriptors of a process.
pub(super) fn descriptors(pid: u32) -> Option<u64> {
    std::fs::read_dir(format!("/proc/{pid}/fd")).ok().map(|all| all.count() as u64)
}

/// Returns the processor time of a process, in ticks of the system.
pub(super) fn cpu_ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program is in parentheses and may contain any character.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(number(11)? + number(12)?)
}

/// Returns the child processes of a process.
pub(super) fn children(pid: u32) -> Vec<u32> {
    let parent = |child: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<u32>().ok()
    };
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|child| parent(*child) == Some(pid)).collect()
}

fn status(pid: u32, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn figures_of_this_process_are_plausible() {
        let pid = std::process::id();
        // The current memory is read before the peak, because other tests of this process
        // allocate and free memory at the same time.
        let now = memory(pid).unwrap();
        assert!(now > 0 && peak_memory(pid).unwrap() + 1 >= now);
        assert!(threads(pid) >= Some(1) && descriptors(pid) >= Some(3));
        assert!(cpu_ticks(pid).is_some() && children(1).iter().all(|child| *child != 1));
        assert_eq!((peak_memory(0), cpu_ticks(0)), (None, None));
    }
}
