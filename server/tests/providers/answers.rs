//! Tests of requests that succeed.

use agentese_server::providers::{Assembler, FinishReason, StreamEvent, history};
use futures::StreamExt;
use serde_json::json;

use crate::support::{
    APIS, Reply, Server, TestHome, answer_events, definition, hello, model, question, soon, text,
};

#[tokio::test]
async fn every_api_has_its_own_address_and_key() {
    for (api, path, header, key) in [
        ("anthropic-messages", "POST /v1/messages HTTP/1.1", "x-api-key", "fake-key"),
        ("openai-completions", "POST /chat/completions HTTP/1.1", "authorization", "Bearer fake-key"),
        ("openai-responses", "POST /responses HTTP/1.1", "authorization", "Bearer fake-key"),
        (
            "google-generative-ai",
            "POST /models/fake-model:streamGenerateContent?alt=sse HTTP/1.1",
            "x-goog-api-key",
            "fake-key",
        ),
    ] {
        let server = Server::start([Reply::events(&hello(api))]).await;
        let (catalog, warnings) = TestHome::with_models(definition(api, &server.url())).load();
        assert_eq!(warnings, []);
        let events = answer_events(&catalog, question(model(&catalog), "hi")).await;
        assert_eq!(text(&events), "hello", "{api}");
        assert_eq!(events.first(), Some(&StreamEvent::Start));
        assert_eq!(events.last(), Some(&StreamEvent::Done(FinishReason::Stop)));
        let usage = events.iter().rev().find_map(|event| match event {
            StreamEvent::Usage(counts) => {
                Some((counts.input, counts.output, counts.cache_read, counts.cache_write))
            }
            _ => None,
        });
        assert_eq!(usage, Some((7, 3, 0, 0)), "{api}");
        let requests = server.received();
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0].head.lines().next(), Some(path));
        assert_eq!(requests[0].header(header), Some(key));
        assert_eq!(requests[0].header("content-type"), Some("application/json"));
        assert!(requests[0].body.is_object());
    }
}

#[tokio::test]
async fn an_answer_of_anthropic_begins_when_the_request_is_sent_and_others_when_it_is_answered() {
    for api in APIS {
        let server = Server::start([Reply::silence()]).await;
        let (catalog, _) = TestHome::with_models(definition(api, &server.url())).load();
        let request = question(model(&catalog), "hi");
        let mut stream = catalog.provider_of(&request.model).unwrap().stream(request);
        let early = api == "anthropic-messages";
        if early {
            assert_eq!(soon(stream.next()).await, Some(StreamEvent::Start));
        }
        let request_received = async {
            while server.received().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        let answered = soon(async {
            tokio::select! {
                event = stream.next() => event,
                () = request_received => None,
            }
        })
        .await;
        assert_eq!(answered, None, "{api}");
    }
}

#[tokio::test]
async fn dropped_answer_ends_the_request() {
    for api in APIS {
        let whole = hello(api);
        let beginning = whole.split_inclusive("\n\n").next().unwrap();
        let server = Server::start([Reply::beginning(beginning).then_hang()]).await;
        let (catalog, _) = TestHome::with_models(definition(api, &server.url())).load();
        let request = question(model(&catalog), "hi");
        let mut stream = catalog.provider_of(&request.model).unwrap().stream(request);
        assert_eq!(soon(stream.next()).await, Some(StreamEvent::Start));
        // Until the request has arrived, and the answer has started.
        soon(stream.next()).await;
        drop(stream);
        server.client_disconnected().await;
    }
}

#[tokio::test]
async fn headers_and_bearer_keys_are_sent_as_configured() {
    let server = Server::start([Reply::events(&hello("anthropic-messages"))]).await;
    let mut providers = definition("anthropic-messages", &server.url());
    providers["fake"]["headers"] = json!({"X-Team": "TEAM", "X-Made": "!echo made"});
    providers["fake"]["authHeader"] = true.into();
    providers["fake"]["models"][0]["headers"] = json!({"X-Model": "literal", "x-team": "own"});
    let (catalog, _) = TestHome::with_models(providers).set("TEAM", "from the environment").load();
    let events = answer_events(&catalog, question(model(&catalog), "hi")).await;
    assert_eq!(text(&events), "hello");
    let request = &server.received()[0];
    assert_eq!(request.header("x-made"), Some("made"));
    assert_eq!(request.header("x-model"), Some("literal"));
    assert_eq!(request.header("x-team"), Some("own"), "the model's wins over the provider's");
    assert_eq!(request.header("authorization"), Some("Bearer fake-key"));
}

#[tokio::test]
async fn fm_f71_a_proxy_of_the_environment_is_used() {
    let proxy = Server::start([Reply::events(&hello("openai-completions"))]).await;
    let home = TestHome::with_models(definition("openai-completions", "http://model.example/v1"));
    let (catalog, _) = home.set("http_proxy", &proxy.url()).load();
    let events = answer_events(&catalog, question(model(&catalog), "hi")).await;
    assert_eq!(text(&events), "hello");
    assert!(proxy.received()[0].head.starts_with("POST http://model.example/v1/chat/completions "));
}

#[tokio::test]
async fn fm_f71_local_addresses_bypass_the_proxy() {
    for host in ["127.0.0.1", "localhost"] {
        let server = Server::start([Reply::events(&hello("openai-completions"))]).await;
        let address = server.url().replace("127.0.0.1", host);
        let home = TestHome::with_models(definition("openai-completions", &address));
        let (catalog, _) = home.set("http_proxy", "http://127.0.0.1:1").set("no_proxy", "x.example").load();
        assert_eq!(text(&answer_events(&catalog, question(model(&catalog), "hi")).await), "hello", "{host}");
    }
}

#[tokio::test]
async fn fm_f10_half_characters_do_not_reach_a_provider() {
    for api in APIS {
        let server = Server::start([Reply::events(&hello(api))]).await;
        let (catalog, _) = TestHome::with_models(definition(api, &server.url())).load();
        let mut request = question(model(&catalog), "hi");
        let message =
            r#"{"role": "user", "content": [{"type": "text", "text": "a\ud800b"}], "timestamp": 1}"#;
        request.messages = vec![std::sync::Arc::new(agentese::wire::decode(message).unwrap())].into();
        assert_eq!(text(&answer_events(&catalog, request).await), "hello");
        assert!(server.received()[0].body.to_string().contains("a\u{fffd}b"), "{api}");
    }
}

#[tokio::test]
async fn fm_f66_the_arguments_of_a_call_go_back_as_an_object() {
    let call = |text: &str| {
        [
            json!({"type": "message_start", "message": {}}),
            json!({"type": "content_block_start", "index": 0,
                   "content_block": {"type": "tool_use", "id": "a", "name": "bash", "input": {}}}),
            json!({"type": "content_block_delta", "index": 0,
                   "delta": {"type": "input_json_delta", "partial_json": text}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            json!({"type": "message_stop"}),
        ]
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect::<String>()
    };
    for (received, sent) in
        [("", json!({})), ("[1]", json!({})), ("{\"a\": \"b", json!({"a": "b"})), ("no", json!({}))]
    {
        let server =
            Server::start([Reply::events(&call(received)), Reply::events(&hello("anthropic-messages"))])
                .await;
        let (catalog, _) = TestHome::with_models(definition("anthropic-messages", &server.url())).load();
        let mut request = question(model(&catalog), "hi");
        let mut assembler = Assembler::new(&request.model, 1);
        for event in answer_events(&catalog, request.clone()).await {
            assembler.apply(event);
        }
        let answer = assembler.done(FinishReason::ToolUse).message;
        let messages = request.messages.iter().chain([std::sync::Arc::new(answer.into())]);
        request.messages = history::for_model(messages).collect::<Vec<_>>().into();
        assert_eq!(text(&answer_events(&catalog, request).await), "hello");
        let messages = &server.received()[1].body["messages"];
        assert_eq!(messages[1]["content"][0]["input"], sent, "{received}");
        assert_eq!(messages[2]["content"][0]["type"], "tool_result", "the open call is answered");
    }
}
