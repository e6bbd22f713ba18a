//! One extension process: its input and output, from its start to its end.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentese::framing::{FrameReader, FramerOptions, FramingError, Incoming};
use agentese::types::{ExtensionFrame, HostCancel, HostFrame};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::calls::{Asked, Calls, Failed};
use super::flood::Flood;
use super::outbox::{Broken, Item, Outbox, ROOM};
use super::withdrawn::Withdrawn;
use crate::tools::{CommandLine, Everything, Exit, Noise, Running, Spawner, Talking};

/// Maximum length of a line of an extension: an image or two, in addition to the contents of the request.
const LONGEST_LINE: usize = 16 << 20;
/// Absolute maximum length of a line: a whole conversation.
const LONGEST_OF_ALL: usize = 64 << 20;
/// Time limit for the end of a process after the end of its stdin.
const GRACE: Duration = Duration::from_millis(500);
/// Waiting time for the end of a process after the end of its stdout.
const AFTER_EOF: Duration = Duration::from_secs(1);

/// Maximum delay of events for a request that overtakes them.
const HELD: Duration = Duration::from_secs(1);

/// Receiver of the output of a process.
pub(super) trait Listener: Send + Sync {
    /// Waits until the receiver has room.
    fn room(&self) -> futures::future::BoxFuture<'_, ()>;
    /// Handles a frame that is not an answer. Must not block.
    fn frame(&self, process: &Arc<Process>, frame: ExtensionFrame);
    /// Handles an answer to a request that is over.
    fn late(&self, process: &Arc<Process>);
    /// Handles the end of the process; `end` is `None` if the agent requested the end.
    fn ended(&self, process: &Arc<Process>, end: Option<End>);
}

/// An unexpected end of a process.
#[derive(Debug, Clone)]
pub(super) struct End {
    /// The responsible extension: the extension of the newest request, otherwise all extensions of the
    /// process.
    pub by: String,
    pub why: String,
}

/// A process that serves one extension or several.
pub(super) struct Process {
    /// The paths of the extensions.
    paths: Mutex<Vec<String>>,
    /// True after the process reported its contents.
    introduced: AtomicBool,
    /// True if the process can load more extensions.
    loads_more: AtomicBool,
    /// The program and its arguments.
    pub words: Vec<OsString>,
    pub outbox: Outbox,
    /// Events to be sent soon.
    soon: Mutex<Vec<Item>>,
    /// True while these events wait for a request that overtakes them.
    held: AtomicBool,
    /// Notified when they no longer wait.
    released: Notify,
    pub calls: Calls,
    /// Dialogs of the extensions that may be withdrawn.
    pub withdrawn: Withdrawn,
    end: CancellationToken,
    ended: CancellationToken,
    /// Cancelled at the end of stderr.
    silent: CancellationToken,
    /// The reason for an end because of a fault.
    fault: Mutex<Option<End>>,
    /// Forwarder of its messages to the user.
    pub noise: Noise,
}

impl Process {
    /// Starts a process; `listener` receives its output until its end. `patience` limits the time without a
    /// read while too much waits for the process.
    pub async fn start(
        spawner: &dyn Spawner,
        line: &CommandLine,
        paths: Vec<String>,
        patience: Duration,
        listener: Arc<dyn Listener>,
    ) -> std::io::Result<Arc<Self>> {
        let Talking { input, output, errors, running } = spawner.talk(line).await?;
        let process = Arc::new(Self {
            paths: Mutex::new(paths),
            introduced: AtomicBool::new(false),
            loads_more: AtomicBool::new(false),
            words: std::iter::once(&line.program).chain(&line.arguments).cloned().collect(),
            outbox: Outbox::default(),
            soon: Mutex::default(),
            held: AtomicBool::new(false),
            released: Notify::new(),
            calls: Calls::default(),
            withdrawn: Withdrawn::default(),
            end: CancellationToken::new(),
            ended: CancellationToken::new(),
            silent: CancellationToken::new(),
            fault: Mutex::default(),
            noise: Noise::default(),
        });
        tokio::spawn(process.clone().write(input, patience));
        tokio::spawn(process.clone().pass_on(errors));
        tokio::spawn(process.clone().live(output, running, listener));
        Ok(process)
    }

    /// Returns the name for display.
    pub fn name(&self) -> String {
        name_of(&self.paths())
    }

    /// Returns the paths of its extensions.
    pub fn paths(&self) -> Vec<String> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds extensions to the process.
    pub fn serve(&self, more: &[String]) {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(more);
    }

    /// Returns true if the process has reported its contents.
    pub fn was_introduced(&self) -> bool {
        self.introduced.load(Ordering::Acquire)
    }

    /// Records that the process has reported its contents.
    pub fn introduce(&self) {
        self.introduced.store(true, Ordering::Release);
    }

    /// Returns true if the process can load more extensions.
    pub fn loads_more(&self) -> bool {
        self.loads_more.load(Ordering::Acquire)
    }

    /// Records the ability to load more extensions.
    pub fn set_loads_more(&self, loads_more: bool) {
        self.loads_more.store(loads_more, Ordering::Release);
    }

    /// Sends a frame after all waiting events and returns its length. An unread frame is dropped with the
    /// process.
    pub fn send(&self, frame: impl Into<HostFrame>) -> usize {
        self.tell_now();
        self.overtake(frame)
    }

    /// Sends a frame after the engine yields its thread, so that requests made before that overtake the
    /// frame.
    pub fn tell(self: &Arc<Self>, item: Item) {
        let mut soon = self.soon.lock().unwrap_or_else(PoisonError::into_inner);
        soon.push(item);
        if soon.len() > 1 {
            return;
        }
        drop(soon);
        let me = self.clone();
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(async move {
                let released = me.released.notified();
                if me.held.load(Ordering::Acquire) {
                    let _ = tokio::time::timeout(HELD, released).await;
                }
                me.tell_now();
            })),
            Err(_) => me.tell_now(),
        }
    }

    /// Delays events from now on for a request that overtakes them, even if the engine yields its thread
    /// first.
    pub fn hold(&self) {
        self.held.store(true, Ordering::Release);
    }

    /// Ends the delay: the request was sent, or will not be sent.
    pub fn release(&self) {
        if self.held.swap(false, Ordering::AcqRel) {
            self.released.notify_waiters();
        }
    }

    fn tell_now(&self) {
        let told = std::mem::take(&mut *self.soon.lock().unwrap_or_else(PoisonError::into_inner));
        for item in told {
            self.outbox.push(item);
        }
    }

    /// Sends a frame at once and returns its length.
    pub fn overtake(&self, frame: impl Into<HostFrame>) -> usize {
        self.outbox.push(Item::Frame(Box::new(frame.into())))
    }

    /// Sends a request and waits for the answer, for at most `limit`. If the future is dropped, the process
    /// is notified that the request is over.
    pub async fn ask(
        &self,
        asked: Asked,
        frame: impl FnOnce(String) -> HostFrame,
        limit: Option<Duration>,
    ) -> Result<Value, Failed> {
        self.ask_about(Arc::new(asked), frame, limit).await
    }

    /// Works as [`Process::ask`], for callers that keep the request.
    pub async fn ask_about(
        &self,
        asked: Arc<Asked>,
        frame: impl FnOnce(String) -> HostFrame,
        limit: Option<Duration>,
    ) -> Result<Value, Failed> {
        let Some((number, answer)) = self.calls.open(asked.clone()) else { return Err(Failed::Gone) };
        let waiting = Waiting { process: self, number };
        let frame = frame(number.to_string());
        let length = if asked.overtakes { self.overtake(frame) } else { self.send(frame) };
        if asked.overtakes {
            self.release();
        }
        asked.length.store(length, Ordering::Release);
        let result = tokio::select! {
            biased;
            answer = answer => answer.unwrap_or(Err(Failed::Gone)),
            limit = asked.patience(limit) => Err(Failed::TimedOut(limit)),
        };
        drop(waiting);
        result
    }

    /// Ends the process because of a fault.
    pub fn fault(&self, why: String) {
        self.fault_of(self.name(), why);
    }

    /// Ends the process because of a fault of one extension. Only the first reason applies.
    pub fn fault_of(&self, by: String, why: String) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(End { by, why });
        self.end.cancel();
    }

    /// Ends the process on request and waits for its end.
    pub async fn stop(&self) {
        self.end.cancel();
        self.ended.cancelled().await;
    }

    pub fn has_ended(&self) -> bool {
        self.end.is_cancelled() || self.ended.is_cancelled()
    }

    async fn write(self: Arc<Self>, mut input: Box<dyn AsyncWrite + Send + Unpin>, patience: Duration) {
        tokio::select! {
            biased;
            broken = self.outbox.write(&mut *input, patience) => match broken {
                // The end of the extension is detected elsewhere.
                Broken::Closed => {}
                Broken::Unread => self.fault(format!(
                    "it does not read: more than {} MiB wait for it, and nothing was read for {} ms",
                    ROOM >> 20,
                    patience.as_millis()
                )),
            },
            () = self.end.cancelled() => {}
        }
        self.outbox.close();
        let _ = input.shutdown().await;
    }

    /// Forwards stderr of the process to the agent's stderr.
    async fn pass_on(self: Arc<Self>, errors: Box<dyn AsyncRead + Send + Unpin>) {
        self.noise.pass_on(errors, || self.name(), &Everything).await;
        self.silent.cancel();
    }

    async fn live(
        self: Arc<Self>,
        output: Box<dyn AsyncRead + Send + Unpin>,
        mut running: Box<dyn Running>,
        listener: Arc<dyn Listener>,
    ) {
        let options = FramerOptions { max_line: LONGEST_OF_ALL, ..FramerOptions::default() };
        let mut frames = FrameReader::with_options(output, options);
        let asked = tokio::select! {
            biased;
            () = self.end.cancelled() => true,
            () = self.listen(&mut frames, &listener) => false,
        };
        let by = self.calls.newest_extension().unwrap_or_else(|| self.name());
        // From here on no request gets an answer.
        self.calls.close();
        let faulty = self.fault.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let exit = if faulty {
            None
        } else if asked {
            // Further output is ignored, but it must be read so that the process does not block on a full
            // pipe.
            let goodbye = async {
                let mut rest = Vec::new();
                while let Ok(1..) = frames.next_batch(&mut rest).await {
                    rest.clear();
                }
            };
            let _ = tokio::time::timeout(GRACE, goodbye).await;
            None
        } else {
            tokio::time::timeout(AFTER_EOF, running.wait()).await.ok().and_then(Result::ok)
        };
        running.end().await;
        if !asked {
            // Its last messages may be on their way; a descendant that keeps stderr open causes no further
            // delay.
            let _ = tokio::time::timeout(GRACE, self.silent.cancelled()).await;
        }
        self.end.cancel();
        self.ended.cancel();
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let end = fault.or_else(|| (!asked).then(|| End { by, why: self.obituary(exit) }));
        listener.ended(&self, end);
    }

    fn obituary(&self, exit: Option<Exit>) -> String {
        let how = match exit {
            Some(Exit::Code(code)) => format!("its process ended with code {code}"),
            Some(Exit::Signal(signal)) => {
                format!("signal {} ended its process", crate::tools::signal_name(signal))
            }
            None => "it closed its stdout".to_owned(),
        };
        match &*self.noise.last_words() {
            "" => how,
            words => format!("{how}: {words}"),
        }
    }

    /// Reads frames until the end of stdout.
    async fn listen(
        self: &Arc<Self>,
        frames: &mut FrameReader<Box<dyn AsyncRead + Send + Unpin>>,
        listener: &Arc<dyn Listener>,
    ) {
        let mut flood = Flood::default();
        let mut batch = Vec::new();
        while let Ok(1..) = frames.next_batch(&mut batch).await {
            for incoming in batch.drain(..) {
                let bytes = match &incoming {
                    Incoming::Frame(frame) => frame.as_str().len(),
                    Incoming::Fault(FramingError::TooLong { .. }) => usize::MAX,
                    Incoming::Fault(_) => LONGEST_LINE,
                };
                let longest = LONGEST_LINE + self.calls.longest();
                if bytes > longest {
                    // A line without end would never arrive, and cost as much as a flood.
                    return self
                        .fault(format!("it floods the agent: a line of more than {} MiB", longest >> 20));
                }
                if let Err(flooded) = flood.add(bytes) {
                    return self.fault(flooded.to_owned());
                }
                match incoming {
                    Incoming::Frame(frame) => self.line(frame.as_str(), listener),
                    Incoming::Fault(fault) => self.noise.complain(&self.name(), &fault.to_string()),
                }
            }
            listener.room().await;
            // A process with continuous output must not block other tasks of this thread.
            tokio::task::yield_now().await;
        }
    }

    fn line(self: &Arc<Self>, line: &str, listener: &Arc<dyn Listener>) {
        if line.is_empty() {
            return;
        }
        self.calls.heard();
        match agentese::wire::decode::<ExtensionFrame>(line) {
            Ok(ExtensionFrame::Response(response)) => {
                let answer = match response.error {
                    Some(error) => Err(Failed::Said(error)),
                    None => Ok(response.result.into_option().unwrap_or_default()),
                };
                if !self.calls.answer(&response.id, answer) {
                    tracing::debug!(id = response.id, "{}: an answer to no question is ignored", self.name());
                    listener.late(self);
                }
            }
            Ok(ExtensionFrame::ToolUpdate(progress)) => {
                if let Some(asked) = self.calls.get(&progress.id) {
                    asked.show(progress);
                }
            }
            Ok(frame) => listener.frame(self, frame),
            // Other output is for the user, not for clients.
            Err(error) => {
                let shown: String = line.chars().take(200).collect();
                self.noise.complain(&self.name(), &format!("a line that is not a frame ({error}): {shown}"));
            }
        }
    }
}

struct Waiting<'a> {
    process: &'a Process,
    number: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.process.calls.forget(self.number) {
            self.process.send(HostCancel::new(self.number.to_string()));
        }
    }
}

/// Returns the name of a process that serves these extensions.
pub(super) fn name_of(paths: &[String]) -> String {
    match paths {
        [path] => path.clone(),
        _ => "the Node host".to_owned(),
    }
}
