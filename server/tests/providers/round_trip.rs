//! Tests of values that a server sends and must receive back unchanged.

use std::sync::Arc;

use agentese::types::AgentMessage;
use agentese_server::providers::{Assembler, FinishReason, StreamEvent, history};
use agentese_server::runtime::{RandomIds, SystemClock};
use agentese_server::session::{Session, SessionOptions};
use serde_json::{Value, json};

use crate::support::{
    ReceivedRequest, Reply, Server, TestHome, answer_events, definition, hello, model, question,
};

/// JSON that no parser would write in the same way: formats of numbers, escapes, spaces, order of members.
const ODD: &str = r#""z":1.50e+3, "a":-0.0,"u":"\u00e9\/","n":[1E2 ]"#;

/// Returns the second request of a conversation. The answer to its first request has the body `body`. Before the second
/// request, the conversation is stored in a file, opened again and forked. `change` modifies the definition of the
/// provider.
async fn second_request(api: &str, body: &str, change: impl FnOnce(&mut Value)) -> ReceivedRequest {
    let server = Server::start([Reply::events(body), Reply::events(&hello(api))]).await;
    let mut providers = definition(api, &server.url());
    change(&mut providers);
    let (catalog, warnings) = TestHome::with_models(providers).load();
    assert_eq!(warnings, []);
    let name = catalog.models().find(|model| model.id == "fake-model").unwrap().clone();
    let mut request = question(name, "hi");
    let answer = assembled(answer_events(&catalog, request.clone()).await, Assembler::new(&request.model, 1));
    let place = tempfile::tempdir().unwrap();
    let start = || SessionOptions::new(place.path(), Arc::new(SystemClock), Arc::new(RandomIds));
    let file = place.path().join("session.jsonl");
    let mut session = Session::create_at(&file, start()).unwrap();
    session.append(request.messages.iter().next().unwrap());
    session.append(Arc::new(answer));
    let more: AgentMessage =
        serde_json::from_value(json!({"role": "user", "content": "more", "timestamp": 2})).unwrap();
    let entry = session.append(Arc::new(more.clone()));
    drop(session);
    let session = Session::open(&file, start()).unwrap();
    let (mut fork, _) = session.fork(entry.as_str(), None).unwrap();
    fork.append(Arc::new(more));
    request.messages = history::for_model(fork.messages().into_iter()).collect::<Vec<_>>().into();
    answer_events(&catalog, request).await;
    server.received()[1].clone()
}

fn assembled(events: Vec<StreamEvent>, mut assembler: Assembler) -> AgentMessage {
    let mut end = FinishReason::Stop;
    for event in events {
        match event {
            StreamEvent::Done(reason) => end = reason,
            StreamEvent::Error(failure) => panic!("{}", failure.text),
            event => drop(assembler.apply(event)),
        }
    }
    assembler.done(end).message.into()
}

/// Returns the body of a completion in chunks. Each item of `deltas` is the JSON text of one delta.
fn completion(deltas: &[&str], finish: &str) -> String {
    let chunks: String = deltas
        .iter()
        .map(|delta| format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n"))
        .collect();
    format!(
        "{chunks}data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"{finish}\"}}]}}\n\ndata: [DONE]\n\n"
    )
}

const CALL: &str =
    r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]}"#;

#[tokio::test]
async fn reasoning_details_go_back_byte_for_byte_and_in_order() {
    let text =
        format!(r#"{{"type":"reasoning.text","text":"I th\u0069nk","signature":"c2ln\/","index":0,{ODD}}}"#);
    let hidden = format!(r#"{{"type":"reasoning.encrypted","data":"ZGF0YQ==", "id":"c1","index":0,{ODD}}}"#);
    let summary = r#"{"type":"reasoning.summary","summary":"short","id":null,"format":"f"}"#.to_owned();
    let novel = format!(r#"{{"type":"reasoning.of_next_year",{ODD}}}"#);
    let delta = |details: &[&String]| {
        let details: Vec<&str> = details.iter().map(|detail| detail.as_str()).collect();
        format!(r#"{{"reasoning":"I think","reasoning_details":[{}]}}"#, details.join(", "))
    };
    let (one, two) = (delta(&[&text]), delta(&[&hidden]).replace("\"reasoning\":\"I think\",", ""));
    let (all, last) = (delta(&[&summary, &novel, &hidden, &text]), delta(&[&novel]));
    for (deltas, finish, expected) in [
        (vec![one.as_str(), CALL], "tool_calls", vec![&text]),
        // No text of the reasoning, and details after the call.
        (vec![CALL, &two], "tool_calls", vec![&hidden]),
        (vec![&one, CALL, &two], "tool_calls", vec![&text, &hidden]),
        (vec![&all, r#"{"content":"done"}"#, &last], "stop", vec![&summary, &novel, &hidden, &text, &novel]),
    ] {
        let received = second_request("openai-completions", &completion(&deltas, finish), |_| {}).await;
        let expected = expected.into_iter().map(String::as_str).collect::<Vec<_>>().join(",");
        let expected = format!("\"reasoning_details\":[{expected}]");
        assert!(received.text.contains(&expected), "{expected}\n{}", received.text);
        assert!(received.body["messages"][2].get("reasoning").is_none(), "the details contain the same");
    }
}

#[tokio::test]
async fn fragments_of_a_detail_go_back_as_one() {
    let body = completion(
        &[
            r#"{"reasoning":"I ","reasoning_details":[{"type":"reasoning.text","text":"I ","format":"f","index":0}]}"#,
            r#"{"reasoning":"th","reasoning_details":[{"type":"reasoning.text","text":"th\u0069nk","format":"f","index":0}]}"#,
            r#"{"reasoning_details":[{"type":"reasoning.text","signature":"c2ln","format":"f","index":0}]}"#,
            r#"{"content":"done"}"#,
        ],
        "stop",
    );
    let received = second_request("openai-completions", &body, |_| {}).await;
    let expected = r#""reasoning_details":[{"type":"reasoning.text","text":"I th\u0069nk","format":"f","index":0,"signature":"c2ln"}]"#;
    assert!(received.text.contains(expected), "{}", received.text);
}

#[tokio::test]
async fn extra_members_of_a_call_are_returned_unchanged() {
    let extra = |mark: &str| format!(r#"{{"google": {{"thought_signature":"{mark}"}},{ODD}}}"#);
    let call = |index: u64, extra: Option<&str>| {
        let extra = extra.map(|extra| format!(r#","extra_content":{extra}"#)).unwrap_or_default();
        format!(
            r#"{{"index":{index},"id":"c{index}","function":{{"name":"bash","arguments":"{{\"command\":\"ls\"}}"}}{extra}}}"#
        )
    };
    let (first, second) = (extra("c2lnMQ=="), extra("c2lnMg\\u003d\\u003d"));
    for calls in [
        vec![(0, Some(&first))],
        vec![(0, Some(&first)), (1, None)],
        vec![(0, None), (1, Some(&second)), (2, Some(&first))],
    ] {
        let list: Vec<String> =
            calls.iter().map(|(index, extra)| call(*index, extra.map(String::as_str))).collect();
        let apart: Vec<String> = list.iter().map(|call| format!(r#"{{"tool_calls":[{call}]}}"#)).collect();
        let together = format!(r#"{{"tool_calls":[{}]}}"#, list.join(","));
        for deltas in [apart.iter().map(String::as_str).collect::<Vec<_>>(), vec![together.as_str()]] {
            let received =
                second_request("openai-completions", &completion(&deltas, "tool_calls"), |_| {}).await;
            for (place, (_, extra)) in calls.iter().enumerate() {
                let sent = &received.body["messages"][2]["tool_calls"][place];
                assert_eq!(sent.get("extra_content").is_some(), extra.is_some(), "{sent}");
                if let Some(extra) = extra {
                    assert!(
                        received.text.contains(&format!("\"extra_content\":{extra}")),
                        "{}",
                        received.text
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn reasoning_content_is_in_each_message_for_hosts_that_require_it() {
    let thought = completion(&[r#"{"reasoning_content":"hm"}"#, r#"{"content":"done"}"#], "stop");
    let plain = completion(&[r#"{"content":"done"}"#], "stop");
    let asks = |value: bool| json!({"requiresReasoningContentOnAssistantMessages": value});
    for (provider, compat, body, expected) in [
        ("deepseek", json!({}), &plain, Some("")),
        ("deepseek", json!({}), &thought, Some("hm")),
        ("deepseek", asks(false), &plain, None),
        ("fake", asks(true), &plain, Some("")),
        ("fake", asks(true), &thought, Some("hm")),
        ("fake", json!({}), &plain, None),
        ("fake", json!({}), &thought, Some("hm")),
    ] {
        let received = second_request("openai-completions", body, |providers| {
            let mut own = providers["fake"].take();
            own["compat"] = compat.clone();
            *providers = json!({ provider: own });
        })
        .await;
        let message = &received.body["messages"][2];
        assert_eq!(message["role"], "assistant");
        assert_eq!(
            message.get("reasoning_content").and_then(Value::as_str),
            expected,
            "{provider} {compat} {message}"
        );
    }
}

#[tokio::test]
async fn signatures_of_other_apis_are_returned_unchanged() {
    let item = format!(
        r#"{{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"ZQ\u003d\u003d",{ODD}}}"#
    );
    let done = r#"{"type":"response.completed","response":{"status":"completed"}}"#;
    let text = r#"{"type":"message","id":"msg_1","content":[{"type":"output_text","text":"x"}]}"#;
    let events =
        |events: &[String]| events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>();
    let by_item = |item: &str, place: u64| {
        format!(r#"{{"type":"response.output_item.done","output_index":{place},"item":{item}}}"#)
    };
    let whole = format!(
        r#"{{"type":"response.completed","response":{{"status":"completed","output":[{item},{text}]}}}}"#
    );
    for body in [events(&[by_item(&item, 0), by_item(text, 1), done.to_owned()]), events(&[whole])] {
        let received = second_request("openai-responses", &body, |_| {}).await;
        assert!(received.text.contains(&item), "{}", received.text);
    }

    let google = |parts: &str| {
        format!(
            "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{parts}]}},\"finishReason\":\"STOP\"}}]}}\n\n"
        )
    };
    for (parts, sent) in [
        (
            r#"{"text":"done"},{"text":"","thoughtSignature":"c2ln"}"#,
            json!([{"text": "done", "thoughtSignature": "c2ln"}]),
        ),
        (
            r#"{"functionCall":{"name":"bash","args":{}},"thoughtSignature":"YQ=="},{"text":"","thoughtSignature":"c2ln"}"#,
            json!([{"functionCall": {"name": "bash", "args": {}}, "thoughtSignature": "YQ=="},
                   {"text": "", "thoughtSignature": "c2ln"}]),
        ),
        (
            r#"{"text":"hm","thought":true},{"text":"","thoughtSignature":"c2ln"},{"text":"done"}"#,
            json!([{"thought": true, "text": "hm"}, {"text": "done", "thoughtSignature": "c2ln"}]),
        ),
    ] {
        let received = second_request("google-generative-ai", &google(parts), |_| {}).await;
        assert_eq!(received.body["contents"][1]["parts"], sent, "{parts}");
    }

    let anthropic = |block: Value, deltas: &[Value]| {
        let mut all = vec![
            json!({"type": "message_start", "message": {}}),
            json!({"type": "content_block_start", "index": 0, "content_block": block}),
        ];
        all.extend(
            deltas.iter().map(|delta| json!({"type": "content_block_delta", "index": 0, "delta": delta})),
        );
        all.extend([
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "done"}}),
            json!({"type": "content_block_stop", "index": 1}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
            json!({"type": "message_stop"}),
        ]);
        events(&all.iter().map(Value::to_string).collect::<Vec<_>>())
    };
    for (block, deltas, sent) in [
        (
            json!({"type": "redacted_thinking", "data": "ZGF0YQ=="}),
            vec![],
            json!({"type": "redacted_thinking", "data": "ZGF0YQ=="}),
        ),
        (
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            vec![
                json!({"type": "thinking_delta", "thinking": "hm"}),
                json!({"type": "signature_delta", "signature": "c2ln"}),
            ],
            json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"}),
        ),
        // The server stores the text of the reasoning.
        (
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            vec![json!({"type": "signature_delta", "signature": "c2ln"})],
            json!({"type": "thinking", "thinking": "", "signature": "c2ln"}),
        ),
    ] {
        let received = second_request("anthropic-messages", &anthropic(block, &deltas), |_| {}).await;
        assert_eq!(received.body["messages"][1]["content"][0], sent);
    }
}

/// In sessions of pi 1.5 the details are stored with the reasoning. In sessions of older versions they are stored with
/// the call.
#[tokio::test]
async fn sessions_of_pi_return_stored_reasoning() {
    let detail = format!(r#"{{"type":"reasoning.encrypted","data":"x","id":"c1",{ODD}}}"#);
    let list = format!(r#"[{{"type":"reasoning.text","text":"hm","signature":"s"}},{detail}]"#);
    let usage = json!({"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
                       "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}});
    for (thinking, call, expected) in
        [(list.as_str(), None, list.clone()), ("", Some(detail.as_str()), format!("[{detail}]"))]
    {
        let server = Server::start([Reply::events(&hello("openai-completions"))]).await;
        let (catalog, _) = TestHome::with_models(definition("openai-completions", &server.url())).load();
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("session.jsonl");
        let mut called = json!({"type": "toolCall", "id": "c1", "name": "bash", "arguments": {}});
        if let Some(call) = call {
            called["thoughtSignature"] = json!(call);
        }
        let entry = |id: &str, parent: Value, message: Value| json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-11-22T00:00:00.000Z", "message": message});
        let lines = [
            json!({"type": "session", "version": 3, "id": "00000000-0000-4000-8000-000000000001",
                   "timestamp": "2026-11-22T00:00:00.000Z", "cwd": place.path()}),
            entry("00000001", Value::Null, json!({"role": "user", "content": "hi", "timestamp": 1})),
            entry(
                "00000002",
                json!("00000001"),
                json!({
                    "role": "assistant", "api": "openai-completions", "provider": "fake", "model": "fake-model", "usage": usage,
                    "stopReason": "toolUse", "timestamp": 1,
                    "content": [{"type": "thinking", "thinking": "hm", "thinkingSignature": thinking}, called],
                }),
            ),
        ];
        std::fs::write(&file, lines.map(|line| line.to_string() + "\n").concat()).unwrap();
        let start = SessionOptions::new(place.path(), Arc::new(SystemClock), Arc::new(RandomIds));
        let session = Session::open(&file, start).unwrap();
        let mut request = question(model(&catalog), "hi");
        request.messages = history::for_model(session.messages().into_iter()).collect::<Vec<_>>().into();
        answer_events(&catalog, request).await;
        let sent = &server.received()[0];
        assert!(sent.text.contains(&format!("\"reasoning_details\":{expected}")), "{}", sent.text);
    }
}
