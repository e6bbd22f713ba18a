//! Tests of many prompts that the agent has not answered.

use serde_json::{Value, json};

use super::Pair;
use super::raw_client::RawClient;

/// Number of sent prompts.
const SENT: usize = 5000;

/// Agent of pi that responds to all commands except prompts.
const SILENT: &str = r#"while IFS= read -r line; do
    member() { printf '%s' "$line" | sed -n 's/.*"'$1'":"\([^"]*\)".*/\1/p'; }
    kind=$(member type)
    case $kind in
        prompt) continue ;;
        get_state) data='{"thinkingLevel":"off","isStreaming":false,"isCompacting":false,"steeringMode":"all","followUpMode":"all","sessionId":"s","autoCompactionEnabled":true,"messageCount":0,"pendingMessageCount":0,"model":null}' ;;
        *) data='{"messages":[],"models":[],"commands":[]}' ;;
    esac
    echo '{"id":"'$(member id)'","type":"response","command":"'$kind'","success":true,"data":'$data'}'
done"#;

/// While the agent is silent, prompts beyond the limit are rejected. The pending prompts use little memory.
#[tokio::test]
async fn pending_prompts_are_bounded_and_small() {
    let pair = Pair::new("omp", "pi");
    let words = ["bridge", "--to", "omp", "--from", "pi", "--", "sh", "-c", SILENT];
    let mut bridge = RawClient::of(pair.command_with(words.map(str::to_owned).to_vec()));
    bridge.send(json!({"id": "s", "type": "get_state"})).await;
    bridge.until("response").await;
    let before = bridge.memory();
    for number in 0..SENT {
        bridge.send(json!({"id": number.to_string(), "type": "prompt", "message": "x".repeat(100)})).await;
    }
    // A prompt within the limit is acknowledged at once.
    let mut refused = 0;
    for _ in 0..SENT {
        let answer = bridge.until("response").await;
        if answer["success"] == false {
            let reason = answer["error"].as_str().unwrap();
            assert!(reason.contains("1024 commands are in progress"), "{answer}");
            refused += 1;
        }
    }
    assert_eq!(refused, SENT - 1024);
    let more = bridge.memory().saturating_sub(before);
    assert!(more < 32 * 1024 * 1024, "{more} bytes more");
}

/// After the death of the agent, each pending prompt receives one more answer: a failure with the reason.
#[tokio::test]
async fn pending_prompts_fail_with_the_reason_when_the_agent_dies() {
    for (front, agent) in [("pi", "omp"), ("omp", "pi"), ("pisces", "pi"), ("operator", "pi")] {
        let words = if front == "operator" { "text" } else { "message" };
        let prompt = |number| json!({"id": number, "type": "prompt", words: "x"});
        let state = json!({"id": "behind", "type": "get_state"});
        fails_each(front, agent, None, prompt, state).await;
    }
    let session = json!({"jsonrpc": "2.0", "id": "s", "method": "session/start", "params": {}});
    let prompt = |number| {
        let params = json!({"session_id": "s", "text": "x"});
        json!({"jsonrpc": "2.0", "id": number, "method": "agent/prompt", "params": params})
    };
    let ping = json!({"jsonrpc": "2.0", "id": "behind", "method": "opal/ping", "params": {}});
    fails_each("opal", "pi", Some(session), prompt, ping).await;
}

/// Sends prompts, and a command that the agent answers while the prompts are pending. Then kills the agent,
/// and expects a failure for each prompt.
async fn fails_each(
    front: &str,
    agent: &str,
    first: Option<Value>,
    prompt: impl Fn(String) -> Value,
    last: Value,
) {
    let words = ["bridge", "--to", front, "--from", agent, "--", "sh", "-c", SILENT];
    let pair = Pair::new("omp", "pi");
    let mut bridge = RawClient::of(pair.command_with(words.map(str::to_owned).to_vec()));
    if let Some(first) = first {
        bridge.send(first.clone()).await;
        bridge.until_id(&first["id"]).await;
    }
    for number in 0..20 {
        bridge.send(prompt(number.to_string())).await;
    }
    bridge.send(last).await;
    bridge.until_id(&json!("behind")).await;
    bridge.kill_the_agent();
    let code = bridge.until_exit().await;
    for number in 0..20 {
        let of_prompt = bridge.seen.iter().filter(|frame| frame["id"].as_str() == Some(&number.to_string()));
        let failures: Vec<_> = of_prompt.filter(|frame| !frame["error"].is_null()).collect();
        assert_eq!(failures.len(), 1, "{front}, {number}: {:#?}", bridge.seen);
        // During a turn, Operator rejects all other commands, as its document requires.
        let is_busy = front == "operator" && number > 0;
        let reason = failures[0]["error"].to_string();
        assert!(is_busy || reason.contains("killed by SIGKILL"), "{front}, {number}: {reason}");
    }
    assert_eq!(code, Some(1), "{front}");
}
