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
use crate::session::faults::MemoryDisk;
use crate::session::{Session, Start};
use crate::world::{RandomIds, SystemClock};

const PATH: &str = "/sessions/s.jsonl";

/// Time limit of the response to an abort, independent of the state of the disk.
const PROMPTLY: Duration = Duration::from_secs(2);

struct Frozen {
    disk: MemoryDisk,
    client: Client,
    served: JoinHandle<ServeEnd>,
    _place: tempfile::TempDir,
}

/// Starts an agent whose disk stops responding after that many steps. Time is paused and advances while all
/// tasks wait.
fn frozen(after: usize) -> Frozen {
    let place = tempfile::tempdir().unwrap();
    let disk = MemoryDisk::default();
    disk.freeze(after);
    let start = Start::new("/", Arc::new(SystemClock), Arc::new(RandomIds));
    let session = Session::create_at(Path::new(PATH), start.on(Arc::new(disk.clone())).beside()).unwrap();
    let script = serde_json::from_value(json!({"responses": [], "default": {"text": "said"}})).unwrap();
    let server = Server::builder().cwd(place.path()).script(script).session(session).build();
    let (ours, theirs) = memory_pair(1 << 16);
    let served = tokio::spawn(server.serve(theirs));
    Frozen { disk, client: Client::connect(ours), served, _place: place }
}

async fn within<T>(limit: Duration, what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(limit, future).await.unwrap_or_else(|_| panic!("{what} takes longer than {limit:?}"))
}

/// Returns the types of the events up to the end of the run.
async fn rest(mut run: Run) -> Vec<String> {
    let mut seen = Vec::new();
    while let Some(event) = run.next().await {
        let event = event.unwrap();
        seen.push(match &event {
            Event::MessageEnd(_) => "message_end".to_owned(),
            Event::AgentEnd(_) => "agent_end".to_owned(),
            _ => continue,
        });
    }
    seen
}

#[tokio::test(start_paused = true)]
async fn fm_f96_an_abort_and_other_commands_are_answered_while_the_disk_does_not_answer() {
    for after in 0..4 {
        let agent = frozen(after);
        let client = &agent.client;
        let run = within(PROMPTLY, "a prompt", client.prompt("go")).await.unwrap();
        let state = within(PROMPTLY, "get_state", client.get_state()).await.unwrap();
        assert_eq!(state.session_file.as_deref(), Some(PATH));
        within(PROMPTLY, "an abort", client.abort()).await.unwrap();
        let seen = within(PROMPTLY, "the end of the run", rest(run)).await;
        assert_eq!(seen.last().map(String::as_str), Some("agent_end"));
        assert!(!within(PROMPTLY, "get_state", client.get_state()).await.unwrap().is_streaming);
        agent.disk.thaw();
    }
}

#[tokio::test(start_paused = true)]
async fn fm_f100_a_run_goes_on_without_a_disk_that_does_not_answer_and_the_end_is_bounded() {
    let agent = frozen(0);
    let begun = Instant::now();
    let run = agent.client.prompt("go").await.unwrap();
    let seen = within(Duration::from_secs(8), "a run", rest(run)).await;
    assert_eq!(seen, ["message_end", "message_end", "agent_end"]);
    // The agent waits for the disk once, and not for each message.
    assert!(begun.elapsed() >= Duration::from_secs(5), "{:?}", begun.elapsed());
    let second = agent.client.prompt("more").await.unwrap();
    within(PROMPTLY, "a second run", rest(second)).await;
    within(Duration::from_secs(8), "another session", agent.client.new_session()).await.unwrap();
    within(Duration::from_secs(8), "the end", agent.client.close()).await;
    let ended = within(Duration::from_secs(8), "the end of serving", agent.served).await.unwrap();
    assert_eq!(ended, ServeEnd::EndOfInput);
    agent.disk.thaw();
}

#[tokio::test]
async fn nothing_is_told_before_it_is_handed_to_the_system() {
    let agent = frozen(usize::MAX);
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
