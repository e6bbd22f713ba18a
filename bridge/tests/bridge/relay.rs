//! Tests of an agent and a client with the same dialect and revision, between which the bridge changes
//! no byte.

use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::{Pair, agentese, dismiss_all, run_prompt, soon};

/// Starts a bridge to an agent that is a shell script.
fn bridge(script: &str) -> Child {
    let words = ["bridge", "--to", "pi", "--from", "pi@0.55", "--", "sh", "-c", script];
    let mut command = Command::new(agentese());
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(true).spawn().unwrap()
}

async fn rest(mut from: impl tokio::io::AsyncRead + Unpin) -> Vec<u8> {
    let mut bytes = Vec::new();
    soon("the rest", from.read_to_end(&mut bytes)).await.unwrap();
    bytes
}

#[tokio::test]
async fn bytes_that_are_not_frames_pass_unchanged() {
    let mut bridge = bridge("cat");
    let mut sent =
        b"{ \"type\" : \"get_state\",\t\"type\":\"x\" }\r\n\n\xff\xfe not a frame\n{\"half\":\"\\ud800\"}\n"
            .to_vec();
    sent.extend(std::iter::repeat_n(b'x', 300_000));
    let (mut to, from) = (bridge.stdin.take().unwrap(), bridge.stdout.take().unwrap());
    let written = sent.clone();
    let write = tokio::spawn(async move { to.write_all(&written).await });
    assert!(rest(from).await == sent);
    soon("the input", write).await.unwrap().unwrap();
    assert_eq!(soon("the end", bridge.wait()).await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn output_after_the_end_of_input_is_passed_on() {
    let mut bridge = bridge("cat >&2; echo late; exit 3");
    drop(bridge.stdin.take());
    assert_eq!(rest(bridge.stdout.take().unwrap()).await, b"late\n");
    assert_eq!(soon("the end", bridge.wait()).await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn an_agent_that_exits_first_ends_the_bridge_with_1() {
    let mut bridge = bridge("echo last; exit 3");
    let said = rest(bridge.stdout.take().unwrap()).await;
    let stderr = rest(bridge.stderr.take().unwrap()).await;
    assert_eq!(soon("the end", bridge.wait()).await.unwrap().code(), Some(1));
    let stderr = String::from_utf8(stderr).unwrap();
    assert_eq!(String::from_utf8(said).unwrap(), "last\n");
    assert_eq!(stderr, "Error: the agent disconnected: exited with code 3\n");
}

#[tokio::test]
async fn a_signal_ends_the_agent_too() {
    let mut bridge = bridge("echo $$; exec sleep 1000");
    let mut from = bridge.stdout.take().unwrap();
    let mut number = Vec::new();
    while !number.ends_with(b"\n") {
        number.push(soon("the agent's number", from.read_u8()).await.unwrap());
    }
    let number = String::from_utf8(number).unwrap();
    let own = bridge.id().unwrap().to_string();
    let signal = |kind: &'static str, id: String| async move {
        soon("kill", Command::new("kill").args([kind, &id]).stderr(Stdio::null()).status()).await.unwrap()
    };
    assert!(signal("-TERM", own).await.success());
    assert_eq!(soon("the end", bridge.wait()).await.unwrap().code(), Some(0));
    assert!(!signal("-0", number.trim().to_owned()).await.success(), "the agent still runs");
}

#[tokio::test]
async fn nothing_is_lost_between_one_dialect_and_itself() {
    for (name, found_out) in [("pi@1.5", false), ("opal", true)] {
        let mut pair = Pair::new(name, name);
        pair.detects_dialect = found_out;
        let agent = pair.connect(dismiss_all).await;
        assert_eq!(run_prompt(&agent, "hello").await.0, "Hello there", "{name}");
        soon("the end", agent.close()).await;
        let report: Value = serde_json::from_str(&std::fs::read_to_string(pair.report()).unwrap()).unwrap();
        for list in ["rows", "told"] {
            let rows = report[list].as_array().unwrap();
            assert!(rows.iter().all(|row| row["fate"] == "carried"), "{name}: {report:#}");
            assert!(rows.iter().any(|row| row["count"].as_u64() > Some(0)), "{name}: {report:#}");
        }
    }
}
