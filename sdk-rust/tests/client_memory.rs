//! Memory that a client uses for a long line. The measurement needs a process of its own, so this file contains
//! only one test.
#![cfg(target_os = "linux")]

use agentese::framing::{FrameReader, Incoming};
use agentese::pi;
use agentese::transport::memory_pair;
use tokio::io::AsyncWriteExt;

/// Returns the resident memory of this process in KiB.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// F13: the memory of a line of 60 MiB in each direction is released afterwards.
#[tokio::test]
async fn fm_f13_the_buffers_of_a_long_line_are_given_back() {
    const LONG: usize = 60 << 20;
    let (ours, theirs) = memory_pair(1 << 16);
    let client = pi::Client::connect(ours);
    let mut peer = FrameReader::new(theirs.reader);
    let mut writer = theirs.writer;
    let mut events = client.events().unwrap();
    let before = resident_kib();
    client.send_raw(&format!("\"{}\"", "x".repeat(LONG))).unwrap();
    let mut batch = Vec::new();
    peer.next_batch(&mut batch).await.unwrap();
    assert!(matches!(&batch[0], Incoming::Frame(frame) if frame.len() == LONG + 2));
    drop(batch);
    let line = format!("{{\"type\":\"agent_start\",\"pad\":\"{}\"}}\n", "x".repeat(LONG));
    writer.write_all(line.as_bytes()).await.unwrap();
    drop(line);
    assert!(events.next_raw().await.unwrap().unwrap().frame().len() > LONG);
    // The following short lines use the same buffers.
    client.send_raw("{}").unwrap();
    let mut batch = Vec::new();
    peer.next_batch(&mut batch).await.unwrap();
    writer.write_all(b"{\"type\":\"agent_start\"}\n").await.unwrap();
    events.next_raw().await.unwrap().unwrap();
    let kept = resident_kib().saturating_sub(before);
    assert!(kept < 20 << 10, "{kept} KiB remain in use");
}
