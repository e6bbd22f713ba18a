//! Tests of agents as processes: start, end and restart.

use std::time::{Duration, Instant};

use agentese::termination::Cause;
use agentese::{ErrorKind, pi};

use crate::peer::within;

/// Agent in a few lines of Python. It rejects every command except `bash`, with its process id as the message.
/// `bash` with `die` or `exit` ends it.
const AGENT: &str = r#"
import json, os, signal, sys
for line in sys.stdin:
    c = json.loads(line)
    t = c["type"]
    if t == "bash":
        sys.stderr.write("last words\n"); sys.stderr.flush()
        what = c["command"]
        if what == "die": os.kill(os.getpid(), signal.SIGKILL)
        if what == "exit": sys.exit(7)
        continue
    print(json.dumps({"id": c.get("id"), "type": "response", "command": t, "success": False, "error": str(os.getpid())}), flush=True)
"#;

fn agent() -> [&'static str; 3] {
    ["python3", "-c", AGENT]
}

async fn pid(client: &pi::Client) -> String {
    within("an answer", client.get_state()).await.unwrap_err().refused().unwrap().message.clone()
}

/// F33: the death of an agent settles its calls at once, with the signal and the end of stderr.
#[tokio::test]
async fn fm_f33_a_killed_agent_settles_every_call_at_once() {
    let client = pi::Client::spawn(agent()).unwrap();
    pid(&client).await;
    let waits: Vec<_> = (0..20)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.bash("wait").await })
        })
        .collect();
    // The agent reads the last line after the others.
    pid(&client).await;
    let process = client.process_id().unwrap();
    let killed = Instant::now();
    let error = within("the end", client.bash("die")).await.unwrap_err();
    // The figure is for docs/benchmarks.md and has no limit, because machines are loaded.
    println!("settled {:?} after the command that kills was sent", killed.elapsed());
    let termination = error.termination().unwrap();
    let exit = termination.exit().unwrap();
    assert_eq!((exit.code, exit.signal), (None, Some(9)));
    assert_eq!(termination.last_stderr_line(), Some("last words"));
    assert!(termination.to_string().contains("SIGKILL"), "{termination}");
    for wait in waits {
        let error = within("the end", wait).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Terminated);
    }
    let gone = !std::path::Path::new(&format!("/proc/{process}/stat")).exists();
    assert!(gone, "the process was not reaped");
}

/// F34: if an agent exits before its response, the error contains the exit code.
#[tokio::test]
async fn fm_f34_an_agent_that_exits_gives_its_code() {
    let client = pi::Client::spawn(["sh", "-c", "echo no models >&2; exit 3"]).unwrap();
    let error = within("the end", client.get_state()).await.unwrap_err();
    let termination = error.termination().unwrap();
    assert_eq!(termination.exit().unwrap().code, Some(3));
    assert_eq!(termination.last_stderr_line(), Some("no models"));
    // A call after the end fails at once, with the same value.
    let again = client.get_messages().await.unwrap_err();
    assert_eq!(again.termination().unwrap().exit().unwrap().code, Some(3));
    assert_eq!(within("the end", client.terminated()).await.exit().unwrap().code, Some(3));
}

/// F35: a missing program is a separate error.
#[tokio::test]
async fn fm_f35_a_missing_program_is_a_spawn_error() {
    let error = pi::Client::spawn(["/no/such/agent"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Spawn);
    assert!(error.to_string().contains("/no/such/agent"), "{error}");
    let error = pi::Client::spawn(["/etc/passwd"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Spawn);
}

/// F38: dropping the client with pending calls ends the agent.
#[tokio::test]
async fn fm_f38_a_dropped_client_leaves_no_process() {
    let client = pi::Client::spawn(agent()).unwrap();
    pid(&client).await;
    let process = client.process_id().unwrap();
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.bash("wait").await }
    });
    pid(&client).await;
    call.abort();
    let _ = call.await;
    drop(client);
    within("the process to go", async {
        while std::path::Path::new(&format!("/proc/{process}/stat")).exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// A close is orderly: the agent receives the end of its input and exits by itself.
#[tokio::test]
async fn close_waits_for_the_agent() {
    let client = pi::Client::spawn(agent()).unwrap();
    pid(&client).await;
    let termination = within("the end", client.close()).await;
    assert!(matches!(termination.cause(), Cause::Exited(exit) if exit.code == Some(0)), "{termination}");
    assert!(client.get_state().await.unwrap_err().termination().is_some());
    // A second close has no effect.
    within("the end", client.close()).await;
}

/// F132: a stopped client can be restarted, without any state of the old connection.
#[tokio::test]
async fn fm_f132_a_second_start_is_clean() {
    let client = pi::Client::spawn(agent()).unwrap();
    let first = pid(&client).await;
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.bash("wait").await }
    });
    pid(&client).await;
    within("the end", client.close()).await;
    assert!(within("the call", waiting).await.unwrap().is_err());
    for _ in 0..3 {
        let again = client.respawn().unwrap();
        assert_ne!(pid(&again).await, first);
        assert_eq!(again.dropped_events(), 0);
        within("the end", again.close()).await;
    }
    assert!(client.get_state().await.is_err(), "the old client stays ended");
}
