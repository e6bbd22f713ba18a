//! Tests with a disk that stops responding while an agent works.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agentese::pi::{Client, Event, Run};
use agentese::serve::ServeEnd;
use agentese::transport::memory_pair;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::Server;
use crate::runtime::{RandomIds, SystemClock};
use crate::session::faults::MemoryDisk;
use crate::session::{Session, SessionOptions};

const PATH: &str = "/sessions/s.jsonl";

/// Time limit for the response to an abort, even if the disk does not respond.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);

struct FrozenDiskAgent {
    disk: MemoryDisk,
    client: Client,
    served: JoinHandle<ServeEnd>,
    _place: tempfile::TempDir,
}

/// Starts an agent whose disk stops responding after `after` operations. Time is paused and advances only while all
/// tasks wait.
fn frozen_disk_agent(after: usize) -> FrozenDiskAgent {
    let directory = tempfile::tempdir().unwrap();
    let disk = MemoryDisk::default();
    disk.freeze(after);
    let start = SessionOptions::new("/", Arc::new(SystemClock), Arc::new(RandomIds));
    let session =
        Session::create_at(Path::new(PATH), start.with_storage(Arc::new(disk.clone())).write_in_background())
            .unwrap();
    let script = serde_json::from_value(json!({"responses": [], "default": {"text": "said"}})).unwrap();
    let server = Server::builder().cwd(directory.path()).script(script).session(session).build();
    let (ours, theirs) = memory_pair(1 << 16);
    let served = tokio::spawn(server.serve(theirs));
    FrozenDiskAgent { disk, client: Client::connect(ours), served, _place: directory }
}

async fn within<T>(limit: Duration, what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(limit, future).await.unwrap_or_else(|_| panic!("{what} takes longer than {limit:?}"))
}

/// Returns the types of the events up to the end of the run.
async fn event_types_until_end(mut run: Run) -> Vec<String> {
    let mut types = Vec::new();
    while let Some(event) = run.next().await {
        let event = event.unwrap();
        types.push(match &event {
            Event::MessageEnd(_) => "message_end".to_owned(),
            Event::AgentEnd(_) => "agent_end".to_owned(),
            _ => continue,
        });
    }
    types
}

#[tokio::test(start_paused = true)]
async fn fm_f96_abort_and_other_commands_are_answered_while_the_disk_is_frozen() {
    for after in 0..4 {
        let agent = frozen_disk_agent(after);
        let client = &agent.client;
        let run = within(RESPONSE_TIMEOUT, "a prompt", client.prompt("go")).await.unwrap();
        let state = within(RESPONSE_TIMEOUT, "get_state", client.get_state()).await.unwrap();
        assert_eq!(state.session_file.as_deref(), Some(PATH));
        within(RESPONSE_TIMEOUT, "an abort", client.abort()).await.unwrap();
        let types = within(RESPONSE_TIMEOUT, "the end of the run", event_types_until_end(run)).await;
        assert_eq!(types.last().map(String::as_str), Some("agent_end"));
        assert!(!within(RESPONSE_TIMEOUT, "get_state", client.get_state()).await.unwrap().is_streaming);
        agent.disk.thaw();
    }
}

#[tokio::test(start_paused = true)]
async fn fm_f100_run_continues_without_a_frozen_disk_and_its_end_is_bounded() {
    let agent = frozen_disk_agent(0);
    let start = Instant::now();
    let run = agent.client.prompt("go").await.unwrap();
    let types = within(Duration::from_secs(8), "a run", event_types_until_end(run)).await;
    assert_eq!(types, ["message_end", "message_end", "agent_end"]);
    // The agent waits for the disk once, and not for each message.
    assert!(start.elapsed() >= Duration::from_secs(5), "{:?}", start.elapsed());
    let second = agent.client.prompt("more").await.unwrap();
    within(RESPONSE_TIMEOUT, "a second run", event_types_until_end(second)).await;
    within(Duration::from_secs(8), "another session", agent.client.new_session()).await.unwrap();
    within(Duration::from_secs(8), "the end", agent.client.close()).await;
    let ended = within(Duration::from_secs(8), "the end of serving", agent.served).await.unwrap();
    assert_eq!(ended, ServeEnd::EndOfInput);
    agent.disk.thaw();
}

#[tokio::test]
async fn events_follow_the_write_of_their_entries() {
    let agent = frozen_disk_agent(usize::MAX);
    for number in 1..20 {
        let mut run = agent.client.prompt("go").await.unwrap();
        let mut ended = 2 * (number - 1);
        while let Some(event) = run.next().await {
            if let Event::MessageEnd(_) = event.unwrap() {
                ended += 1;
                let lines = agent.disk.read(Path::new(PATH)).unwrap();
                let messages = lines.lines().filter(|line| line.contains("\"type\":\"message\"")).count();
                assert!(messages >= ended, "{messages} of {ended}");
            }
        }
    }
}
