//! The connection with an ACP agent: requests in both directions, each on one line.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentese::acp::{AcpCancelRequestParams, AcpPromptEnd, AcpStopReason, Command, Dialog, Failure, Reply};
use agentese::framing::{FrameReader, Incoming};
use agentese::tap::{Direction, Tap};
use agentese::transport::{BoxReader, BoxWriter, ChildProcess, Transport};
use agentese::wire::{Answered as _, Envelope, Named};
use agentese_server_dialects::desk::Trouble;
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// The time limit for all responses of an agent except those to prompts.
const PATIENCE: Duration = Duration::from_secs(120);

/// The error for callers after a disconnect of the agent.
const GONE: &str = "the agent is gone";

/// The time limit for the exit of an agent that has closed its output.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// A message from the agent, or a local event in order with the messages.
pub(super) enum Heard {
    /// A notification.
    Told(Dialog),
    /// A request, with its id for the response.
    Asked(Value, Dialog),
    /// The prompt of the turn with that number is about to be sent.
    Began(u64),
    /// The response to that prompt: everything before belongs to its turn.
    TurnOver(u64, Result<AcpPromptEnd, Trouble>),
    /// Another session is about to be opened. For a stored session it has the id; updates of that session are
    /// then its history.
    Opens(Option<String>),
    /// The outcome of opening the session, and the waiting caller.
    Opened(Outcome, Waiting),
    /// The outcome of setting an option of the session, and the waiting caller.
    Chosen(Outcome, Waiting),
    /// The connection has ended, for that reason. This is the last message.
    Gone(String),
}

/// The outcome of a request.
pub(super) type Outcome = Result<Reply, Trouble>;

/// A caller that waits for an outcome.
pub(super) type Waiting = oneshot::Sender<Outcome>;

/// A receiver of a response.
enum Waiter {
    /// A caller, with the method.
    Caller(&'static str, Waiting),
    /// A caller behind the receiver of messages: that receiver gets the response in order with the messages,
    /// and passes it on.
    Hearer(&'static str, fn(Outcome, Waiting) -> Heard, Waiting),
    /// The receiver of messages, with the number of a turn.
    Turn(u64),
}

/// This side of the connection. Dropping it ends the agent.
pub(super) struct Peer {
    shared: Arc<Shared>,
    child: Option<ChildProcess>,
}

struct Shared {
    lines: UnboundedSender<String>,
    heard: UnboundedSender<Heard>,
    tap: Arc<dyn Tap>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    next: u64,
    waiters: HashMap<u64, Waiter>,
    gone: Option<String>,
}

impl Peer {
    /// Connects to the other end of a transport. `tap` observes the received frames. Must be called on a
    /// tokio runtime.
    pub fn over(transport: Transport, tap: Arc<dyn Tap>) -> (Self, UnboundedReceiver<Heard>) {
        let (reader, writer, child) = transport.into_parts();
        let (lines, waiting) = unbounded_channel();
        let (heard, said) = unbounded_channel();
        let shared = Arc::new(Shared { lines, heard, tap, open: Mutex::default() });
        tokio::spawn(write(writer, waiting));
        let exit = child.as_ref().map(ChildProcess::exit);
        let reading = shared.clone();
        tokio::spawn(async move {
            reading.read(reader).await;
            let exit = async {
                match exit {
                    Some(exit) => Some(exit.await),
                    None => None,
                }
            };
            // An agent may close its output and continue to run.
            let exit = tokio::time::timeout(LAST_BREATH, exit).await.ok().flatten();
            reading.end(&exit.map_or_else(|| "it closed its output".to_owned(), |exit| exit.to_string()));
        });
        (Self { shared, child }, said)
    }

    /// Calls a method and waits for its response.
    pub async fn call(&self, command: Command) -> Outcome {
        let (answer, answered) = oneshot::channel();
        let id = self.shared.request(&command, Waiter::Caller(command.name(), answer))?;
        self.shared.patiently(id, command.name(), answered).await
    }

    /// Calls a method. The receiver of messages first gets the outcome, wrapped by `heard`, in order with the
    /// messages. Sends the request before returning.
    pub fn ask(
        &self,
        command: &Command,
        heard: fn(Outcome, Waiting) -> Heard,
    ) -> impl Future<Output = Outcome> + Send + use<> {
        let (answer, answered) = oneshot::channel();
        let method = command.name();
        let waiter = Waiter::Hearer(method, heard, answer);
        let shared = self.shared.clone();
        let sent = shared.request(command, waiter);
        async move { shared.patiently(sent?, method, answered).await }
    }

    /// Announces the opening of another session to the receiver of messages.
    pub fn opens(&self, id: Option<String>) {
        let _ = self.shared.heard.send(Heard::Opens(id));
    }

    /// Starts the turn with that number. Its end arrives as a message.
    pub fn begin(&self, turn: u64, prompt: &Command) -> Result<(), Trouble> {
        // This message must precede all messages of the turn.
        let _ = self.shared.heard.send(Heard::Began(turn));
        self.shared.request(prompt, Waiter::Turn(turn)).map(drop).inspect_err(|trouble| {
            let _ = self.shared.heard.send(Heard::TurnOver(turn, Err(trouble.clone())));
        })
    }

    /// Abandons a turn and reports it as cancelled.
    pub fn give_up(&self, turn: u64) {
        let cancelled = AcpPromptEnd::new(AcpStopReason::Cancelled);
        let _ = self.shared.heard.send(Heard::TurnOver(turn, Ok(cancelled)));
    }

    /// Sends a notification.
    pub fn notify(&self, command: &Command) {
        self.shared.notify(command);
    }

    /// Responds to a request of the agent.
    pub fn answer(&self, id: &Value, result: impl Serialize) {
        self.shared.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    /// Responds that a method is unknown.
    pub fn refuse(&self, id: &Value, method: &str) {
        self.shared.refuse(id, Failure::UnknownCommand, &[("method", method)]);
    }

    /// Ends the agent: closes its stdin, then ends the process if it continues to run.
    pub async fn close(&self) {
        if let Some(child) = &self.child {
            child.close_stdin();
            child.shutdown().await;
        }
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, frame: &Value) {
        let _ = self.lines.send(frame.to_string());
    }

    fn notify(&self, command: &Command) {
        self.send(&json!({"jsonrpc": "2.0", "method": command.name(), "params": Members(command)}));
    }

    fn refuse(&self, id: &Value, failure: Failure, values: &[(&str, &str)]) {
        let refusal = failure.refusal(values);
        let error = json!({"code": refusal.code, "message": refusal.message});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
    }

    /// Sends a request and returns its id.
    fn request(&self, command: &Command, waiter: Waiter) -> Result<u64, Trouble> {
        let mut open = self.open();
        if let Some(reason) = &open.gone {
            return Err(reason.clone());
        }
        open.next += 1;
        let id = open.next;
        open.waiters.insert(id, waiter);
        // Sent under the lock, so that lines are in the order of their ids.
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": command.name(), "params": Members(command)}));
        Ok(id)
    }

    /// Waits for a response until the time limit.
    async fn patiently(&self, id: u64, method: &str, mut answered: oneshot::Receiver<Outcome>) -> Outcome {
        if let Ok(answer) = tokio::time::timeout(PATIENCE, &mut answered).await {
            return answer.unwrap_or_else(|_| Err(GONE.to_owned()));
        }
        if let Some(waiter) = self.forget(id) {
            self.notify(&Command::CancelRequest(AcpCancelRequestParams::new(id.into())));
            let limit = PATIENCE.as_secs();
            let trouble = format!("the agent did not answer `{method}` within {limit} seconds");
            self.settle(waiter, Err(trouble));
        }
        answered.await.unwrap_or_else(|_| Err(GONE.to_owned()))
    }

    /// Removes the receiver of a response. Returns `None` if the response has arrived.
    fn forget(&self, id: u64) -> Option<Waiter> {
        self.open().waiters.remove(&id)
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
                            Ok(frame) => self.frame(frame),
                            Err(error) => tracing::warn!(%error, "a line of the agent is no frame"),
                        }
                    }
                    Incoming::Fault(fault) => tracing::warn!(%fault, "a line of the agent was dropped"),
                }
            }
        }
    }

    fn frame(&self, mut frame: Value) {
        let (id, params) = (frame["id"].take(), frame["params"].take());
        match (frame["method"].as_str(), id.is_null()) {
            (Some(method), no_answer) => {
                let dialog = Dialog::decode(method, &params.to_string(), Envelope::NONE);
                match dialog {
                    Some(Ok(dialog)) if no_answer => {
                        let _ = self.heard.send(Heard::Told(dialog));
                    }
                    Some(Ok(dialog)) => {
                        let _ = self.heard.send(Heard::Asked(id, dialog));
                    }
                    Some(Err(error)) if no_answer => {
                        tracing::warn!(method, %error, "a notification of the agent cannot be read");
                    }
                    Some(Err(error)) => {
                        tracing::warn!(method, %error, "a request of the agent cannot be read");
                        let reason = error.to_string();
                        let values = [("method", method), ("reason", &reason)];
                        self.refuse(&id, Failure::InvalidParameters, &values);
                    }
                    None if no_answer => tracing::debug!(method, "a notification is not known"),
                    None => self.refuse(&id, Failure::UnknownCommand, &[("method", method)]),
                }
            }
            (None, false) => self.answered(&id, frame),
            (None, true) => tracing::warn!("a frame of the agent has neither a method nor an id"),
        }
    }

    fn answered(&self, id: &Value, mut frame: Value) {
        let waiter = id.as_u64().and_then(|id| self.forget(id));
        let error = frame["error"].take();
        let outcome = if error.is_null() { Ok(frame["result"].take()) } else { Err(words(&error)) };
        match waiter {
            Some(waiter) => self.settle(waiter, outcome),
            None => tracing::debug!("the agent answered what nobody waits for"),
        }
    }

    /// Passes a response to its receiver.
    fn settle(&self, waiter: Waiter, outcome: Result<Value, Trouble>) {
        match waiter {
            Waiter::Caller(method, caller) => {
                let _ = caller.send(outcome.and_then(|result| read(method, &result)));
            }
            Waiter::Hearer(method, heard, caller) => {
                let outcome = outcome.and_then(|result| read(method, &result));
                let _ = self.heard.send(heard(outcome, caller));
            }
            Waiter::Turn(turn) => {
                let ended = outcome.and_then(|result| {
                    serde_json::from_value(result)
                        .map_err(|error| format!("the agent's answer to a prompt cannot be read: {error}"))
                });
                let _ = self.heard.send(Heard::TurnOver(turn, ended));
            }
        }
    }

    fn end(&self, reason: &str) {
        let waiters = {
            let mut open = self.open();
            open.gone = Some(reason.to_owned());
            std::mem::take(&mut open.waiters)
        };
        for waiter in waiters.into_values() {
            // The end of the agent ends the turn.
            if !matches!(waiter, Waiter::Turn(_)) {
                self.settle(waiter, Err(reason.to_owned()));
            }
        }
        let _ = self.heard.send(Heard::Gone(reason.to_owned()));
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

/// Decodes the result of a method.
fn read(method: &str, result: &Value) -> Result<Reply, Trouble> {
    let read = Reply::decode(method, Some(&result.to_string()));
    let unreadable = |why: String| format!("the agent's answer to `{method}` cannot be read: {why}");
    read.ok_or_else(|| unreadable("no such method".to_owned()))?
        .map_err(|error| unreadable(error.to_string()))
}

/// Converts an error to a sentence.
fn words(error: &Value) -> String {
    let message = error["message"].as_str().unwrap_or("the agent refused it");
    // Some agents send the details beside a general message.
    match error["data"].as_str().or_else(|| error["data"]["details"].as_str()) {
        Some(details) => format!("{message}: {details}"),
        None => message.to_owned(),
    }
}

/// The parameters of a command.
struct Members<'a>(&'a Command);

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.0.encode(&mut map)?;
        map.end()
    }
}
