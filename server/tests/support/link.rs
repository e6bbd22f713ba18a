//! An agent that is served within this process, and a client that reads and writes lines.

use agentese::serve::{Options, ServeEnd};
use agentese::spec::Dialect;
use agentese::transport::{BoxReader, BoxWriter, memory_pair};
use agentese_server::config::RetrySettings;
use agentese_server::dialects::DialectEntry;
use agentese_server::{Builder, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::task::JoinHandle;

use super::{script, soon};

/// The client's end of an in-memory connection to a server.
pub struct Link {
    writer: Option<BoxWriter>,
    lines: Lines<BufReader<BoxReader>>,
    served: JoinHandle<ServeEnd>,
    check: fn(&str),
    /// All received frames.
    pub seen: Vec<Value>,
}

impl Link {
    pub fn serving(server: Server) -> Self {
        Self::serving_with(server, Options::default(), 1 << 20)
    }

    pub fn serving_with(server: Server, options: Options, buffer: usize) -> Self {
        let (ours, theirs) = memory_pair(buffer);
        let served = tokio::spawn(server.serve_with(theirs, options));
        let (reader, writer, _) = ours.into_parts();
        let lines = BufReader::new(reader).lines();
        Self { writer: Some(writer), lines, served, check: super::trace::check_frame, seen: Vec::new() }
    }

    /// Starts an agent with a model script, in an empty directory.
    pub fn scripted(json: Value) -> (Self, tempfile::TempDir) {
        let (builder, place) = builder(json);
        (Self::serving(builder.build()), place)
    }

    /// Starts an agent of any dialect.
    pub fn for_dialect<D: Dialect>(builder: Builder) -> Self {
        Self::for_revision::<D>(&D::SPEC.id(), builder)
    }

    /// Starts an agent of a revision.
    pub fn for_revision<D: Dialect>(revision: &str, builder: Builder) -> Self {
        Self::for_revision_with::<D>(revision, builder, Options::default(), 1 << 20)
    }

    /// Starts an agent of a revision, with these options. `buffer` is the capacity of the connection in bytes.
    pub fn for_revision_with<D: Dialect>(
        revision: &str,
        builder: Builder,
        options: Options,
        buffer: usize,
    ) -> Self {
        let entry = DialectEntry::find(revision).unwrap();
        let link = Self::serving_with(builder.dialect(entry).build(), options, buffer);
        Self { check: super::trace::check_frame_of::<D>, ..link }
    }

    pub async fn send_raw(&mut self, bytes: &[u8]) {
        let writer = self.writer.as_mut().expect("stdin is closed");
        soon("the server reads", writer.write_all(bytes)).await.unwrap();
    }

    pub async fn send(&mut self, command: Value) {
        self.send_raw(format!("{command}\n").as_bytes()).await;
    }

    /// Reads the next frame. Returns `None` if the server has closed the connection.
    pub async fn next(&mut self) -> Option<Value> {
        let line = soon("a frame", self.lines.next_line()).await.unwrap()?;
        let frame: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        (self.check)(&line);
        self.seen.push(frame.clone());
        Some(frame)
    }

    /// Reads until a frame matches. Returns all frames that were read; the matching one is the last.
    pub async fn until(&mut self, what: &str, mut found: impl FnMut(&Value) -> bool) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let Some(frame) = self.next().await else { panic!("{what} did not come: {frames:#?}") };
            let last = found(&frame);
            frames.push(frame);
            if last {
                return frames;
            }
        }
    }

    pub async fn until_event(&mut self, kind: &str) -> Vec<Value> {
        self.until(kind, |frame| frame["type"] == kind).await
    }

    /// Sends a command and returns its response. Earlier frames are kept in `seen`.
    pub async fn request(&mut self, command: Value) -> Value {
        let id = format!("ask-{}", self.seen.len());
        let mut command = command;
        command["id"] = json!(id);
        self.send(command).await;
        self.answer(&id).await
    }

    /// Reads until the response to the command with this id.
    pub async fn answer(&mut self, id: &str) -> Value {
        let frames = self.until(id, |frame| frame["type"] == "response" && frame["id"] == id).await;
        frames.into_iter().next_back().unwrap()
    }

    /// Sends a command that must succeed. Returns the data of the response.
    pub async fn data(&mut self, command: Value) -> Value {
        let answer = self.request(command).await;
        assert_eq!(answer["success"], true, "{answer}");
        answer["data"].clone()
    }

    /// Sends a prompt and returns the events of its run.
    pub async fn run(&mut self, message: &str) -> Vec<Value> {
        self.send(json!({"id": "run", "type": "prompt", "message": message})).await;
        let mut frames = self.until_event("agent_end").await;
        assert_eq!(
            frames.remove(0),
            json!({"id": "run", "type": "response", "command": "prompt", "success": true})
        );
        super::trace::check_run(&frames);
        frames
    }

    pub async fn state(&mut self) -> Value {
        self.data(json!({"type": "get_state"})).await
    }

    pub async fn messages(&mut self) -> Vec<Value> {
        self.data(json!({"type": "get_messages"})).await["messages"].as_array().unwrap().clone()
    }

    /// Sends `line` `count` times with an abort in the middle, and reads at the same time. The lines must have the id
    /// `s`. Returns the number of their responses, and how many of them precede the response to the abort.
    pub async fn storm(&mut self, count: usize, line: &str) -> (usize, usize) {
        let mut writer = self.writer.take().expect("stdin is closed");
        let half = format!("{line}\n").repeat(count / 2);
        let write = async {
            for text in [&half, "{\"id\":\"abort\",\"type\":\"abort\"}\n", &half] {
                writer.write_all(text.as_bytes()).await.unwrap();
            }
        };
        let read = async {
            let (mut answered, mut before) = (0, None);
            while answered < count / 2 * 2 || before.is_none() {
                let line = self.lines.next_line().await.unwrap().expect("the server goes on");
                let frame: Value = serde_json::from_str(&line).unwrap();
                answered += usize::from(frame["id"] == "s");
                before = before.or((frame["id"] == "abort").then_some(answered));
            }
            (answered, before.unwrap_or_default())
        };
        let ((), counts) = soon("the storm to pass", async { tokio::join!(write, read) }).await;
        self.writer = Some(writer);
        counts
    }

    /// Closes the input of the server.
    pub fn hang_up(&mut self) {
        self.writer = None;
    }

    /// Closes the input of the server. Returns the remaining frames, and the reason why serving has ended.
    pub async fn finish(mut self) -> (Vec<Value>, ServeEnd) {
        self.hang_up();
        let mut rest = Vec::new();
        while let Some(frame) = self.next().await {
            rest.push(frame);
        }
        let ended = soon("the end of serving", self.served).await.unwrap();
        (rest, ended)
    }

    /// Closes both directions of the connection.
    pub fn disconnect(self) -> JoinHandle<ServeEnd> {
        self.served
    }
}

/// Returns a builder with a model script and a directory of its own. Failures of its model are not retried.
pub fn builder(json: Value) -> (Builder, tempfile::TempDir) {
    let place = tempfile::tempdir().unwrap();
    let builder = Server::builder().cwd(place.path()).temp_dir(place.path()).script(script(json));
    (builder.retry(RetrySettings { enabled: false, ..RetrySettings::default() }), place)
}
