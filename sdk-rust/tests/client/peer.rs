//! The agent's side of the tests, which sends and receives single lines.

use std::sync::{Arc, Mutex};

use agentese::framing::{FrameReader, Incoming};
use agentese::spec::Dialect;
use agentese::tap::{Diagnostic, Direction, Tap};
use agentese::transport::{BoxReader, BoxWriter, Transport, memory_pair};
use agentese::{Builder, RpcClient};
use serde_json::Value;
use tokio::io::AsyncWriteExt;

pub use crate::long::LONG;

pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, future)
        .await
        .unwrap_or_else(|_| panic!("{what} did not happen within {LONG:?}"))
}

pub struct Peer {
    frames: FrameReader<BoxReader>,
    received: Vec<String>,
    pub writer: BoxWriter,
}

impl Peer {
    pub fn new(transport: Transport) -> Self {
        Peer { frames: FrameReader::new(transport.reader), received: Vec::new(), writer: transport.writer }
    }

    /// Returns the next line of the client.
    pub async fn receive(&mut self) -> Value {
        within("a line of the client", async {
            while self.received.is_empty() {
                let mut batch = Vec::new();
                assert!(self.frames.next_batch(&mut batch).await.unwrap() > 0, "the client closed its end");
                for incoming in batch {
                    if let Incoming::Frame(frame) = incoming {
                        self.received.push(frame.as_str().to_owned());
                    }
                }
            }
            serde_json::from_str(&self.received.remove(0)).expect("clients send JSON")
        })
        .await
    }

    /// Waits for a command and returns its raw id.
    pub async fn receive_command(&mut self, command: &str) -> String {
        let line = self.receive().await;
        let name = line.get("type").or(line.get("method")).cloned().unwrap_or_default();
        assert_eq!(name, command, "another command came: {line}");
        line["id"].to_string()
    }

    pub async fn send(&mut self, text: &str) {
        within("the client to read", async {
            self.writer.write_all(text.as_bytes()).await.unwrap();
            self.writer.write_all(b"\n").await.unwrap();
            self.writer.flush().await.unwrap();
        })
        .await;
    }

    /// Waits for a command and answers it.
    pub async fn answer(&mut self, command: &str, data: &str) {
        let id = self.receive_command(command).await;
        self.send(&success(&id, command, data)).await;
    }
}

pub fn success(id: &str, command: &str, data: &str) -> String {
    let data = if data.is_empty() { String::new() } else { format!(",\"data\":{data}") };
    format!(r#"{{"id":{id},"type":"response","command":"{command}","success":true{data}}}"#)
}

pub fn failure(id: &str, command: &str, error: &str) -> String {
    format!(r#"{{"id":{id},"type":"response","command":"{command}","success":false,"error":"{error}"}}"#)
}

/// Returns a state of pi as the response to `get_state`.
pub fn state(streaming: bool) -> String {
    format!(
        r#"{{"model":null,"thinkingLevel":"off","isStreaming":{streaming},"isCompacting":false,"steeringMode":"all","followUpMode":"all","sessionId":"s","autoCompactionEnabled":true,"messageCount":0,"pendingMessageCount":0}}"#
    )
}

/// Tap that records the diagnostics and frames of a client.
#[derive(Clone, Default)]
pub struct RecordingTap {
    pub diagnostics: Arc<Mutex<Vec<Diagnostic>>>,
    pub frames: Arc<Mutex<Vec<(Direction, String)>>>,
}

impl Tap for RecordingTap {
    fn frame(&self, direction: Direction, text: &str) {
        self.frames.lock().unwrap().push((direction, text.to_owned()));
    }

    fn diagnostic(&self, diagnostic: &Diagnostic) {
        self.diagnostics.lock().unwrap().push(diagnostic.clone());
    }
}

impl RecordingTap {
    pub fn has(&self, matches: impl Fn(&Diagnostic) -> bool) -> bool {
        self.diagnostics.lock().unwrap().iter().any(matches)
    }
}

/// Returns a client, the agent's end of its connection, and the tap that records it.
pub fn pair<D: Dialect>(builder: Builder<D>) -> (RpcClient<D>, Peer, RecordingTap) {
    let (ours, theirs) = memory_pair(1 << 16);
    let seen = RecordingTap::default();
    let client = builder.tap(seen.clone()).connect(ours);
    (client, Peer::new(theirs), seen)
}
