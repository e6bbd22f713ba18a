//! Many prompts that wait.

use serde_json::json;

use super::Pair;
use super::raw::Raw;

/// How many prompts are sent.
const SENT: usize = 5000;

/// An agent of pi that answers each command but prompts.
const SILENT: &str = r#"while IFS= read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":"\([^"]*\)".*/\1/p')
    case $line in
        *'"prompt"'*) ;;
        *get_state*) echo '{"id":"'$id'","type":"response","command":"get_state","success":true,"data":{"thinkingLevel":"off","isStreaming":false,"isCompacting":false,"steeringMode":"all","followUpMode":"all","sessionId":"s","autoCompactionEnabled":true,"messageCount":0,"pendingMessageCount":0,"model":null}}' ;;
        *get_messages*) echo '{"id":"'$id'","type":"response","command":"get_messages","success":true,"data":{"messages":[]}}' ;;
        *) echo '{"id":"'$id'","type":"response","command":"x","success":false,"error":"no"}' ;;
    esac
done"#;

/// Prompts that no agent takes are refused beyond a bound, and take little below it.
#[tokio::test]
async fn prompts_that_wait_are_bounded_and_small() {
    let pair = Pair::new("operator", "pi");
    let words = ["bridge", "--to", "operator", "--from", "pi", "--", "sh", "-c", SILENT];
    let mut bridge = Raw::of(pair.command_by(words.map(str::to_owned).to_vec()));
    bridge.says(json!({"id": "s", "type": "get_state"})).await;
    bridge.until("response").await;
    let before = bridge.memory();
    for number in 0..SENT {
        bridge.says(json!({"id": number.to_string(), "type": "prompt", "text": "x".repeat(100)})).await;
    }
    // A prompt is answered when its work is done: only those that are refused are answered now.
    let mut refused = 0;
    while refused < SENT - 1024 {
        let answer = bridge.until("response").await;
        assert_eq!(answer["success"], false, "{answer}");
        let reason = answer["error"].as_str().unwrap();
        assert!(reason.contains("1024 commands are in progress"), "{answer}");
        refused += 1;
    }
    bridge.says(json!({"id": "a", "type": "get_state"})).await;
    let more = bridge.memory() - before;
    assert!(more < 32 * 1024 * 1024, "{more} bytes more");
}
