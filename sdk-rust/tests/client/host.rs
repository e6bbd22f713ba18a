//! Tests of services that a client provides to an agent: tools and addresses. Also tests frames in pieces.

use agentese::omp::{Dialogs, HostToolCall, HostToolResult, HostUriRequest, HostUriResult, Omp};
use agentese::tap::{Diagnostic, Direction};
use agentese::types::{InputBlock, TextContent, ToolOutput};
use agentese::{Builder, omp};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::peer::{pair, within};

struct Host;

impl Dialogs for Host {
    async fn host_tool_call(&self, dialog: HostToolCall) -> Option<HostToolResult> {
        match dialog.tool_name.as_str() {
            "hangs" => std::future::pending().await,
            "missing" => None,
            _ => {
                let text = format!("{} said {}", dialog.tool_call_id, dialog.arguments["text"]);
                let block = InputBlock::Text(TextContent::new(text));
                Some(HostToolResult::new(ToolOutput::new(vec![block])))
            }
        }
    }

    async fn host_uri_request(&self, dialog: HostUriRequest) -> Option<HostUriResult> {
        let mut result = HostUriResult::new();
        result.content = Some(format!("{} of {}", dialog.operation, dialog.url));
        Some(result)
    }
}

fn call(id: &str, tool: &str) -> String {
    json!({"type": "host_tool_call", "id": id, "toolCallId": "c1", "toolName": tool, "arguments": {"text": "ping"}})
        .to_string()
}

#[tokio::test]
async fn a_handler_carries_out_tools_and_reads_addresses() {
    let (_client, mut peer, _) = pair(omp::Client::builder().dialogs(Host));
    peer.send(&call("1", "hangs")).await;
    peer.send(&call("2", "echo")).await;
    let text = json!([{"type": "text", "text": "c1 said \"ping\""}]);
    assert_eq!(
        peer.receive().await,
        json!({"type": "host_tool_result", "id": "2", "result": {"content": text}})
    );
    // A withdrawn call receives no answer.
    peer.send(r#"{"type":"host_tool_cancel","id":"9","targetId":"1"}"#).await;
    peer.send(r#"{"type":"host_uri_request","id":"3","operation":"read","url":"notes://today"}"#).await;
    let answer = json!({"type": "host_uri_result", "id": "3", "content": "read of notes://today"});
    assert_eq!(peer.receive().await, answer);
    peer.send(&call("4", "missing")).await;
    let refused = peer.receive().await;
    assert_eq!((&refused["id"], &refused["isError"]), (&json!("4"), &json!(true)));
}

#[tokio::test]
async fn without_a_handler_the_agent_gets_a_failure() {
    let (_client, mut peer, _) = pair(Builder::<Omp>::default());
    peer.send(&call("1", "echo")).await;
    assert_eq!(peer.receive().await["isError"], true);
    peer.send(r#"{"type":"host_uri_request","id":"3","operation":"read","url":"notes://today"}"#).await;
    assert_eq!(peer.receive().await["type"], "host_uri_result");
    peer.send(r#"{"type":"extension_ui_request","id":"5","method":"dance"}"#).await;
    assert_eq!(peer.receive().await, json!({"type": "extension_ui_response", "id": "5", "cancelled": true}));
}

fn pieces(id: &str, frame: &Value, size: usize) -> Vec<String> {
    let text = frame.to_string();
    let parts: Vec<_> = text.as_bytes().chunks(size).collect();
    let piece = |(index, part): (usize, &&[u8])| {
        json!({"type": "rpc_chunk", "chunkId": id, "index": index, "count": parts.len(), "byteLength": text.len(),
               "data": STANDARD.encode(part)})
        .to_string()
    };
    parts.iter().enumerate().map(piece).collect()
}

/// F25: a response in pieces reaches its call. Invalid pieces are reported, and later frames are read.
#[tokio::test]
async fn fm_f25_a_frame_in_pieces_is_one_frame_and_a_broken_one_is_reported() {
    let (client, mut peer, seen) = pair(Builder::<Omp>::default());
    let text = tokio::spawn({
        let client = client.clone();
        async move { client.get_last_assistant_text().await }
    });
    let id: Value = serde_json::from_str(&peer.receive_command("get_last_assistant_text").await).unwrap();
    let answer = |text: &str| {
        json!({"id": id, "type": "response", "command": "get_last_assistant_text", "success": true,
               "data": {"text": text}})
    };
    let broken = pieces("a", &answer("lost"), 40);
    peer.send(&broken[0]).await;
    peer.send(&broken[2]).await;
    peer.send(&broken[0]).await;
    peer.send(r#"{"type":"agent_start"}"#).await;
    for piece in pieces("b", &answer("whole"), 40) {
        peer.send(&piece).await;
    }
    let text = within("the answer", text).await.unwrap().unwrap();
    assert_eq!(text.text.into_option().as_deref(), Some("whole"));
    let count = broken.len();
    for told in [
        format!("received 1 of {count} pieces of a, then piece 2 of a"),
        format!("received 1 of {count} pieces of a, then another frame"),
    ] {
        assert!(seen.has(|d| matches!(d, Diagnostic::Chunks { reason } if *reason == told)), "{told}");
    }
    assert!(!seen.has(|d| matches!(d, Diagnostic::UnknownFrame { .. })));
    // A tap receives only whole frames, so that no piece exposes a key.
    let frames = seen.frames.lock().unwrap().clone();
    let received: Vec<_> =
        frames.into_iter().filter(|(direction, _)| *direction == Direction::Received).collect();
    assert_eq!(
        received.into_iter().map(|(_, text)| text).collect::<Vec<_>>(),
        [r#"{"type":"agent_start"}"#.to_owned(), answer("whole").to_string()]
    );
}

#[tokio::test]
async fn a_key_in_pieces_reaches_no_tap() {
    let (client, mut peer, seen) = pair(Builder::<Omp>::default());
    let mut events = client.events().unwrap();
    let event = json!({"type": "agent_start", "note": "sk-ant-0123456789abcdefghij"});
    for piece in pieces("a", &event, 40) {
        peer.send(&piece).await;
    }
    within("the event", events.next_raw()).await.unwrap().unwrap();
    let frames = seen.frames.lock().unwrap().clone();
    let [(_, text)] = &frames[..] else { panic!("{frames:?}") };
    assert!(text.contains("agent_start") && !text.contains("sk-ant"), "{text}");
}

#[tokio::test]
async fn an_event_that_carries_a_key_is_its_type_alone_where_it_comes_in_pieces() {
    let (client, mut peer, _) = pair(Builder::<Omp>::default());
    let mut events = client.events().unwrap();
    let event = json!({"type": "before_provider_request", "options": {"plain": "very-private"}});
    for piece in pieces("a", &event, 40) {
        peer.send(&piece).await;
    }
    let told = within("the event", events.next_raw()).await.unwrap().unwrap();
    assert_eq!(told.frame().as_str(), r#"{"type":"before_provider_request"}"#);
}

/// In omp 18, an `agent_end` can announce that the run continues; then it does not end the run.
#[tokio::test]
async fn a_run_ends_where_its_end_is_the_last_one() {
    let (client, mut peer, _) = pair(Builder::<Omp>::default());
    let ready = json!({"type": "ready", "protocolVersion": 1, "supportedProtocolVersions": [1, 2],
                       "maxFrameBytes": 1048576, "maxReassembledFrameBytes": 67108864});
    peer.send(&ready.to_string()).await;
    let run = tokio::spawn({
        let client = client.clone();
        async move { client.prompt("go").await }
    });
    peer.answer("prompt", "").await;
    let run = within("the acceptance", run).await.unwrap().unwrap();
    for frame in [
        r#"{"type":"agent_start"}"#,
        r#"{"type":"agent_end","messages":[],"isTerminal":false}"#,
        r#"{"type":"agent_start"}"#,
        r#"{"type":"agent_end","messages":[],"isTerminal":true}"#,
        r#"{"type":"auto_retry_end","success":true,"attempt":1}"#,
    ] {
        peer.send(frame).await;
    }
    // The state is queried once, because the first end was not final.
    peer.answer("get_state", &crate::peer::state(false)).await;
    within("the end", run.result()).await.unwrap();
    assert_eq!(client.revision().map(|spec| spec.id()).as_deref(), Some("omp@18.2"));
}
