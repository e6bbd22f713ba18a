//! Tests that keys do not leave their places.

use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};

use agentese_server::providers::{AuthFile, ProviderErrorKind};
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use crate::support::{
    Reply, Server, TestHome, answer_events, definition, failure, hello, model, question, text,
};

/// A text that every key in these tests contains, and no other value.
const CANARY: &str = "c4n4ry";

/// The log of all tests in this program. Each line has the name of its thread. A log for each thread would miss call
/// sites that another thread has registered first.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn get() -> &'static Self {
        static LOG: OnceLock<Log> = OnceLock::new();
        LOG.get_or_init(|| {
            let log = Log::default();
            let subscriber = tracing_subscriber::fmt()
                .with_max_level(tracing::Level::TRACE)
                .with_thread_names(true)
                .with_ansi(false)
                .with_writer(log.clone())
                .finish();
            tracing::subscriber::set_global_default(subscriber).expect("no other test sets it");
            log
        })
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Log;

    fn make_writer(&'a self) -> Log {
        self.clone()
    }
}

#[tokio::test]
async fn fm_f118_a_key_is_in_the_request_and_nowhere_else() {
    let log = Log::get();
    let key = |of: &str| format!("{CANARY}-{of}-1234567890");
    let mut shown = String::new();
    for of in ["models", "environment", "file", "command", "given"] {
        let secret = key(of);
        // Host that echoes its request in each kind of failure.
        let echo = format!("wrong key {secret}, header {}", key("header"));
        let stay = [("x-should-retry", "false")];
        let server = Server::start([
            Reply::error(401, &stay, "authentication_error", &echo),
            Reply::new(502, &stay, &format!("<html>{echo}")),
            Reply::new(200, &[("content-type", "text/html")], &echo),
            Reply::events(&format!("data: {}\n\n", json!({"type": "error", "error": {"message": echo}}))),
            Reply::events(&format!("data: {echo}\n\n")),
            Reply::error(503, &[], "api_error", &echo),
            Reply::events(&hello("anthropic-messages")),
        ])
        .await;
        let mut providers = definition("anthropic-messages", &server.url());
        providers["fake"]["headers"] = json!({"x-second": key("header")});
        providers["fake"]["apiKey"] = match of {
            "command" => format!("!echo {secret}").into(),
            "environment" => "SOME_KEY".into(),
            "models" => secret.clone().into(),
            _ => "another".into(),
        };
        let home = TestHome::with_models(providers).set("SOME_KEY", &secret);
        if of == "file" {
            let file = AuthFile::in_dir(home.directory.path());
            file.set_key("fake", &secret.clone().into()).unwrap();
            shown.push_str(&format!("{file:?}"));
        }
        let (catalog, warnings) = home.load();
        if of == "given" {
            catalog.set_api_key("fake", secret.clone().into());
        }
        shown.push_str(&format!("{catalog:?} {warnings:?} {:?}", catalog.select(Default::default())));
        shown.push_str(&serde_json::to_string(&catalog.available()).unwrap());
        for _ in 0..5 {
            let failure = failure(&answer_events(&catalog, question(model(&catalog), "hi")).await);
            assert!(failure.text.contains("[redacted]"), "{}", failure.text);
            shown.push_str(&format!("{failure:?}"));
        }
        let request = question(model(&catalog), "hi");
        shown.push_str(&format!("{request:?}"));
        assert_eq!(text(&answer_events(&catalog, request).await), "hello");
        for request in server.received() {
            assert_eq!(request.header("x-api-key"), Some(secret.as_str()), "{of}");
            assert_eq!(request.header("x-second"), Some(key("header").as_str()));
        }
        assert_eq!(server.received().len(), 7);
    }
    let logged = log.text();
    let thread = std::thread::current();
    let name = thread.name().expect("tests have threads with names");
    let of_this_test = |line: &str| line.contains(name) && line.contains("a request is repeated");
    assert!(logged.lines().any(of_this_test), "the log was looked at: {logged}");
    shown.push_str(&logged);
    assert!(!shown.contains(CANARY), "{shown}");
}

#[tokio::test]
async fn fm_f119_models_carry_no_headers() {
    let mut providers = definition("anthropic-messages", "http://127.0.0.1:1");
    providers["fake"]["headers"] = json!({"x-secret": CANARY});
    providers["fake"]["models"][0]["headers"] = json!({"x-secret": CANARY});
    providers["fake"]["models"][0]["compat"] = json!({"secret": CANARY});
    let (catalog, _) = TestHome::with_models(providers).load();
    let shown = serde_json::to_string(&catalog.models().collect::<Vec<_>>()).unwrap();
    assert!(shown.contains("fake-model") && !shown.contains(CANARY) && !shown.contains("headers"));
}

#[tokio::test]
async fn fm_f70_a_request_is_not_sent_on_to_another_host() {
    let other_server = Server::start([Reply::events(&hello("anthropic-messages"))]).await;
    let to = format!("{}/v1/messages?key=x", other_server.url());
    for status in [301, 302, 303, 307, 308] {
        let server = Server::start([Reply::new(status, &[("location", &to)], "")]).await;
        let (catalog, _) = TestHome::with_models(definition("anthropic-messages", &server.url())).load();
        let failure = failure(&answer_events(&catalog, question(model(&catalog), "hi")).await);
        assert_eq!(failure.kind, ProviderErrorKind::BadRequest);
        let wording = format!(
            "{status} The provider redirects the request to {}/v1/messages; redirects are not followed.",
            other_server.url()
        );
        assert_eq!(failure.text, wording);
    }
    assert!(other_server.received().is_empty());
}

#[tokio::test]
async fn fm_f70_a_request_is_sent_on_within_its_host() {
    let moved = Reply::new(307, &[("location", "/v2/messages")], "");
    let server = Server::start([moved, Reply::events(&hello("anthropic-messages"))]).await;
    let (catalog, _) = TestHome::with_models(definition("anthropic-messages", &server.url())).load();
    let events = answer_events(&catalog, question(model(&catalog), "hi")).await;
    assert_eq!(text(&events), "hello");
    let second = &server.received()[1];
    assert!(second.head.starts_with("POST /v2/messages "));
    assert_eq!(second.header("x-api-key"), Some("fake-key"));
    assert_eq!(second.body["model"], "fake-model");
}

#[tokio::test]
async fn fm_f117_only_files_of_the_user_select_the_hosts_of_keys() {
    let other_server = Server::start([Reply::events(&hello("anthropic-messages"))]).await;
    let server = Server::start([Reply::events(&hello("anthropic-messages"))]).await;
    let (catalog, _) = TestHome::with_models(definition("anthropic-messages", &server.url())).load();
    // As a session or a project's settings might define it.
    let mut stolen = model(&catalog);
    stolen.base_url = other_server.url();
    stolen.api = "openai-completions".to_owned();
    let events = answer_events(&catalog, question(stolen, "hi")).await;
    assert_eq!(text(&events), "hello");
    assert!(other_server.received().is_empty());
    assert_eq!(server.received().len(), 1);
}
