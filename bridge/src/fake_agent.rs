//! A simulated agent whose frames tests read and write line by line.

use std::time::Duration;

use agentese::transport::{BoxReader, BoxWriter, Transport};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};

/// The time limit of a test, after which it is considered to hang.
const LONG: Duration = Duration::from_secs(200);

/// Waits for a future. Fails if it takes longer than [`LONG`].
pub(super) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(LONG, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what}: nothing within {LONG:?}"),
    }
}

/// The simulated agent.
pub(super) struct FakeAgent {
    lines: Lines<BufReader<BoxReader>>,
    writer: BoxWriter,
}

impl FakeAgent {
    /// Creates an agent at one end of a transport.
    pub fn of(end: Transport) -> Self {
        let (reader, writer, _) = end.into_parts();
        Self { lines: BufReader::new(reader).lines(), writer }
    }

    /// Returns the next frame from the bridge. Fails if its kind is not `kind`; the kind of a response is
    /// empty.
    pub async fn receive(&mut self, kind: &str) -> Value {
        let line = soon(kind, self.lines.next_line()).await.unwrap().expect("the connection is over");
        let frame: Value = serde_json::from_str(&line).unwrap();
        let found = frame.get("method").or_else(|| frame.get("type"));
        assert_eq!(found.and_then(Value::as_str).unwrap_or_default(), kind, "{frame}");
        frame
    }

    pub async fn send(&mut self, frame: Value) {
        self.writer.write_all(format!("{frame}\n").as_bytes()).await.unwrap();
    }
}
