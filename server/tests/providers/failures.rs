//! Requests and answers that fail.

use std::time::Duration;

use agentese_server::providers::{FailureKind, StreamEvent};
use futures::StreamExt;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::support::{
    APIS, Home, Reply, Server, ask, definition, failure, hello, model, question, soon, text,
};

const OVERLOADED: &str = r#"529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;

fn overloaded(headers: &[(&str, &str)]) -> Reply {
    Reply::error(529, headers, "overloaded_error", "Overloaded")
}

#[tokio::test]
async fn an_error_before_the_answer_is_worded_as_pi_words_it() {
    let stay = [("x-should-retry", "false")];
    let limited = || Reply::error(429, &stay, "rate_limit_error", "Rate limited");
    for (api, reply, kind, wording, begun) in [
        ("anthropic-messages", overloaded(&stay), FailureKind::Overloaded, OVERLOADED, true),
        ("openai-completions", limited(), FailureKind::RateLimited, "429 Rate limited", false),
        ("openai-responses", limited(), FailureKind::RateLimited, "429 Rate limited", false),
        (
            "anthropic-messages",
            Reply::new(413, &stay, ""),
            FailureKind::Overflow,
            "413 status code (no body)",
            true,
        ),
    ] {
        let server = Server::start([reply]).await;
        let (catalog, _) = Home::with_models(definition(api, &server.url())).load();
        let events = ask(&catalog, question(model(&catalog), "hi")).await;
        let failure = failure(&events);
        assert_eq!((failure.kind, failure.text.as_str()), (kind, wording));
        assert_eq!(events.len(), if begun { 2 } else { 1 }, "{events:?}");
        assert_eq!(server.received().len(), 1, "the provider does not want it again");
    }
}

#[tokio::test]
async fn a_request_is_repeated_twice_before_its_failure_shows() {
    for api in APIS {
        let server = Server::start([overloaded(&[]), overloaded(&[]), overloaded(&[])]).await;
        let home = Home::with_models(definition(api, &server.url()));
        let (catalog, _) = home.load();
        let events = ask(&catalog, question(model(&catalog), "hi")).await;
        assert_eq!(failure(&events).kind, FailureKind::Overloaded, "{api}");
        assert_eq!(server.received().len(), 3);
        assert_eq!(home.clock.waits(), [500, 1000]);

        let server = Server::start([overloaded(&[]), Reply::events(&hello(api))]).await;
        let (catalog, _) = Home::with_models(definition(api, &server.url())).load();
        let events = ask(&catalog, question(model(&catalog), "hi")).await;
        assert_eq!(text(&events), "hello");
        let starts = events.iter().filter(|event| **event == StreamEvent::Start).count();
        assert_eq!(starts, 1, "a repeat does not show");
    }
}

#[tokio::test]
async fn fm_f60_a_wish_to_wait_is_kept_up_to_the_limit_and_told_beyond_it() {
    for (wish, waits, asked) in [
        ("3", vec![3000, 3000], Some(Duration::from_secs(3))),
        ("Sun, 22 Nov 2026 00:00:02 GMT", vec![2000, 2000], Some(Duration::from_secs(2))),
        ("60", vec![], Some(Duration::from_secs(60))),
        ("999999999999999999999", vec![], Some(Duration::MAX)),
        ("-5", vec![500, 1000], None),
        ("soon", vec![500, 1000], None),
    ] {
        let limited = Reply::error(429, &[("retry-after", wish)], "rate_limit_error", "Rate limited");
        let server = Server::start([limited.clone(), limited.clone(), limited]).await;
        let home = Home::with_models(definition("openai-completions", &server.url()));
        let (catalog, _) = home.load();
        let failure = failure(&ask(&catalog, question(model(&catalog), "hi")).await);
        assert_eq!(failure.text, "429 Rate limited");
        assert_eq!((home.clock.waits(), failure.retry_after), (waits, asked), "{wish}");
    }
}

#[tokio::test]
async fn fm_f62_what_was_paid_for_and_is_used_up_is_no_limit_that_passes() {
    let stay = [("x-should-retry", "false")];
    let server = Server::start([Reply::error(429, &stay, "insufficient_quota", "You have no credit")]).await;
    let (catalog, _) = Home::with_models(definition("openai-completions", &server.url())).load();
    let failure = failure(&ask(&catalog, question(model(&catalog), "hi")).await);
    assert_eq!((failure.kind, failure.text.as_str()), (FailureKind::Quota, "429 You have no credit"));
}

#[tokio::test]
async fn fm_f59_a_connection_that_is_not_made_is_tried_again_and_then_told() {
    let free = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let refused = format!("http://127.0.0.1:{}", free.local_addr().unwrap().port());
    drop(free);
    let plain = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let untrusted = format!("https://127.0.0.1:{}", plain.local_addr().unwrap().port());
    let answering = tokio::spawn(async move {
        while let Ok((mut stream, _)) = plain.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 No\r\n\r\n").await;
        }
    });
    // A label may have 63 characters; no name server is asked for that one.
    let nameless = format!("http://{}.localhost", "a".repeat(70));
    for address in [refused, nameless, untrusted] {
        let home = Home::with_models(definition("anthropic-messages", &address));
        let (catalog, _) = home.load();
        let failure = failure(&ask(&catalog, question(model(&catalog), "hi")).await);
        assert_eq!(failure.kind, FailureKind::Network);
        assert!(failure.text.starts_with("Connection error: "), "{}", failure.text);
        assert!(!failure.text.contains("http"), "{}", failure.text);
        assert_eq!(home.clock.waits(), [500, 1000], "{}", failure.text);
    }
    answering.abort();
}

#[tokio::test]
async fn fm_f71_a_proxy_that_is_not_there_is_named_by_its_variable() {
    let home = Home::with_models(definition("anthropic-messages", "http://model.example"));
    let (catalog, _) = home.set("all_proxy", "http://user:canary@127.0.0.1:1").load();
    let failure = failure(&ask(&catalog, question(model(&catalog), "hi")).await);
    assert!(
        failure.text.starts_with("Connection error through the proxy of all_proxy: "),
        "{}",
        failure.text
    );
    assert!(!failure.text.contains("canary") && !failure.text.contains("127.0.0.1"), "{}", failure.text);
}

#[tokio::test]
async fn fm_f63_a_connection_that_is_cut_is_an_error_that_is_not_repeated_here() {
    for api in APIS {
        let whole = hello(api);
        let half = &whole[..whole.len() / 2];
        for (reply, wording) in [
            (Reply::beginning(half), "terminated"),
            (Reply::beginning(half).then_reset(), "terminated"),
            (Reply::unframed(half), "The stream ended before the answer was complete."),
        ] {
            let server = Server::start([reply]).await;
            let (catalog, _) = Home::with_models(definition(api, &server.url())).load();
            let failure = failure(&ask(&catalog, question(model(&catalog), "hi")).await);
            assert_eq!((failure.kind, failure.text.as_str()), (FailureKind::Network, wording), "{api}");
            assert_eq!(server.received().len(), 1);
        }
    }
}

#[tokio::test]
async fn fm_f64_an_answer_that_stalls_is_given_up() {
    for reply in [Reply::silence(), Reply::beginning("data: {\"type\": \"ping\"}\n\n").then_hang()] {
        let server = Server::start([reply]).await;
        let home = Home::with_models(definition("anthropic-messages", &server.url()));
        let (catalog, _) = home.load();
        let request = question(model(&catalog), "hi");
        let mut stream = catalog.provider_of(&request.model).unwrap().stream(request);
        assert_eq!(soon(stream.next()).await, Some(StreamEvent::Start));
        let turn = async {
            while server.received().is_empty() {
                tokio::task::yield_now().await;
            }
            home.clock.turn();
        };
        let (event, ()) = soon(futures::future::join(stream.next(), turn)).await;
        let failure = failure(&[event.expect("an error")]);
        assert_eq!(failure.kind, FailureKind::Network);
        assert_eq!(failure.text, "The provider timed out: nothing came for 300 s.");
        drop(stream);
        server.client_gone().await;
        assert_eq!(server.received().len(), 1);
    }
}

#[tokio::test]
async fn fm_f65_a_page_instead_of_an_answer_is_an_error_with_its_beginning() {
    let html = [("content-type", "text/html; charset=utf-8")];
    let page = format!("<!doctype html>\n<title>Sign in</title>{}", "<p>".repeat(1000));
    for api in APIS {
        let json = [("content-type", "application/json")];
        let server = Server::start([
            Reply::new(200, &html, &page),
            Reply::new(200, &json, r#"{"error": {"message": "Rate limited", "type": "rate_limit_error"}}"#),
            Reply::new(200, &json, r#"{"answer": 42}"#),
            Reply::new(200, &[], &page),
        ])
        .await;
        let (catalog, _) = Home::with_models(definition(api, &server.url())).load();
        let mut texts = Vec::new();
        for _ in 0..4 {
            texts.push(failure(&ask(&catalog, question(model(&catalog), "hi")).await).text);
        }
        let start = "The provider answered with text/html instead of a stream of events: <!doctype html> <title>Sign in";
        assert!(texts[0].starts_with(start), "{}", texts[0]);
        assert!(texts[0].len() < 400);
        assert!(texts[1].contains("Rate limited"), "{}", texts[1]);
        assert!(
            texts[2].ends_with(r#"application/json instead of a stream of events: {"answer": 42}"#),
            "{}",
            texts[2]
        );
        assert_eq!(texts[3], "The stream ended before the answer was complete.");
    }
}

#[tokio::test]
async fn a_model_without_a_key_fails_before_anything_is_sent() {
    let (catalog, _) = Home::default().load();
    let model = catalog.get("anthropic", "claude-sonnet-4-5").unwrap().clone();
    let failure = failure(&ask(&catalog, question(model, "hi")).await);
    assert_eq!(failure.kind, FailureKind::Auth);
    assert!(failure.text.starts_with("No API key found for anthropic.\n\n"), "{}", failure.text);
}
