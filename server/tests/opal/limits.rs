//! Tests of rejected messages, and of runs that a limit ends.

use agentese_server::config::{RunLimits, Settings};
use serde_json::{Value, json};

use crate::rpc::Rpc;
use crate::support::link::builder;

const BLANK: &str =
    "The message is blank: it has neither visible text nor an image. Send some text or an image";

#[tokio::test]
async fn a_blank_prompt_is_refused_as_a_wrong_parameter() {
    let (mut rpc, _place) = Rpc::scripted(json!({"responses": [], "default": {"text": "ok"}}));
    let session = rpc.start(json!({})).await;
    for text in ["", "  \n\t", "\u{200b}"] {
        let error = rpc.error("agent/prompt", json!({"session_id": session, "text": text})).await;
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error["message"].as_str().unwrap().contains(BLANK), "{error}");
    }
    let history = rpc.result("session/history", json!({"session_id": session})).await;
    assert_eq!(history["messages"], json!([]));
    rpc.run(&session, "hello").await;
}

fn limited(limits: RunLimits, script: Value) -> (Rpc, tempfile::TempDir) {
    let (builder, place) = builder(script);
    let mut settings = Settings { limits, ..Settings::default() };
    settings.retry.enabled = false;
    (Rpc::serving(builder.settings(settings)), place)
}

#[tokio::test]
async fn a_run_that_reaches_a_limit_ends_with_an_error_that_names_it() {
    let reads = json!({"blocks": [{"tool": {"name": "read_file", "args": {"path": "nope"}}}]});
    let hangs = json!({"hang_after": -1});
    let defaults = RunLimits::default();
    for (limits, answer, reason) in [
        (defaults, &reads, "has failed 8 times with the same error"),
        (RunLimits { max_turns: 2, ..defaults }, &reads, "it has had 2 turns"),
        (RunLimits { max_time_ms: 200, ..defaults }, &hangs, "it has lasted 0.2 s"),
    ] {
        let script = json!({"responses": [{"when": {"user": "again"}, "text": "fine"}], "default": answer});
        let (mut rpc, _place) = limited(limits, script);
        let session = rpc.start(json!({})).await;
        let events = rpc.run(&session, "go").await;
        let last = events.last().unwrap();
        assert_eq!(last["type"], "error", "{last}");
        assert!(last["reason"].as_str().unwrap().contains(reason), "{last}");
        let events = rpc.run(&session, "again").await;
        assert_eq!(events.last().unwrap()["type"], "agent_end", "{events:?}");
    }
}

#[tokio::test]
async fn a_blank_prompt_for_a_sub_agent_is_an_error_and_starts_none() {
    let call = json!({"blocks": [{"tool": {"name": "sub_agent", "args": {"prompt": " \n"}}}]});
    let (mut rpc, _place) = Rpc::scripted(json!({"responses": [call], "default": {"text": "done"}}));
    let session = rpc.start(json!({})).await;
    let events = rpc.run(&session, "go").await;
    assert!(
        events.iter().all(|event| !event["type"].as_str().unwrap().starts_with("sub_agent")),
        "{events:?}"
    );
    let text = serde_json::to_string(&events).unwrap();
    assert!(text.contains("`prompt` is missing or blank"), "{text}");
}
