//! Many pending prompts.

use serde_json::json;

use super::Pair;
use super::raw::Raw;

/// Number of prompts.
const SENT: usize = 5000;

/// Agent of pi that responds to every command except prompts.
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

/// Beyond a limit, prompts without a response are rejected. Below it, they use little memory.
#[tokio::test]
async fn prompts_that_wait_are_bounded_and_small() {
    let pair = Pair::new("omp", "pi");
    let words = ["bridge", "--to", "omp", "--from", "pi", "--", "sh", "-c", SILENT];
    let mut bridge = Raw::of(pair.command_by(words.map(str::to_owned).to_vec()));
    bridge.says(json!({"id": "s", "type": "get_state"})).await;
    bridge.until("response").await;
    let before = bridge.memory();
    for number in 0..SENT {
        bridge.says(json!({"id": number.to_string(), "type": "prompt", "message": "x".repeat(100)})).await;
    }
    // A pending prompt is acknowledged.
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
