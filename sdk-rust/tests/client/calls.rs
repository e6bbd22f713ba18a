//! Tests of calls and their responses.

use std::time::Duration;

use agentese::pi::{Pi, QueueMode};
use agentese::{Builder, Error, ErrorKind, omp, opal, pi};
use serde_json::{Map, Value, json};

use crate::peer::{failure, pair, state, success, within};

#[tokio::test]
async fn a_call_gives_typed_data() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let call = tokio::spawn(async move { client.get_state().await });
    peer.answer("get_state", &state(false)).await;
    let state = within("the answer", call).await.unwrap().unwrap();
    assert_eq!(state.steering_mode, QueueMode::All);
    assert_eq!(state.model.as_option(), None);
}

#[tokio::test]
async fn parameters_are_encoded_as_declared() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.set_model("anthropic", "claude").await }
    });
    let line = peer.receive().await;
    assert_eq!(
        line,
        json!({"id": line["id"], "type": "set_model", "provider": "anthropic", "modelId": "claude"})
    );
    peer.send(&failure(&line["id"].to_string(), "set_model", "Model not found: anthropic/claude")).await;
    let error = within("the refusal", call).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!(error.refused().unwrap().message, "Model not found: anthropic/claude");
    assert!(!error.refused().unwrap().attributed);
    // A command without parameters has only its type and id.
    let _call = tokio::spawn(async move { client.abort_bash().await });
    let line = peer.receive().await;
    assert_eq!(line.as_object().unwrap().len(), 2, "{line}");
}

#[tokio::test]
async fn answers_come_in_any_order() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let slow = tokio::spawn({
        let client = client.clone();
        async move { client.bash("sleep 1").await }
    });
    let slow_id = peer.receive_command("bash").await;
    let quick = tokio::spawn(async move { client.set_auto_retry(true).await });
    peer.answer("set_auto_retry", "").await;
    within("the quick answer", quick).await.unwrap().unwrap();
    peer.send(&success(
        &slow_id,
        "bash",
        r#"{"output":"","exitCode":0,"cancelled":false,"truncated":false}"#,
    ))
    .await;
    assert_eq!(within("the slow answer", slow).await.unwrap().unwrap().exit_code.into_option(), Some(0));
}

#[tokio::test]
async fn null_data_is_none_where_declared() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let call = tokio::spawn(async move { client.cycle_model().await });
    peer.answer("cycle_model", "null").await;
    assert_eq!(within("the answer", call).await.unwrap().unwrap(), None);
}

#[tokio::test]
async fn data_that_does_not_fit_names_the_member() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let call = tokio::spawn(async move { client.get_fork_messages().await });
    peer.answer("get_fork_messages", r#"{"messages":[{"entryId":5,"text":"x"}]}"#).await;
    let error = within("the error", call).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
    let text = error.to_string();
    assert!(text.contains("get_fork_messages") && text.contains("entryId"), "{text}");
}

/// If a handler of omp fails, the answer is named `parse` and has no id.
#[tokio::test]
async fn a_failure_without_id_is_attributed_to_the_oldest_call() {
    let (client, mut peer, _) = pair(Builder::<omp::Omp>::default());
    let first = tokio::spawn({
        let client = client.clone();
        async move { client.compact().await }
    });
    peer.receive_command("compact").await;
    let second = tokio::spawn(async move { client.get_state().await });
    let second_id = peer.receive_command("get_state").await;
    peer.send(r#"{"type":"response","command":"parse","success":false,"error":"Failed to parse command: Already compacted"}"#)
        .await;
    let error = within("the failure", first).await.unwrap().unwrap_err();
    let refused = error.refused().unwrap();
    assert!(refused.attributed && refused.message.ends_with("Already compacted"));
    assert_eq!(refused.command.as_deref(), Some("compact"));
    peer.send(&success(
        &second_id,
        "get_state",
        &state(false)
            .replace("pendingMessageCount", "queuedMessageCount")
            .replace("\"followUpMode\"", "\"interruptMode\":\"wait\",\"followUpMode\""),
    ))
    .await;
    within("the other call", second).await.unwrap().unwrap();
}

#[tokio::test]
async fn json_rpc_errors_keep_code_and_data() {
    let (client, mut peer, _) = pair(Builder::<opal::Opal>::default());
    let call = tokio::spawn(async move { client.agent_state("nope").await });
    let id = peer.receive_command("agent/state").await;
    assert_eq!(id, "1");
    peer.send(
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Session not found","data":"nope"}}"#,
    )
    .await;
    let error = within("the error", call).await.unwrap().unwrap_err();
    let refused = error.refused().unwrap();
    assert_eq!((refused.code, refused.data.as_ref()), (Some(-32602), Some(&json!("nope"))));
}

#[tokio::test]
async fn any_command_can_be_sent_raw() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    client.send_raw(r#"{"type":"from_the_future"}"#).unwrap();
    assert_eq!(peer.receive().await, json!({"type": "from_the_future"}));
    assert_eq!(client.send_raw("two\nlines").unwrap_err().kind(), ErrorKind::Usage);
    let call = tokio::spawn(async move {
        let members = Map::from_iter([("depth".to_owned(), json!(3))]);
        client.request("get_tree", &members).await
    });
    let line = peer.receive().await;
    assert_eq!((&line["type"], &line["depth"]), (&json!("get_tree"), &json!(3)));
    peer.send(&success(&line["id"].to_string(), "get_tree", r#"{"tree":[]}"#)).await;
    assert_eq!(within("the answer", call).await.unwrap().unwrap(), json!({"tree": []}));
}

#[test]
fn revisions_are_chosen_by_name() {
    assert!(pi::Client::builder().revision("0.55").is_ok());
    assert!(pi::Client::builder().revision("pi@0.55").is_ok());
    let error = pi::Client::builder().revision("pi@9.9").unwrap_err();
    assert!(matches!(&error, Error::UnknownRevision { known, .. } if known == "0.55, 1.5, 1.6"), "{error}");
    assert!(omp::Client::builder().revision("pi@0.55").is_err());
}

#[tokio::test]
async fn a_tap_sees_frames_without_keys() {
    let (client, mut peer, seen) = pair(Builder::<opal::Opal>::default());
    let call = tokio::spawn(async move { client.auth_set_key("anthropic", "canary-key-1").await });
    let line = peer.receive().await;
    assert_eq!(line["params"]["api_key"], "canary-key-1", "the agent gets the key");
    peer.send(r#"{"jsonrpc":"2.0","id":1,"result":{"ok":true,"api_key":"canary-key-2"}}"#).await;
    within("the answer", call).await.unwrap().unwrap();
    let frames = seen.frames.lock().unwrap();
    assert_eq!(frames.len(), 2);
    assert!(
        frames.iter().all(|(_, text)| !text.contains("canary") && text.contains("[redacted]")),
        "{frames:?}"
    );
}

#[tokio::test]
async fn a_call_has_its_own_timeout() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let impatient = client.with_timeout(Duration::from_millis(20));
    let error = within("the limit", impatient.bash("sleep 100")).await.unwrap_err();
    assert!(matches!(error, Error::TimedOut { .. }) && !error.is_retryable(), "{error}");
    // The late response belongs to no call, and the connection continues.
    let id = peer.receive_command("bash").await;
    peer.send(&success(&id, "bash", "{}")).await;
    let call = tokio::spawn(async move { client.get_state().await });
    peer.answer("get_state", &state(false)).await;
    within("the next call", call).await.unwrap().unwrap();
}

#[tokio::test]
async fn unknown_members_survive() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let call = tokio::spawn(async move { client.get_last_assistant_text().await });
    peer.answer("get_last_assistant_text", r#"{"text":null,"tokens":{"x":[1]}}"#).await;
    let data = within("the answer", call).await.unwrap().unwrap();
    assert_eq!(data.extra.get("tokens"), Some(&json!({"x": [1]})));
    let again: Value = serde_json::to_value(&data).unwrap();
    assert_eq!(again, json!({"text": null, "tokens": {"x": [1]}}));
}
