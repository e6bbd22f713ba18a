//! A scripted model server on loopback, controllable clocks, and a question.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentese::types::{AgentMessage, Model, TextContent, ThinkingLevel, UserMessage};
use agentese_server::providers::{
    Catalog, ConfigWarning, ProviderError, Request, Sources, StreamEvent, ToolDescription, load,
};
use agentese_server::runtime::Clock;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::served::LONG;

/// Returns the result of a future, within the time limit.
pub async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, future).await.expect("nothing came in time")
}

/// A reply of the server.
#[derive(Debug, Clone)]
pub struct Reply {
    bytes: Vec<u8>,
    ending: Ending,
}

#[derive(Debug, Clone, Copy)]
enum Ending {
    Close,
    Reset,
    Hang,
}

impl Reply {
    /// Returns a reply with a content length.
    pub fn new(status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        let mut bytes = head(status, headers);
        bytes.extend(format!("content-length: {}\r\n\r\n{body}", body.len()).bytes());
        Self { bytes, ending: Ending::Close }
    }

    /// Returns a reply with a body of bytes.
    pub fn packed(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Self {
        let mut bytes = head(status, headers);
        bytes.extend(format!("content-length: {}\r\n\r\n", body.len()).bytes());
        bytes.extend(body);
        Self { bytes, ending: Ending::Close }
    }

    /// Returns an error in the form of the APIs.
    pub fn error(status: u16, headers: &[(&str, &str)], kind: &str, message: &str) -> Self {
        let body = json!({"type": "error", "error": {"type": kind, "message": message}});
        let headers = [&[("content-type", "application/json")], headers].concat();
        Self::new(status, &headers, &body.to_string())
    }

    /// Returns a complete stream of events.
    pub fn events(body: &str) -> Self {
        let mut bytes = head(200, &[("content-type", "text/event-stream"), ("transfer-encoding", "chunked")]);
        bytes.extend(format!("\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len()).bytes());
        Self { bytes, ending: Ending::Close }
    }

    /// Returns a reply with the start of a stream. Its headers announce more bytes than the reply contains.
    pub fn beginning(body: &str) -> Self {
        let mut bytes = head(200, &[("content-type", "text/event-stream"), ("transfer-encoding", "chunked")]);
        bytes.extend(format!("\r\n{:x}\r\n{body}\r\n", body.len()).bytes());
        Self { bytes, ending: Ending::Close }
    }

    /// Returns a reply with the start of a stream. It has no length, so the end of the connection ends the
    /// body.
    pub fn unframed(body: &str) -> Self {
        let mut bytes = head(200, &[("content-type", "text/event-stream"), ("connection", "close")]);
        bytes.extend(format!("\r\n{body}").bytes());
        Self { bytes, ending: Ending::Close }
    }

    /// Returns the bytes on the wire.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns an empty reply.
    pub fn silence() -> Self {
        Self { bytes: Vec::new(), ending: Ending::Hang }
    }

    /// Resets the connection after the reply.
    pub fn then_reset(mut self) -> Self {
        self.ending = Ending::Reset;
        self
    }

    /// Closes the connection after the reply.
    pub fn then_close(mut self) -> Self {
        self.ending = Ending::Close;
        self
    }

    /// Keeps the connection open after the reply, without further data.
    pub fn then_hang(mut self) -> Self {
        self.ending = Ending::Hang;
        self
    }
}

fn head(status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
    let headers = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
    format!("HTTP/1.1 {status} Status\r\n{}", headers.collect::<String>()).into_bytes()
}

/// A request that a server received.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    pub head: String,
    pub body: Value,
    /// The body of the request, unchanged.
    pub text: String,
}

impl ReceivedRequest {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// A server that answers each request with the next reply.
pub struct Server {
    port: u16,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
    disconnected: Arc<Notify>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let received = Arc::new(Mutex::new(Vec::new()));
        let disconnected = Arc::new(Notify::new());
        let mut replies: VecDeque<Reply> = replies.into_iter().collect();
        let (log, left) = (received.clone(), disconnected.clone());
        let task = tokio::spawn(async move {
            // One connection at a time, because an agent sends one request at a time.
            while let Ok((mut stream, _)) = listener.accept().await {
                let Some(request) = read(&mut stream).await else { continue };
                log.lock().unwrap().push(request);
                let Some(reply) = replies.pop_front() else { continue };
                let _ = stream.write_all(&reply.bytes).await;
                let _ = stream.flush().await;
                match reply.ending {
                    Ending::Close => {
                        let _ = stream.shutdown().await;
                    }
                    Ending::Reset => stream.set_zero_linger().unwrap(),
                    Ending::Hang => {
                        let mut rest = [0; 1];
                        while matches!(stream.read(&mut rest).await, Ok(1..)) {}
                        left.notify_one();
                    }
                }
            }
        });
        Self { port, received, disconnected, task }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns all requests so far.
    pub fn received(&self) -> Vec<ReceivedRequest> {
        self.received.lock().unwrap().clone()
    }

    /// Waits until the client disconnects from a connection that hangs.
    pub async fn client_disconnected(&self) {
        soon(self.disconnected.notified()).await;
    }
}

async fn read(stream: &mut TcpStream) -> Option<ReceivedRequest> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let received = ReceivedRequest { head, body: Value::Null, text: String::new() };
    let length: usize = received.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    while bytes.len() < end + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = serde_json::from_slice(&bytes[end + 4..]).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes[end + 4..]).into_owned();
    Some(ReceivedRequest { body, text, ..received })
}

/// A stopped clock: short waits end at once and are recorded, long ones end when the test turns the clock.
#[derive(Default)]
pub struct ManualClock {
    waits: Mutex<Vec<Duration>>,
    advanced: Arc<Notify>,
}

/// The limit of the waits that end at once: the pause between two attempts.
const SHORT: Duration = Duration::from_secs(8);

impl ManualClock {
    /// Returns the waits that ended at once, in milliseconds.
    pub fn waits(&self) -> Vec<u128> {
        self.waits.lock().unwrap().iter().map(Duration::as_millis).collect()
    }

    /// Ends the current long wait, or the next one.
    pub fn advance(&self) {
        self.advanced.notify_one();
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        1_795_305_600_000
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        if duration <= SHORT {
            self.waits.lock().unwrap().push(duration);
            return futures::future::ready(()).boxed();
        }
        let turned = self.advanced.clone();
        async move { turned.notified().await }.boxed()
    }
}

/// Files and variables of the user.
pub struct TestHome {
    pub directory: tempfile::TempDir,
    pub variables: Vec<(String, String)>,
    pub clock: Arc<ManualClock>,
}

impl Default for TestHome {
    fn default() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), variables: Vec::new(), clock: Arc::default() }
    }
}

impl TestHome {
    /// Returns a home with those providers in `models.json`.
    pub fn with_models(providers: Value) -> Self {
        let home = Self::default();
        home.write("models.json", &json!({"providers": providers}).to_string());
        home
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.directory.path().join(name), text).unwrap();
    }

    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn load(&self) -> (Catalog, Vec<ConfigWarning>) {
        self.load_with(|_| {})
    }

    /// Loads the catalogue like `load`, with changed sources.
    pub fn load_with(&self, change: impl FnOnce(&mut Sources)) -> (Catalog, Vec<ConfigWarning>) {
        let variables = self.variables.clone();
        let environment = move |name: &str| {
            variables.iter().find(|(known, _)| known == name).map(|(_, value)| OsString::from(value))
        };
        let mut sources = Sources::new(Some(self.directory.path().to_owned()), Arc::new(environment));
        sources.clock = self.clock.clone();
        change(&mut sources);
        load(sources)
    }
}

/// Returns a provider with that API, that address and one model.
pub fn definition(api: &str, url: &str) -> Value {
    json!({"fake": {"baseUrl": url, "api": api, "apiKey": "fake-key", "models": [
        {"id": "fake-model", "reasoning": true, "input": ["text", "image"]}]}})
}

pub fn model(catalog: &Catalog) -> Model {
    catalog.get("fake", "fake-model").expect("the provider is there").clone()
}

/// Returns a short question to a model.
pub fn question(model: Model, text: &str) -> Request {
    let message: AgentMessage = UserMessage::new(vec![TextContent::new(text).into()], 1).into();
    Request {
        max_tokens: None,
        model,
        system_prompt: "Be brief.".to_owned(),
        messages: vec![Arc::new(message)].into(),
        tools: vec![ToolDescription {
            name: "bash".to_owned(),
            description: "Runs a command.".to_owned(),
            parameters: json!({"type": "object", "properties": {"command": {"type": "string"}}}),
        }],
        thinking: ThinkingLevel::Medium,
        session_id: "session".to_owned(),
        may_retry: true,
    }
}

/// Returns all events of the answer to a request.
pub async fn answer_events(catalog: &Catalog, request: Request) -> Vec<StreamEvent> {
    let provider = catalog.provider_of(&request.model).expect("the provider is there");
    soon(provider.stream(request).collect()).await
}

/// Returns the failure at the end of an answer.
#[track_caller]
pub fn failure(events: &[StreamEvent]) -> ProviderError {
    match events.last() {
        Some(StreamEvent::Error(failure)) => failure.clone(),
        other => panic!("the answer ends with {other:?}"),
    }
}

/// Returns the text of an answer.
pub fn text(events: &[StreamEvent]) -> String {
    let pieces = events.iter().filter_map(|event| match event {
        StreamEvent::TextDelta(delta) => Some(delta.as_str()),
        _ => None,
    });
    pieces.collect()
}

/// Returns an answer `hello` in the form of each API.
pub fn hello(api: &str) -> String {
    let events = match api {
        "anthropic-messages" => vec![
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 7, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello"}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}}),
            json!({"type": "message_stop"}),
        ],
        "openai-completions" => vec![
            json!({"choices": [{"delta": {"content": "hello"}}]}),
            json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
            json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}),
        ],
        "openai-responses" => vec![
            json!({"type": "response.output_item.added", "item": {"type": "message", "id": "m"}}),
            json!({"type": "response.output_text.delta", "delta": "hello"}),
            json!({"type": "response.output_item.done", "item": {"type": "message", "id": "m"}}),
            json!({"type": "response.completed", "response": {"status": "completed",
                   "usage": {"input_tokens": 7, "output_tokens": 3}}}),
        ],
        _ => {
            vec![json!({"candidates": [{"content": {"parts": [{"text": "hello"}]}, "finishReason": "STOP"}],
                         "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 3}})]
        }
    };
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// Names of the four APIs.
pub const APIS: [&str; 4] =
    ["anthropic-messages", "openai-completions", "openai-responses", "google-generative-ai"];
