//! The connection with an ACP agent: requests in both directions, each on one line.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentese::acp::{AcpCancelRequestParams, AcpPromptEnd, AcpStopReason, Command, Dialog, Failure, Reply};
use agentese::framing::{FrameReader, Incoming};
use agentese::redact::redact_text;
use agentese::tap::{Direction, Tap};
use agentese::transport::{BoxReader, BoxWriter, ChildProcess, Exit, Transport};
use agentese::wire::{Envelope, NamedUnion, ReplyUnion as _};
use agentese_process::sanitize::sanitize_line;
use agentese_server_dialects::conversation::RemoteSessionError;
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// The time limit for each response of an agent, except responses to prompts.
const RESPONSE_LIMIT: Duration = Duration::from_secs(120);

/// The error for callers that still wait for a response when the agent disconnects.
const DISCONNECTED: &str = "the agent has disconnected";

/// The time limit for an agent to exit after it has closed its output.
const EXIT_LIMIT: Duration = Duration::from_secs(2);

/// The number of the last lines of stderr in the reason for the end of an agent, and their maximum length in characters.
const STDERR_LINES: usize = 3;
const STDERR_LINE_LENGTH: usize = 300;

/// A message from the agent, or a local event that must keep its place among these messages.
pub(super) enum ConnectionEvent {
    /// A notification.
    Notification(Dialog),
    /// A request, with its id for the response.
    Request(Value, Dialog),
    /// The prompt of the turn with this number is about to be sent.
    TurnStarted(u64),
    /// The response to the prompt of the turn with this number. All messages before it belong to that turn.
    TurnEnded(u64, Result<AcpPromptEnd, RemoteSessionError>),
    /// Another session is about to be opened. `Some` has the id of a stored session; the updates of that session are
    /// then its history.
    SessionRequested(Option<String>),
    /// The outcome of opening a session, with the channel to the waiting caller.
    SessionOpened(Outcome, OutcomeSender),
    /// The outcome of setting an option of the session, with the channel to the waiting caller.
    OptionSet(Outcome, OutcomeSender),
    /// The connection has ended, with the reason. This is the last event.
    Disconnected(String),
}

/// The outcome of a request.
pub(super) type Outcome = Result<Reply, RemoteSessionError>;

/// The channel to a caller that waits for an outcome.
pub(super) type OutcomeSender = oneshot::Sender<Outcome>;

/// The destination of a response.
enum Waiter {
    /// A caller, with the name of the called method.
    Caller(&'static str, OutcomeSender),
    /// The event loop, then a caller. The event loop receives the outcome in its place among the messages, and then
    /// passes it to the caller.
    InOrder(&'static str, fn(Outcome, OutcomeSender) -> ConnectionEvent, OutcomeSender),
    /// The event loop, with the number of the turn that the response ends.
    Turn(u64),
}

/// This side of the connection. Dropping it ends the agent.
pub(super) struct AcpConnection {
    inner: Arc<ConnectionInner>,
    child: Option<ChildProcess>,
}

struct ConnectionInner {
    lines: UnboundedSender<String>,
    events: UnboundedSender<ConnectionEvent>,
    tap: Arc<dyn Tap>,
    calls: Mutex<PendingCalls>,
}

#[derive(Default)]
struct PendingCalls {
    next: u64,
    waiters: HashMap<u64, Waiter>,
    disconnect_reason: Option<String>,
}

impl AcpConnection {
    /// Connects to the other end of a transport. `tap` observes the received frames. Must be called on a
    /// tokio runtime.
    pub fn from_transport(
        transport: Transport,
        tap: Arc<dyn Tap>,
    ) -> (Self, UnboundedReceiver<ConnectionEvent>) {
        let (reader, writer, child) = transport.into_parts();
        let (lines, waiting) = unbounded_channel();
        let (events, receiver) = unbounded_channel();
        let inner = Arc::new(ConnectionInner { lines, events, tap, calls: Mutex::default() });
        tokio::spawn(write(writer, waiting));
        let exit = child.as_ref().map(ChildProcess::exit);
        let reading = inner.clone();
        tokio::spawn(async move {
            reading.read(reader).await;
            let exit = async {
                match exit {
                    Some(exit) => Some(exit.await),
                    None => None,
                }
            };
            // An agent may close its output and continue to run.
            let exit = tokio::time::timeout(EXIT_LIMIT, exit).await.ok().flatten();
            reading.disconnect(
                &exit.map_or_else(|| "the agent closed its output".to_owned(), |exit| exit_text(&exit)),
            );
        });
        (Self { inner, child }, receiver)
    }

    /// Calls a method and waits for its response.
    pub async fn call(&self, command: Command) -> Outcome {
        let (answer, answered) = oneshot::channel();
        let id = self.inner.request(&command, Waiter::Caller(command.name(), answer))?;
        self.inner.wait_for_response(id, command.name(), answered).await
    }

    /// Calls a method. The event loop receives the outcome first, wrapped by `wrap`, in its place among the agent's
    /// messages. Sends the request before returning.
    pub fn call_in_order(
        &self,
        command: &Command,
        wrap: fn(Outcome, OutcomeSender) -> ConnectionEvent,
    ) -> impl Future<Output = Outcome> + Send + use<> {
        let (answer, answered) = oneshot::channel();
        let method = command.name();
        let waiter = Waiter::InOrder(method, wrap, answer);
        let inner = self.inner.clone();
        let sent = inner.request(command, waiter);
        async move { inner.wait_for_response(sent?, method, answered).await }
    }

    /// Announces to the event loop that another session is about to be opened.
    pub fn announce_session(&self, id: Option<String>) {
        let _ = self.inner.events.send(ConnectionEvent::SessionRequested(id));
    }

    /// Sends the prompt of the turn with this number. The end of the turn arrives as an event.
    pub fn start_turn(&self, turn: u64, prompt: &Command) -> Result<(), RemoteSessionError> {
        // This message must precede all messages of the turn.
        let _ = self.inner.events.send(ConnectionEvent::TurnStarted(turn));
        self.inner.request(prompt, Waiter::Turn(turn)).map(drop).inspect_err(|trouble| {
            let _ = self.inner.events.send(ConnectionEvent::TurnEnded(turn, Err(trouble.clone())));
        })
    }

    /// Abandons a turn and reports it as cancelled.
    pub fn cancel_turn(&self, turn: u64) {
        let cancelled = AcpPromptEnd::new(AcpStopReason::Cancelled);
        let _ = self.inner.events.send(ConnectionEvent::TurnEnded(turn, Ok(cancelled)));
    }

    /// Sends a notification.
    pub fn notify(&self, command: &Command) {
        self.inner.notify(command);
    }

    /// Responds to a request of the agent.
    pub fn respond(&self, id: &Value, result: impl Serialize) {
        self.inner.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    /// Responds that a method is unknown.
    pub fn reject(&self, id: &Value, method: &str) {
        self.inner.reject(id, Failure::UnknownCommand, &[("method", method)]);
    }

    /// Ends the agent: closes its stdin, then ends the process if it continues to run.
    pub async fn close(&self) {
        if let Some(child) = &self.child {
            child.close_stdin();
            child.shutdown().await;
        }
    }
}

impl ConnectionInner {
    fn calls(&self) -> MutexGuard<'_, PendingCalls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, frame: &Value) {
        let _ = self.lines.send(frame.to_string());
    }

    fn notify(&self, command: &Command) {
        self.send(&json!({"jsonrpc": "2.0", "method": command.name(), "params": CommandParams(command)}));
    }

    fn reject(&self, id: &Value, failure: Failure, values: &[(&str, &str)]) {
        let rejection = failure.command_error(values);
        let error = json!({"code": rejection.code, "message": rejection.message});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
    }

    /// Sends a request and returns its id. Fails if the agent has disconnected.
    fn request(&self, command: &Command, waiter: Waiter) -> Result<u64, RemoteSessionError> {
        let mut calls = self.calls();
        if let Some(reason) = &calls.disconnect_reason {
            return Err(reason.clone());
        }
        calls.next += 1;
        let id = calls.next;
        calls.waiters.insert(id, waiter);
        // Sent under the lock, so that lines are in the order of their ids.
        self.send(
            &json!({"jsonrpc": "2.0", "id": id, "method": command.name(), "params": CommandParams(command)}),
        );
        Ok(id)
    }

    /// Waits for a response. If no response arrives within the time limit, cancels the request and returns an error.
    async fn wait_for_response(
        &self,
        id: u64,
        method: &str,
        mut answered: oneshot::Receiver<Outcome>,
    ) -> Outcome {
        if let Ok(answer) = tokio::time::timeout(RESPONSE_LIMIT, &mut answered).await {
            return answer.unwrap_or_else(|_| Err(DISCONNECTED.to_owned()));
        }
        if let Some(waiter) = self.take_waiter(id) {
            self.notify(&Command::CancelRequest(AcpCancelRequestParams::new(id.into())));
            let limit = RESPONSE_LIMIT.as_secs();
            let trouble = format!("no response to `{method}` within {limit} s");
            self.settle(waiter, Err(trouble));
        }
        answered.await.unwrap_or_else(|_| Err(DISCONNECTED.to_owned()))
    }

    /// Removes and returns the destination of a response. Returns `None` if the response has already arrived.
    fn take_waiter(&self, id: u64) -> Option<Waiter> {
        self.calls().waiters.remove(&id)
    }

    async fn read(&self, reader: BoxReader) {
        let mut frames = FrameReader::new(reader);
        let mut batch = Vec::new();
        while let Ok(count) = frames.next_batch(&mut batch).await {
            if count == 0 {
                return;
            }
            for incoming in batch.drain(..) {
                match incoming {
                    Incoming::Frame(text) if text.as_str().trim().is_empty() => {}
                    Incoming::Frame(text) => {
                        self.tap.frame(Direction::Received, text.as_str());
                        match serde_json::from_str(text.as_str()) {
                            Ok(frame) => self.handle_frame(frame),
                            Err(error) => tracing::warn!(%error, "invalid line from the agent"),
                        }
                    }
                    Incoming::Fault(fault) => tracing::warn!(%fault, "dropped a line from the agent"),
                }
            }
        }
    }

    fn handle_frame(&self, mut frame: Value) {
        let (id, params) = (frame["id"].take(), frame["params"].take());
        match (frame["method"].as_str(), id.is_null()) {
            (Some(method), no_answer) => {
                let dialog = Dialog::decode(method, &params.to_string(), Envelope::NONE);
                match dialog {
                    Some(Ok(dialog)) if no_answer => {
                        let _ = self.events.send(ConnectionEvent::Notification(dialog));
                    }
                    Some(Ok(dialog)) => {
                        let _ = self.events.send(ConnectionEvent::Request(id, dialog));
                    }
                    Some(Err(error)) if no_answer => {
                        tracing::warn!(method, %error, "invalid notification from the agent");
                    }
                    Some(Err(error)) => {
                        tracing::warn!(method, %error, "invalid request from the agent");
                        let reason = error.to_string();
                        let values = [("method", method), ("reason", &reason)];
                        self.reject(&id, Failure::InvalidParameters, &values);
                    }
                    None if no_answer => tracing::debug!(method, "unknown notification from the agent"),
                    None => self.reject(&id, Failure::UnknownCommand, &[("method", method)]),
                }
            }
            (None, false) => self.handle_response(&id, frame),
            (None, true) => tracing::warn!("invalid frame from the agent: neither method nor id"),
        }
    }

    fn handle_response(&self, id: &Value, mut frame: Value) {
        let waiter = id.as_u64().and_then(|id| self.take_waiter(id));
        let error = frame["error"].take();
        let outcome = if error.is_null() { Ok(frame["result"].take()) } else { Err(error_text(&error)) };
        match waiter {
            Some(waiter) => self.settle(waiter, outcome),
            None => tracing::debug!("a response without a pending request is dropped"),
        }
    }

    /// Passes an outcome to its destination.
    fn settle(&self, waiter: Waiter, outcome: Result<Value, RemoteSessionError>) {
        match waiter {
            Waiter::Caller(method, caller) => {
                let _ = caller.send(outcome.and_then(|result| decode_result(method, &result)));
            }
            Waiter::InOrder(method, wrap, caller) => {
                let outcome = outcome.and_then(|result| decode_result(method, &result));
                let _ = self.events.send(wrap(outcome, caller));
            }
            Waiter::Turn(turn) => {
                let ended = outcome.and_then(|result| {
                    serde_json::from_value(result)
                        .map_err(|error| format!("invalid response to the prompt: {error}"))
                });
                let _ = self.events.send(ConnectionEvent::TurnEnded(turn, ended));
            }
        }
    }

    fn disconnect(&self, reason: &str) {
        let waiters = {
            let mut calls = self.calls();
            calls.disconnect_reason = Some(reason.to_owned());
            std::mem::take(&mut calls.waiters)
        };
        for waiter in waiters.into_values() {
            // The end of the agent ends the turn.
            if !matches!(waiter, Waiter::Turn(_)) {
                self.settle(waiter, Err(reason.to_owned()));
            }
        }
        let _ = self.events.send(ConnectionEvent::Disconnected(reason.to_owned()));
    }
}

async fn write(mut writer: BoxWriter, mut lines: UnboundedReceiver<String>) {
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        // The reader detects a disconnected agent.
        if writer.write_all(line.as_bytes()).await.is_err() || writer.flush().await.is_err() {
            return;
        }
    }
}

/// Returns the reason for the end of a process, with its last lines on stderr: some agents write a reason there and exit
/// with code 0. Keys are replaced.
fn exit_text(exit: &Exit) -> String {
    let lines: Vec<&str> = exit.stderr_tail.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(STDERR_LINES)..].iter().map(|line| {
        let short: String = redact_text(line.trim()).chars().take(STDERR_LINE_LENGTH).collect();
        sanitize_line(&short).into_owned()
    });
    match last.collect::<Vec<_>>().join(" / ") {
        last if last.is_empty() => exit.to_string(),
        last => format!("{exit}, last on stderr: {last}"),
    }
}

/// Decodes the result of a method.
fn decode_result(method: &str, result: &Value) -> Result<Reply, RemoteSessionError> {
    let read = Reply::decode(method, Some(&result.to_string()));
    let unreadable = |why: String| format!("invalid response to `{method}`: {why}");
    read.ok_or_else(|| unreadable("unknown method".to_owned()))?
        .map_err(|error| unreadable(error.to_string()))
}

/// Returns the error message for the user from an error object of JSON-RPC.
fn error_text(error: &Value) -> String {
    let message = error["message"].as_str().unwrap_or("the agent rejected the request");
    // Some agents send the details beside a general message.
    match error["data"].as_str().or_else(|| error["data"]["details"].as_str()) {
        Some(details) => format!("{message}: {details}"),
        None => message.to_owned(),
    }
}

/// Serializes only the parameters of a command.
struct CommandParams<'a>(&'a Command);

impl Serialize for CommandParams<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.0.encode(&mut map)?;
        map.end()
    }
}
