//! Repeated start and end of children. The test counts open resources, so it needs a process of its own.
#![cfg(target_os = "linux")]
#![allow(non_snake_case, reason = "tests carry the number of the fault they guard against")]

use agentese::framing::FrameReader;
use agentese::transport::{ChildOptions, Transport};
use tokio::io::AsyncWriteExt;

#[path = "support/long.rs"]
mod long;
use long::LONG;

#[derive(Debug, PartialEq)]
struct OpenResources {
    descriptors: usize,
    threads: usize,
    children: Vec<String>,
}

fn open_resources() -> OpenResources {
    let entries = |path: &str| std::fs::read_dir(path).unwrap().count();
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let children = tasks.flat_map(|task| {
        let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        children.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    });
    OpenResources {
        descriptors: entries("/proc/self/fd"),
        threads: entries("/proc/self/task"),
        children: children.collect(),
    }
}

async fn cycle(number: usize) {
    let options = ChildOptions::new("cat").graces(LONG, LONG);
    let transport = Transport::from_child(options).unwrap();
    let (mut writer, child) = (transport.writer, transport.child.unwrap());
    let mut reader = FrameReader::new(transport.reader);
    writer.write_all(b"{}\n").await.unwrap();
    assert_eq!(reader.next_batch(&mut Vec::new()).await.unwrap(), 1);
    // Every way to end a child, in turn.
    match number % 3 {
        0 => assert!(child.shutdown().await.success()),
        1 => {
            let exit = child.exit();
            drop((writer, child));
            assert!(exit.await.success());
        }
        _ => {
            child.kill();
            assert_eq!(child.shutdown().await.signal, Some(9));
        }
    }
}

/// Runs 200 cycles; `AGENTESE_CYCLES` overrides the number.
#[tokio::test]
async fn fm_F40_start_and_stop_leak_nothing() {
    let cycles = std::env::var("AGENTESE_CYCLES").ok().and_then(|count| count.parse().ok()).unwrap_or(200);
    // The first cycles open the resources that the runtime keeps.
    for number in 0..3 {
        cycle(number).await;
    }
    let settled = async || {
        // The last step of a keeper follows the exit that it reports.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        open_resources()
    };
    let before = settled().await;
    for number in 0..cycles {
        tokio::time::timeout(LONG, cycle(number)).await.expect("a cycle hangs");
    }
    let after = settled().await;
    assert_eq!(after, before);
    assert!(after.children.is_empty(), "{after:?}");
}
