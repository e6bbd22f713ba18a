//! Small services for tests, and a client that writes bytes.

use std::sync::Arc;

use agentese::framing::{FrameReader, Incoming};
use agentese::pi::InputReceipt;
use agentese::pi::{
    BashParams, BashResult, Pi, PromptParams, QueueMode, SessionState, SessionStateBuilder,
    SetSessionNameParams, SetSteeringModeParams, ThinkingLevel,
};
use agentese::serve::{Call, CommandError, Dispatch, Options, ServeEnd, serve_with};
use agentese::spec::Dialect;
use agentese::transport::{BoxReader, BoxWriter, memory_pair};
use agentese::wire::{Maybe, NoParams};
use agentese::{omp, pi};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::sync::Notify;

pub use crate::long::LONG;

pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, future)
        .await
        .unwrap_or_else(|_| panic!("{what} did not happen within {LONG:?}"))
}

/// Service with some state. Some of its commands wait or fail on purpose.
#[derive(Default)]
pub struct SmallService {
    pub mode: std::sync::Mutex<Option<QueueMode>>,
    pub release: Arc<Notify>,
    pub stopped: std::sync::atomic::AtomicBool,
    pub settled: std::sync::atomic::AtomicBool,
    /// Number of large responses that were built.
    pub large: std::sync::atomic::AtomicUsize,
}

impl pi::Service for SmallService {
    async fn get_state(&self, _: NoParams, _: Call<Pi, SessionState>) -> Result<SessionState, CommandError> {
        let mode = self.mode.lock().unwrap().unwrap_or(QueueMode::OneAtATime);
        let mut state = SessionStateBuilder {
            thinking_level: ThinkingLevel::Off,
            is_streaming: false,
            is_compacting: false,
            steering_mode: mode,
            follow_up_mode: QueueMode::All,
            session_id: "s".to_owned(),
            auto_compaction_enabled: true,
            message_count: 0,
            pending_message_count: 0,
        }
        .build();
        state.model = Maybe::Null;
        Ok(state)
    }

    async fn set_steering_mode(
        &self,
        params: SetSteeringModeParams,
        _: Call<Pi>,
    ) -> Result<(), CommandError> {
        *self.mode.lock().unwrap() = Some(params.mode);
        Ok(())
    }

    async fn prompt(
        &self,
        params: PromptParams,
        call: Call<Pi, Option<InputReceipt>>,
    ) -> Result<Option<InputReceipt>, CommandError> {
        match params.message.as_str() {
            "panic" => panic!("a handler that fails"),
            "refuse" => Err(CommandError::new("no key")),
            _ => {
                call.answer(None);
                call.emitter().emit(&pi::Event::AgentStart(pi::AgentStart::new())).await;
                call.emitter().emit(&pi::Event::AgentEnd(pi::AgentEnd::new(vec![]))).await;
                Ok(None)
            }
        }
    }

    async fn bash(&self, params: BashParams, _: Call<Pi, BashResult>) -> Result<BashResult, CommandError> {
        if params.command == "wait" {
            self.release.notified().await;
        }
        Ok(BashResult::new(params.command, false, false))
    }

    /// Returns a text of 128 KiB.
    async fn get_last_assistant_text(
        &self,
        _: NoParams,
        _: Call<Pi, pi::LastAssistantText>,
    ) -> Result<pi::LastAssistantText, CommandError> {
        self.large.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let mut answer = pi::LastAssistantText::new();
        answer.text = Maybe::or_null(Some("x".repeat(1 << 17)));
        Ok(answer)
    }

    async fn abort(&self, _: NoParams, _: Call<Pi>) -> Result<(), CommandError> {
        self.stopped.store(true, std::sync::atomic::Ordering::SeqCst);
        Ok(())
    }

    async fn abort_bash(&self, _: NoParams, _: Call<Pi>) -> Result<(), CommandError> {
        self.release.notify_waiters();
        Ok(())
    }

    async fn compact(
        &self,
        _: pi::CompactParams,
        _: Call<Pi, pi::CompactionResult>,
    ) -> Result<pi::CompactionResult, CommandError> {
        self.release.notified().await;
        Ok(pi::CompactionResult::new("summary", "a", 1))
    }

    async fn set_session_name(&self, params: SetSessionNameParams, _: Call<Pi>) -> Result<(), CommandError> {
        if params.name.trim().is_empty() {
            Err(CommandError::new("Session name cannot be empty"))
        } else {
            Ok(())
        }
    }

    async fn shut_down(&self) {
        self.stopped.store(true, std::sync::atomic::Ordering::SeqCst);
        self.release.notify_waiters();
    }

    async fn wait_until_idle(&self) {
        self.settled.store(true, std::sync::atomic::Ordering::SeqCst);
    }
}

/// The same service in omp, in which failures of handlers have no id.
#[derive(Default)]
pub struct SmallOmpService {
    pub stopped: std::sync::atomic::AtomicUsize,
}

impl omp::Service for SmallOmpService {
    async fn prompt(&self, params: PromptParams, _: Call<omp::Omp>) -> Result<(), CommandError> {
        if params.message == "refuse" { Err(CommandError::new("no key")) } else { Ok(()) }
    }

    async fn compact(
        &self,
        _: omp::CompactParams,
        _: Call<omp::Omp, omp::CompactionResult>,
    ) -> Result<omp::CompactionResult, CommandError> {
        Err(CommandError::new("Already compacted"))
    }

    async fn set_interrupt_mode(
        &self,
        _: omp::SetInterruptModeParams,
        _: Call<omp::Omp>,
    ) -> Result<(), CommandError> {
        Ok(())
    }

    async fn shut_down(&self) {
        self.stopped.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
}

/// The client's end of a served connection.
pub struct WireClient {
    frames: FrameReader<BoxReader>,
    received: std::collections::VecDeque<String>,
    pub writer: BoxWriter,
    pub served: tokio::task::JoinHandle<ServeEnd>,
}

pub fn start<D: Dialect, S: Dispatch<D>>(service: Arc<S>, options: Options) -> WireClient {
    let (ours, theirs) = memory_pair(1 << 16);
    let served = tokio::spawn(async move { serve_with::<D, S>(theirs, service, options, |_| {}).await });
    WireClient {
        frames: FrameReader::new(ours.reader),
        received: Default::default(),
        writer: ours.writer,
        served,
    }
}

impl WireClient {
    pub async fn write(&mut self, bytes: &[u8]) {
        within("the server to read", async {
            self.writer.write_all(bytes).await.unwrap();
            self.writer.flush().await.unwrap();
        })
        .await;
    }

    pub async fn send(&mut self, line: &str) {
        self.write(format!("{line}\n").as_bytes()).await;
    }

    pub async fn receive(&mut self) -> Value {
        serde_json::from_str(&self.receive_text().await).expect("servers send JSON")
    }

    pub async fn receive_text(&mut self) -> String {
        within("a line of the server", async {
            while self.received.is_empty() {
                let mut batch = Vec::new();
                assert!(self.frames.next_batch(&mut batch).await.unwrap() > 0, "the server closed its end");
                self.received.extend(batch.into_iter().map(|incoming| match incoming {
                    Incoming::Frame(frame) => frame.as_str().to_owned(),
                    Incoming::Fault(fault) => panic!("{fault}"),
                }));
            }
            self.received.pop_front().unwrap()
        })
        .await
    }

    /// Drops the reader of the connection; the input of the server stays open.
    pub fn without_reader(self) -> (BoxWriter, tokio::task::JoinHandle<ServeEnd>) {
        (self.writer, self.served)
    }

    pub async fn request(&mut self, line: &str) -> Value {
        self.send(line).await;
        self.receive().await
    }

    /// Closes the input and returns the reason for the end of serving.
    pub async fn end(mut self) -> ServeEnd {
        self.writer.shutdown().await.unwrap();
        within("the end of serving", self.served).await.unwrap()
    }
}
