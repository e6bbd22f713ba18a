//! Tests of requests that fail.

use std::sync::Arc;
use std::time::Duration;

use agentese_server::providers::{ProviderErrorKind, Sources, StreamEvent, load};
use agentese_server::runtime::Clock;
use base64::Engine;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::support::{
    APIS, Reply, Server, TestHome, answer_events, definition, failure, hello, model, question, soon, text,
};

const OVERLOADED: &str = r#"529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;

fn overloaded(headers: &[(&str, &str)]) -> Reply {
    Reply::error(529, headers, "overloaded_error", "Overloaded")
}

#[tokio::test]
async fn error_before_the_answer_has_the_text_of_pi() {
    let stay = [("x-should-retry", "false")];
    let limited = || Reply::error(429, &stay, "rate_limit_error", "Rate limited");
    for (api, reply, kind, wording, has_started) in [
        ("anthropic-messages", overloaded(&stay), ProviderErrorKind::Overloaded, OVERLOADED, true),
        ("openai-completions", limited(), ProviderErrorKind::RateLimited, "429 Rate limited", false),
        ("openai-responses", limited(), ProviderErrorKind::RateLimited, "429 Rate limited", false),
        (
            "anthropic-messages",
            Reply::new(413, &stay, ""),
            ProviderErrorKind::BadRequest,
            "413 status code (no body)",
            true,
        ),
    ] {
        let server = Server::start([reply]).await;
        let (catalog, _) = TestHome::with_models(definition(api, &server.url())).load();
        let events = answer_events(&catalog, question(model(&catalog), "hi")).await;
        let failure = failure(&events);
        assert_eq!((failure.kind, failure.text.as_str()), (kind, wording));
        assert_eq!(events.len(), if has_started { 2 } else { 1 }, "{events:?}");
        assert_eq!(server.received().len(), 1, "the provider does not want it again");
    }
}

#[tokio::test]
async fn a_request_is_repeated_twice_before_its_failure_shows() {
    for api in APIS {
        let server = Server::start([overloaded(&[]), overloaded(&[]), overloaded(&[])]).await;
        let home = TestHome::with_models(definition(api, &server.url()));
        let (catalog, _) = home.load();
        let events = answer_events(&catalog, question(model(&catalog), "hi")).await;
        assert_eq!(failure(&events).kind, ProviderErrorKind::Overloaded, "{api}");
        assert_eq!(server.received().len(), 3);
        assert_eq!(home.clock.waits(), [500, 1000]);

        let server = Server::start([overloaded(&[]), Reply::events(&hello(api))]).await;
        let (catalog, _) = TestHome::with_models(definition(api, &server.url())).load();
        let events = answer_events(&catalog, question(model(&catalog), "hi")).await;
        assert_eq!(text(&events), "hello");
        let starts = events.iter().filter(|event| **event == StreamEvent::Start).count();
        assert_eq!(starts, 1, "a repeat does not show");
    }
}

#[tokio::test]
async fn fm_f60_retry_after_is_obeyed_up_to_the_limit_and_reported_beyond_it() {
    for (wish, waits, retry_after) in [
        ("3", vec![3000, 3000], Some(Duration::from_secs(3))),
        ("Sun, 22 Nov 2026 00:00:02 GMT", vec![2000, 2000], Some(Duration::from_secs(2))),
        ("60", vec![], Some(Duration::from_secs(60))),
        ("999999999999999999999", vec![], Some(Duration::MAX)),
        ("-5", vec![500, 1000], None),
        ("soon", vec![500, 1000], None),
    ] {
        let limited = Reply::error(429, &[("retry-after", wish)], "rate_limit_error", "Rate limited");
        let server = Server::start([limited.clone(), limited.clone(), limited]).await;
        let home = TestHome::with_models(definition("openai-completions", &server.url()));
        let (catalog, _) = home.load();
        let failure = failure(&answer_events(&catalog, question(model(&catalog), "hi")).await);
        assert_eq!(failure.text, "429 Rate limited");
        assert_eq!((home.clock.waits(), failure.retry_after), (waits, retry_after), "{wish}");
    }
}

#[tokio::test]
async fn fm_f62_exhausted_quota_is_not_a_rate_limit() {
    let stay = [("x-should-retry", "false")];
    let server = Server::start([Reply::error(429, &stay, "insufficient_quota", "You have no credit")]).await;
    let (catalog, _) = TestHome::with_models(definition("openai-completions", &server.url())).load();
    let failure = failure(&answer_events(&catalog, question(model(&catalog), "hi")).await);
    assert_eq!((failure.kind, failure.text.as_str()), (ProviderErrorKind::Quota, "429 You have no credit"));
}

#[tokio::test]
async fn fm_f59_failed_connection_is_retried_then_reported() {
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
    // A label has at most 63 characters, so no name server receives this name.
    let nameless = format!("http://{}.localhost", "a".repeat(70));
    for address in [refused, nameless, untrusted] {
        let home = TestHome::with_models(definition("anthropic-messages", &address));
        let (catalog, _) = home.load();
        let failure = failure(&answer_events(&catalog, question(model(&catalog), "hi")).await);
        assert_eq!(failure.kind, ProviderErrorKind::Network);
        assert!(failure.text.starts_with("Connection error: "), "{}", failure.text);
        assert!(!failure.text.contains("http"), "{}", failure.text);
        assert_eq!(home.clock.waits(), [500, 1000], "{}", failure.text);
    }
    answering.abort();
}

#[tokio::test]
async fn fm_f71_a_proxy_that_is_not_there_is_named_by_its_variable() {
    let home = TestHome::with_models(definition("anthropic-messages", "http://model.example"));
    let (catalog, _) = home.set("all_proxy", "http://user:canary@127.0.0.1:1").load();
    let failure = failure(&answer_events(&catalog, question(model(&catalog), "hi")).await);
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
            let (catalog, _) = TestHome::with_models(definition(api, &server.url())).load();
            let failure = failure(&answer_events(&catalog, question(model(&catalog), "hi")).await);
            assert_eq!((failure.kind, failure.text.as_str()), (ProviderErrorKind::Network, wording), "{api}");
            assert_eq!(server.received().len(), 1);
        }
    }
}

#[tokio::test]
async fn fm_f64_stalled_answer_is_abandoned() {
    for reply in [Reply::silence(), Reply::beginning("data: {\"type\": \"ping\"}\n\n").then_hang()] {
        let server = Server::start([reply]).await;
        let home = TestHome::with_models(definition("anthropic-messages", &server.url()));
        let (catalog, _) = home.load();
        let request = question(model(&catalog), "hi");
        let mut stream = catalog.provider_of(&request.model).unwrap().stream(request);
        assert_eq!(soon(stream.next()).await, Some(StreamEvent::Start));
        let turn = async {
            while server.received().is_empty() {
                tokio::task::yield_now().await;
            }
            home.clock.advance();
        };
        let (event, ()) = soon(futures::future::join(stream.next(), turn)).await;
        let failure = failure(&[event.expect("an error")]);
        assert_eq!(failure.kind, ProviderErrorKind::Network);
        assert_eq!(
            failure.text,
            "The provider timed out: no data arrived for 300 s. The setting httpIdleTimeoutMs sets this limit."
        );
        drop(stream);
        server.client_disconnected().await;
        assert_eq!(server.received().len(), 1);
    }
}

/// A clock that a test moves. It counts the waits that have started.
struct SharedTime {
    seconds: watch::Sender<u64>,
    waits: watch::Sender<usize>,
}

impl Clock for SharedTime {
    fn now_ms(&self) -> i64 {
        0
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let mut seconds = self.seconds.subscribe();
        let until = *seconds.borrow() + duration.as_secs();
        self.waits.send_modify(|waits| *waits += 1);
        async move {
            if seconds.wait_for(|now| *now >= until).await.is_err() {
                futures::future::pending::<()>().await;
            }
        }
        .boxed()
    }
}

/// Returns the events of an answer whose server sends an event every 100 s. If `awaited` is true, the server waits
/// until the client waits for the next event.
async fn slow_answer(events: Vec<String>, awaited: bool) -> Vec<StreamEvent> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let home = TestHome::with_models(definition("openai-completions", &url));
    let time = Arc::new(SharedTime { seconds: watch::Sender::new(0), waits: watch::Sender::new(0) });
    let mut sources = Sources::new(Some(home.directory.path().to_owned()), Arc::new(|_: &str| None));
    sources.clock = time.clone();
    let (catalog, _) = load(sources);
    let serving = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"}") {
            assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0);
        }
        let mut waits = time.waits.subscribe();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        // One wait for the head, one for the first event, and one after each event with content.
        waits.wait_for(|waits| *waits >= 2).await.unwrap();
        for (number, event) in events.iter().enumerate() {
            if stream.write_all(event.as_bytes()).await.is_err() {
                return;
            }
            if awaited {
                waits.wait_for(|waits| *waits >= 3 + number).await.unwrap();
            }
            time.seconds.send_modify(|seconds| *seconds += 100);
        }
    };
    let (events, ()) =
        soon(futures::future::join(answer_events(&catalog, question(model(&catalog), "hi")), serving)).await;
    events
}

#[tokio::test]
async fn fm_f64_signs_of_life_do_not_keep_an_answer_alive() {
    let start = "data: {\"choices\": [{\"delta\": {\"content\": \"a\"}}]}\n\n".to_owned();
    for ping in [
        ": ping\n\n",
        "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        "data: {\"choices\": [{\"delta\": {\"content\": \"\"}}]}\n\n",
        "data: {\"choices\": [], \"usage\": {\"prompt_tokens\": 7}}\n\n",
    ] {
        let events = slow_answer(vec![ping.to_owned(); 20], false).await;
        let failure = failure(&events);
        assert_eq!(failure.kind, ProviderErrorKind::Network, "{ping}");
        let stalled = "The provider timed out: no data arrived for 300 s.";
        assert!(failure.text.starts_with(stalled), "{ping}: {}", failure.text);
    }
    // Content resets the time limit.
    let end = "data: {\"choices\": [{\"delta\": {}, \"finish_reason\": \"stop\"}]}\n\n";
    let mut events = vec![start; 9];
    events.push(format!("data: {{\"choices\": [{{\"delta\": {{\"content\": \"z\"}}}}]}}\n\n{end}"));
    let events = slow_answer(events, true).await;
    assert_eq!(text(&events), "aaaaaaaaaz");
    assert!(matches!(events.last(), Some(StreamEvent::Done(_))), "{events:?}");
}

#[tokio::test]
async fn a_request_that_a_provider_has_read_is_not_sent_again() {
    for api in APIS {
        // The server reads the whole body and disconnects.
        for reply in [Reply::silence().then_close(), Reply::silence().then_reset()] {
            let server = Server::start([reply.clone(), reply]).await;
            let home = TestHome::with_models(definition(api, &server.url()));
            let (catalog, _) = home.load();
            let failure = failure(&answer_events(&catalog, question(model(&catalog), "hi")).await);
            assert_eq!(failure.kind, ProviderErrorKind::Network, "{api}");
            assert!(failure.text.starts_with("Connection error: "), "{}", failure.text);
            assert_eq!((server.received().len(), home.clock.waits()), (1, vec![]), "{api}");
        }
    }
}

#[tokio::test]
async fn fm_f62_a_429_for_used_up_quota_is_sent_once() {
    for (api, kind) in APIS.into_iter().zip(["insufficient_quota"; 4]) {
        let used_up =
            || Reply::error(429, &[("x-should-retry", "true")], kind, "You exceeded your current quota");
        let server = Server::start([used_up(), used_up(), used_up()]).await;
        let (catalog, _) = TestHome::with_models(definition(api, &server.url())).load();
        let failure = failure(&answer_events(&catalog, question(model(&catalog), "hi")).await);
        assert_eq!((failure.kind, server.received().len()), (ProviderErrorKind::Quota, 1), "{api}");
    }
}

#[tokio::test]
async fn with_retries_off_a_request_is_sent_once() {
    for reply in [overloaded(&[]), Reply::error(429, &[], "rate_limit_error", "Rate limited")] {
        let server = Server::start([reply.clone(), reply.clone(), reply]).await;
        let home = TestHome::with_models(definition("anthropic-messages", &server.url()));
        let (catalog, _) = home.load();
        let mut request = question(model(&catalog), "hi");
        request.may_retry = false;
        failure(&answer_events(&catalog, request).await);
        assert_eq!((server.received().len(), home.clock.waits()), (1, vec![]));
    }
    let home = TestHome::with_models(definition("anthropic-messages", "http://127.0.0.1:1"));
    let (catalog, _) = home.load();
    let mut request = question(model(&catalog), "hi");
    request.may_retry = false;
    failure(&answer_events(&catalog, request).await);
    assert_eq!(home.clock.waits(), []);
}

#[tokio::test]
async fn an_answer_that_a_gateway_packed_is_unpacked() {
    let packed = "H4sIAAAAAAACA33LwQmAMAwF0HunkH92gqwiIqGJtChtsbmV7G5xAK8PnrAxLQMx1Ry1g7YB0dsYNLEW02IgNI6XCtx3D0F+jq84c8k9\
                  HY9yr2XebrXhiy9FvH6/bQAAAA==";
    let packed = base64::engine::general_purpose::STANDARD.decode(packed).unwrap();
    for encoding in ["gzip", "x-gzip", "br"] {
        let headers = [("content-type", "text/event-stream"), ("content-encoding", encoding)];
        let server = Server::start([Reply::packed(200, &headers, &packed)]).await;
        let (catalog, _) = TestHome::with_models(definition("openai-completions", &server.url())).load();
        let events = answer_events(&catalog, question(model(&catalog), "hi")).await;
        match encoding {
            "gzip" => assert_eq!(text(&events), "packed", "{events:?}"),
            // An undecodable body is an error, and never read as text.
            _ => {
                let text = failure(&events).text;
                let expected = format!(
                    "The provider answered in the encoding {encoding}, which this version does not support."
                );
                assert_eq!(text, expected);
            }
        }
        // The client does not request compression, because compressing hosts delay text.
        assert_eq!(server.received()[0].header("accept-encoding"), Some("identity"));
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
        let (catalog, _) = TestHome::with_models(definition(api, &server.url())).load();
        let mut texts = Vec::new();
        for _ in 0..4 {
            texts.push(failure(&answer_events(&catalog, question(model(&catalog), "hi")).await).text);
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
        assert!(texts[3].starts_with("<!doctype html> <title>Sign in"), "{}", texts[3]);
    }
}

#[tokio::test]
async fn a_model_without_a_key_fails_before_anything_is_sent() {
    let (catalog, _) = TestHome::default().load();
    let model = catalog.get("anthropic", "claude-sonnet-4-5").unwrap().clone();
    let failure = failure(&answer_events(&catalog, question(model, "hi")).await);
    assert_eq!(failure.kind, ProviderErrorKind::Auth);
    assert!(failure.text.starts_with("No API key found for anthropic.\n\n"), "{}", failure.text);
}
