//! Tests of conversations that are too long to be held in memory completely.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use agentese::types::{AgentMessage, TextContent, UserMessage};
use agentese_server::providers::ProviderErrorKind;
use serde_json::{Value, json};

use crate::served::process::{Agent, Place};
use crate::support::{
    APIS, Reply, Server, TestHome, answer_events, definition, failure, hello, model, question, text,
};

fn user(text: &str) -> Arc<AgentMessage> {
    Arc::new(UserMessage::new(vec![TextContent::new(text).into()], 1).into())
}

#[tokio::test]
async fn a_long_request_is_sent_whole_and_again_if_it_was_refused() {
    for api in APIS {
        let refused = Reply::error(503, &[], "overloaded", "Not now.");
        let server = Server::start([refused, Reply::events(&hello(api))]).await;
        let (catalog, _) = TestHome::with_models(definition(api, &server.url())).load();
        let mut request = question(model(&catalog), "");
        let texts: Vec<String> = (0..6).map(|number| format!("<{number}>{}", "x".repeat(1 << 20))).collect();
        request.messages = texts.iter().map(|text| user(text)).collect::<Vec<_>>().into();
        assert_eq!(text(&answer_events(&catalog, request).await), "hello", "{api}");
        let received = server.received();
        assert_eq!(received.len(), 2, "{api}");
        for one in received {
            let body = one.body.to_string();
            assert_eq!(one.header("content-length").unwrap(), body.len().to_string(), "{api}");
            assert_eq!(one.header("transfer-encoding"), None, "{api}");
            let places: Vec<_> = texts.iter().map(|text| body.find(text.as_str()).unwrap()).collect();
            assert!(places.is_sorted(), "{api}");
        }
    }
}

#[tokio::test]
async fn a_long_request_is_sent_on_whole_within_its_host_and_refused_elsewhere() {
    let long = |catalog: &_| {
        let mut request = question(model(catalog), "");
        let texts = (0..6).map(|number| format!("<{number}>{}", "x".repeat(1 << 20)));
        request.messages = texts.map(|text| user(&text)).collect::<Vec<_>>().into();
        request
    };
    for (api, status) in APIS.into_iter().zip([307, 308, 307, 308]) {
        let moved = |to: &str| Reply::new(status, &[("location", to)], "");
        let server = Server::start([moved("/a"), moved("/b?c=d"), Reply::events(&hello(api))]).await;
        let (catalog, _) = TestHome::with_models(definition(api, &server.url())).load();
        assert_eq!(text(&answer_events(&catalog, long(&catalog)).await), "hello", "{api}");
        let received = server.received();
        assert!(received[2].head.starts_with("POST /b?c=d "), "{}", received[2].head);
        assert!(received[0].text.len() > 6 << 20);
        for again in &received[1..] {
            assert!(again.text == received[0].text, "{api}: the body is sent whole");
            let key = ["authorization", "x-api-key", "x-goog-api-key"].map(|name| again.header(name));
            assert!(key.iter().flatten().any(|key| key.contains("fake-key")), "{api} {}", again.head);
        }
        // Endless redirects, or a redirect to another host.
        let other_server = Server::start([Reply::events(&hello(api))]).await;
        let away = format!("{}/v1/x", other_server.url());
        for (to, count) in [("/a", 6), (&*format!("{away}?key=x"), 1)] {
            let server = Server::start((0..20).map(|_| moved(to))).await;
            let (catalog, _) = TestHome::with_models(definition(api, &server.url())).load();
            let refused = failure(&answer_events(&catalog, long(&catalog)).await);
            let address = if count == 1 { away.clone() } else { format!("{}/a", server.url()) };
            let expected = format!(
                "{status} The provider redirects the request to {address}; redirects are not followed."
            );
            assert_eq!((refused.kind, refused.text), (ProviderErrorKind::BadRequest, expected), "{api}");
            assert_eq!(server.received().len(), count, "{api}");
        }
        assert!(other_server.received().is_empty());
    }
}

#[tokio::test]
async fn a_redirect_that_would_drop_the_body_is_refused() {
    for (status, length) in [(301, 1), (302, 1), (303, 1), (301, 6 << 20)] {
        let api = APIS[0];
        let moved = Reply::new(status, &[("location", "/v2/messages")], "");
        let server = Server::start([moved, Reply::events(&hello(api))]).await;
        let (catalog, _) = TestHome::with_models(definition(api, &server.url())).load();
        let refused = failure(&answer_events(&catalog, question(model(&catalog), &"x".repeat(length))).await);
        let expected = format!(
            "{status} The provider redirects the request to {}/v2/messages; redirects are not followed.",
            server.url()
        );
        assert_eq!(refused.text, expected);
        assert_eq!(server.received().len(), 1);
    }
}

/// Writes a session file of about `length` bytes. Returns the number of its messages.
fn write_session(path: &Path, length: usize) -> usize {
    let usage = json!({"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}});
    let stamp = "2026-01-01T00:00:00.000Z";
    let mut text =
        format!("{}\n", json!({"type": "session", "version": 3, "id": "s", "timestamp": stamp, "cwd": "/"}));
    let mut count = 0;
    while text.len() < length {
        let content = json!([{"type": "text", "text": format!("{count} {}", "lorem ipsum ".repeat(80))}]);
        let message = match count % 2 {
            0 => json!({"role": "user", "content": content, "timestamp": count}),
            _ => json!({"role": "assistant", "content": content, "api": "a", "provider": "p", "model": "m",
                "usage": usage, "stopReason": "stop", "timestamp": count}),
        };
        let parent = (count > 0).then(|| format!("{:08x}", count - 1));
        let line = json!({"type": "message", "id": format!("{count:08x}"), "parentId": parent,
            "timestamp": stamp, "message": message});
        writeln!(text, "{line}").unwrap();
        count += 1;
    }
    std::fs::write(path, text).unwrap();
    count
}

/// Returns the memory value `name` of the agent's process in KiB, as the system reports it.
fn memory(agent: &Agent, name: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", agent.pid().as_raw_nonzero())).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A session of 64 MB is sent in a request for an answer, and in a request for its summary.
#[tokio::test(flavor = "multi_thread")]
#[cfg(target_os = "linux")]
async fn a_long_session_is_sent_and_compacted_in_little_memory() {
    let server = Server::start((0..3).map(|_| Reply::events(&hello("openai-completions")))).await;
    let place = Place::new();
    let models = json!({"providers": definition("openai-completions", &server.url())});
    place.put("home/.agentese/agent/models.json", models.to_string());
    let path = place.work().join("long.jsonl");
    let count = write_session(&path, 64_000_000);
    let talk = move || {
        let arguments = ["--mode", "rpc", "--model", "fake/fake-model", "--session", path.to_str().unwrap()];
        let mut agent = Agent::start(place.command(&arguments));
        assert_eq!(agent.request(json!({"type": "set_auto_compaction", "enabled": false}))["success"], true);
        let before = memory(&agent, "VmRSS");
        agent.request(json!({"type": "prompt", "message": "go"}));
        agent.until_event("agent_end");
        let prompted = memory(&agent, "VmHWM") - before;
        let compacted = agent.request(json!({"type": "compact"}));
        assert_eq!(compacted["success"], true, "{compacted}");
        let grown = memory(&agent, "VmHWM") - before;
        // A conversation of any length takes about 60 MiB in a debug build; a whole conversation in memory takes 64 MB
        // more.
        assert!(grown < 96 << 10, "{prompted} KiB for a prompt, {grown} KiB with a compaction");
        let (status, _, stderr) = agent.finish();
        assert!(status.success(), "{stderr}");
    };
    tokio::task::spawn_blocking(talk).await.unwrap();
    let sent: Vec<Value> = server.received().into_iter().map(|one| one.body["messages"].clone()).collect();
    // The request contains the system prompt, the whole session and the prompt.
    assert_eq!(sent[0].as_array().unwrap().len(), count + 2);
    let summarised: usize =
        sent[1..].iter().flat_map(|all| all.as_array().unwrap()).map(|one| one.to_string().len()).sum();
    assert!(summarised > 50_000_000, "{summarised} bytes of the session were summarised");
}
