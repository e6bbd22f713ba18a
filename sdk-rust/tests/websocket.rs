//! Agent behind an in-memory WebSocket, and recovery of lost connections. The clock is paused: it advances only
//! when all tasks wait.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use agentese::termination::Cause;
use agentese::websocket::{self, ConnectError, Options};
use agentese::{Transport, pi};
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::accept_hdr_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_util::sync::CancellationToken;

const ADDRESS: &str = "ws://memory:1/token/ws";
/// Time limit of each wait, after which the operation is considered stuck.
const TEN_MINUTES: Duration = Duration::from_secs(600);

/// Server that answers each command once.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Query part of the address of each connection.
    calls: Vec<String>,
    received: Vec<Value>,
    sent: Vec<String>,
    sockets: Vec<Socket>,
    seen: HashSet<String>,
    /// `true` if the server cannot resume connections.
    is_plain: bool,
    /// `true` if the server drops messages that a client missed.
    forgets: bool,
    /// `true` if the client does not receive the server's messages.
    is_mute: bool,
    /// `true` if the server does not read the client's lines.
    is_deaf: bool,
    refuses: bool,
}

struct Socket {
    cut: CancellationToken,
    out: mpsc::UnboundedSender<String>,
}

impl Server {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    fn options(&self) -> Options {
        let server = self.clone();
        Options::default().dial(move |_| {
            let server = server.clone();
            async move {
                if server.state().refuses {
                    return Err(io::Error::from(io::ErrorKind::ConnectionRefused));
                }
                let (ours, theirs) = tokio::io::duplex(4096);
                tokio::spawn(server.serve(theirs));
                Ok(ours)
            }
        })
    }

    async fn transport(&self) -> Transport {
        websocket::connect_with(ADDRESS, self.options()).await.unwrap()
    }

    async fn client(&self) -> pi::Client {
        pi::Client::connect(self.transport().await)
    }

    #[expect(clippy::result_large_err, reason = "tungstenite prescribes the error of the callback")]
    async fn serve(self, stream: DuplexStream) {
        let mut query = String::new();
        let accepted = accept_hdr_async(stream, |request: &Request, response: Response| {
            query = request.uri().query().unwrap_or_default().to_owned();
            Ok(response)
        });
        let Ok(mut socket) = accepted.await else { return };
        let (out, mut words) = mpsc::unbounded_channel();
        let cut = CancellationToken::new();
        let have = query.rsplit_once("have=").and_then(|(_, have)| have.parse::<usize>().ok());
        let (hello, missed) = {
            let mut state = self.state();
            state.calls.push(query);
            state.sockets.push(Socket { cut: cut.clone(), out });
            let back = have.is_some() && !state.forgets;
            let missed = if back { state.sent[have.unwrap_or(0)..].to_vec() } else { Vec::new() };
            let hello = json!({"agentese": "hello", "back": back, "lost": have.is_some() && !back});
            ((!state.is_plain).then(|| hello.to_string()), missed)
        };
        for text in hello.into_iter().chain(missed) {
            let _ = socket.send(Message::text(text)).await;
        }
        let is_deaf = self.state().is_deaf;
        loop {
            tokio::select! {
                () = cut.cancelled() => return,
                Some(text) = words.recv() => socket.send(Message::text(text)).await.unwrap(),
                message = socket.next(), if !is_deaf => match message {
                    Some(Ok(Message::Text(text))) => self.receive(serde_json::from_str(text.as_str()).unwrap()),
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return,
                },
            }
        }
    }

    fn receive(&self, frame: Value) {
        let (id, kind) = (frame["id"].clone(), frame["type"].clone());
        let is_new = {
            let mut state = self.state();
            state.received.push(frame);
            state.seen.insert(id.to_string())
        };
        if is_new && kind != "extension_ui_response" && kind != "prompt" {
            self.send(json!({"id": id, "type": "response", "command": kind, "success": true}));
        }
    }

    fn send(&self, frame: Value) {
        let mut state = self.state();
        state.sent.push(frame.to_string());
        if !state.is_mute {
            let _ = state.sockets.last().unwrap().out.send(frame.to_string());
        }
    }

    fn cut(&self) {
        self.state().sockets.last().unwrap().cut.cancel();
    }

    /// Returns the ids of the received frames of the given type.
    fn ids(&self, kind: &str) -> Vec<String> {
        let state = self.state();
        state
            .received
            .iter()
            .filter(|frame| frame["type"] == kind)
            .map(|frame| frame["id"].to_string())
            .collect()
    }

    async fn until(&self, holds: impl Fn(&State) -> bool) {
        soon(async {
            while !holds(&self.state()) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
    }
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(TEN_MINUTES, future).await.expect("nothing within ten minutes of the paused clock")
}

fn end(error: &agentese::Error) -> &Cause {
    match error {
        agentese::Error::Terminated(termination) => termination.cause(),
        other => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_is_a_frame() {
    let server = Server::default();
    let client = server.client().await;
    soon(client.abort()).await.unwrap();
    soon(client.set_auto_retry(true)).await.unwrap();
    assert_eq!(server.state().received.len(), 2);
    client.close().await;
    assert!(soon(client.abort()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_goes_on_where_it_was_and_no_command_runs_twice() {
    let server = Server::default();
    let client = server.client().await;
    soon(client.abort()).await.unwrap();
    server.state().is_mute = true;
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.set_auto_retry(true).await }
    });
    server.until(|state| state.sent.len() == 2).await;
    server.state().is_mute = false;
    server.cut();
    soon(call).await.unwrap().unwrap();
    soon(client.abort()).await.unwrap();
    assert_eq!(server.state().sent.len(), 3, "each was executed once");
    let calls = server.state().calls.clone();
    assert_eq!(calls[1], format!("{}&have=1", calls[0]), "the same name, with the position");
}

#[tokio::test(start_paused = true)]
async fn a_command_that_did_not_arrive_is_sent_again() {
    let server = Server::default();
    server.state().is_deaf = true;
    let client = server.client().await;
    let call = tokio::spawn(async move { client.abort().await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(server.state().received.is_empty());
    server.state().is_deaf = false;
    server.cut();
    soon(call).await.unwrap().unwrap();
    assert_eq!(server.ids("abort").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn lines_written_without_a_socket_are_sent_later() {
    let server = Server::default();
    let client = server.client().await;
    soon(client.abort()).await.unwrap();
    server.state().refuses = true;
    server.cut();
    let calls: Vec<_> = (0..3)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.set_auto_retry(false).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(server.ids("set_auto_retry").is_empty());
    server.state().refuses = false;
    for call in calls {
        soon(call).await.unwrap().unwrap();
    }
    assert_eq!(server.ids("set_auto_retry").len(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_lost_is_sent_again_until_a_later_command_is_answered() {
    let server = Server::default();
    let Transport { reader, mut writer, .. } = server.transport().await;
    let mut lines = BufReader::new(reader).lines();
    server.until(|state| state.sockets.len() == 1).await;
    server.send(json!({"type": "extension_ui_request", "id": "q", "method": "confirm", "title": "?"}));
    assert!(soon(lines.next_line()).await.unwrap().unwrap().contains("\"q\""));
    let answer = "{\"type\":\"extension_ui_response\",\"id\":\"q\",\"confirmed\":true}\n";
    writer.write_all(answer.as_bytes()).await.unwrap();
    server.until(|state| state.received.len() == 1).await;
    server.cut();
    server.until(|state| state.received.len() == 2).await;
    writer.write_all(b"{\"type\":\"abort\",\"id\":\"1\"}\n").await.unwrap();
    assert!(soon(lines.next_line()).await.unwrap().unwrap().contains("\"abort\""));
    server.cut();
    server.until(|state| state.sockets.len() == 3).await;
    writer.write_all(b"{\"type\":\"abort\",\"id\":\"2\"}\n").await.unwrap();
    soon(lines.next_line()).await.unwrap().unwrap();
    assert_eq!(server.ids("extension_ui_response").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn lost_messages_end_the_stream_with_a_reload() {
    let server = Server::default();
    let client = server.client().await;
    soon(client.abort()).await.unwrap();
    server.state().forgets = true;
    let run = tokio::spawn({
        let client = client.clone();
        async move { client.prompt("never answered").await.map(drop) }
    });
    server.until(|state| state.received.len() == 2).await;
    server.cut();
    let error = soon(run).await.unwrap().unwrap_err();
    assert!(matches!(end(&error), Cause::Io { text, .. } if text.starts_with("reload")), "{error}");
}

#[tokio::test(start_paused = true)]
async fn the_connection_is_reported_lost_after_the_reconnect_timeout() {
    let server = Server::default();
    let options = server.options().reconnect_timeout(Duration::from_secs(3));
    let client = pi::Client::connect(websocket::connect_with(ADDRESS, options).await.unwrap());
    soon(client.abort()).await.unwrap();
    server.state().refuses = true;
    server.cut();
    let termination = soon(client.terminated()).await;
    assert!(
        matches!(termination.cause(), Cause::Io { text, .. } if text == "the connection was lost"),
        "{termination}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_end_of_another_server_and_of_the_agent_is_the_end_of_the_stream() {
    for is_plain in [true, false] {
        let server = Server::default();
        server.state().is_plain = is_plain;
        let client = server.client().await;
        soon(client.abort()).await.unwrap();
        if is_plain {
            server.cut();
        } else {
            server.send(json!({"agentese": "ended", "text": "exited with code 1"}));
        }
        assert_eq!(*soon(client.terminated()).await.cause(), Cause::EndOfStream, "{is_plain}");
        assert_eq!(server.state().calls.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn writes_wait_for_a_server_that_does_not_read() {
    let server = Server::default();
    server.state().is_deaf = true;
    let Transport { reader: _reader, mut writer, .. } = server.transport().await;
    let line = format!("{{\"type\":\"x\",\"text\":\"{}\"}}\n", "x".repeat(1000));
    let mut written = 0;
    while timeout(Duration::from_secs(5), writer.write_all(line.as_bytes())).await.is_ok() {
        written += line.len();
        assert!(written < 1024 * 1024, "a megabyte was accepted without a reader");
    }
    assert!(written > 0);
}

#[tokio::test(start_paused = true)]
async fn a_server_waits_for_a_client_that_does_not_read_and_nothing_is_lost() {
    const COUNT: usize = 2000;
    let server = Server::default();
    let Transport { reader, writer: _writer, .. } = server.transport().await;
    server.until(|state| state.sockets.len() == 1).await;
    for number in 0..COUNT {
        server.send(json!({"type": "x", "number": number, "text": "x".repeat(500)}));
    }
    // The connection is lost during the transfer, before the client has read any data.
    tokio::time::sleep(Duration::from_secs(1)).await;
    server.cut();
    let mut lines = BufReader::new(reader).lines();
    for number in 0..COUNT {
        let line: Value = serde_json::from_str(&soon(lines.next_line()).await.unwrap().unwrap()).unwrap();
        assert_eq!(line["number"], number);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_gone_leaves_nothing_behind() {
    let server = Server::default();
    let client = server.client().await;
    soon(client.abort()).await.unwrap();
    server.state().refuses = true;
    server.cut();
    drop(client);
    tokio::time::sleep(Duration::from_secs(5)).await;
    server.state().refuses = false;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(server.state().calls.len(), 1, "the client does not reconnect");
}

#[tokio::test]
async fn an_unreachable_server_is_named_without_the_token() {
    let nobody = Options::default()
        .dial(|_| async { Err::<DuplexStream, _>(io::ErrorKind::ConnectionRefused.into()) });
    let error = soon(websocket::connect_with("ws://127.0.0.1:9/token/ws", nobody)).await.unwrap_err();
    assert!(matches!(error, ConnectError::Io { .. }), "{error}");
    assert!(error.to_string().contains("127.0.0.1:9: connection refused"), "{error}");
    assert!(!error.to_string().contains("token"), "{error}");
    let error = websocket::connect("wss://127.0.0.1/token/ws").await.unwrap_err();
    assert!(matches!(error, ConnectError::NoTls), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_server_without_websocket_or_answer_is_distinguished() {
    async fn dialled(answer: &'static [u8]) -> ConnectError {
        let options = Options::default().dial(move |_| async move {
            let (ours, mut theirs) = tokio::io::duplex(4096);
            tokio::spawn(async move {
                theirs.write_all(answer).await.unwrap();
                std::future::pending::<()>().await;
                drop(theirs);
            });
            Ok(ours)
        });
        soon(websocket::connect_with(ADDRESS, options)).await.unwrap_err()
    }
    let refused = dialled(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(refused.to_string(), "memory:1 does not accept a WebSocket: 403 Forbidden");
    assert!(matches!(dialled(b"").await, ConnectError::TimedOut { .. }));
}
