//! Memory that hostile lines use. The measurement needs a process of its own, so this file contains only one
//! test.
#![cfg(target_os = "linux")]
#![allow(non_snake_case, reason = "tests carry the number of the fault they guard against")]

use agentese::framing::{FrameReader, FramerOptions, Incoming};
use tokio::io::{AsyncReadExt, repeat};

/// Returns the peak memory of this process in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// F14: 1 GiB without a line end causes one fault, and the next frame is delivered. Memory stays near the
/// limit.
#[tokio::test]
async fn fm_F14_an_endless_line_is_discarded_in_constant_memory() {
    const LIMIT: usize = 4 * 1024 * 1024;
    let before = peak_kib();
    let stream = repeat(b'x').take(1024 * 1024 * 1024).chain(&b"\n{\"type\":\"abort\"}\n"[..]);
    let mut reader =
        FrameReader::with_options(stream, FramerOptions { max_line: LIMIT, ..Default::default() });
    let mut all = Vec::new();
    while reader.next_batch(&mut all).await.unwrap() > 0 {}
    assert!(
        matches!(&all[0], Incoming::Fault(fault) if fault.to_string() == "line at byte 0 is longer than 4194304 bytes")
    );
    assert_eq!(all[1], Incoming::Frame("{\"type\":\"abort\"}".into()));
    assert_eq!(all.len(), 2);
    // Growth by doubling briefly holds the old and the new buffer.
    let grown = peak_kib() - before;
    assert!(grown < 4 * LIMIT as u64 / 1024, "grew by {grown} KiB");

    // Small retained frames do not keep their read buffers alive.
    let line = format!("{{\"pad\":\"{}\"}}\n", "x".repeat(20_000));
    let before = peak_kib();
    let mut kept = Vec::new();
    for _ in 0..1000 {
        let stream = format!("{line}{{}}\n");
        let mut batch = Vec::new();
        let mut reader = FrameReader::new(stream.as_bytes());
        while reader.next_batch(&mut batch).await.unwrap() > 0 {}
        kept.extend(batch.pop());
    }
    assert_eq!(kept.len(), 1000);
    let grown = peak_kib() - before;
    assert!(grown < 8 * 1024, "grew by {grown} KiB");
}
