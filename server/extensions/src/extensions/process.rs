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

use super::calls::{CallError, Calls, PendingCall};
use super::cancelled_dialogs::CancelledDialogs;
use super::outbox::{MAX_WAITING_BYTES, Outbox, OutboxItem, WriteError};
use super::rate_limiter::RateLimiter;
use crate::tools::{CommandLine, Exit, NoFilter, PipedProcess, ProcessHandle, Spawner, StderrForwarder};

/// Maximum length of a line of an extension, in bytes: one or two images. The length of the longest open request is
/// added.
const LONGEST_LINE: usize = 16 << 20;
/// Maximum length of any line, in bytes: a whole conversation.
const ABSOLUTE_LONGEST_LINE: usize = 64 << 20;
/// Time limit for a process to end after its stdin was closed.
const GRACE: Duration = Duration::from_millis(500);
/// Time to wait for the end of a process that has closed its stdout.
const AFTER_EOF: Duration = Duration::from_secs(1);

/// Maximum time for which notifications are delayed, so that a request can be sent before them.
const MAX_HOLD: Duration = Duration::from_secs(1);

/// Receiver of the output of a process.
pub(super) trait ProcessListener: Send + Sync {
    /// Waits until the listener can handle further output.
    fn wait_for_capacity(&self) -> futures::future::BoxFuture<'_, ()>;
    /// Handles a frame that is not an answer. Must not block.
    fn frame(&self, process: &Arc<Process>, frame: ExtensionFrame);
    /// Handles an answer that arrives after its request has ended.
    fn late_answer(&self, process: &Arc<Process>);
    /// Handles the end of the process; `end` is `None` if the agent requested the end.
    fn ended(&self, process: &Arc<Process>, end: Option<ProcessEnd>);
}

/// An unexpected end of a process.
#[derive(Debug, Clone)]
pub(super) struct ProcessEnd {
    /// The extension that is responsible: the extension of the newest request, else all extensions of the process.
    pub extension: String,
    pub reason: String,
}

/// A process that runs one extension or several.
pub(super) struct Process {
    /// The paths of the extensions.
    paths: Mutex<Vec<String>>,
    /// True after the process has reported its contents.
    introduced: AtomicBool,
    /// True if the process can load further extensions.
    loads_more: AtomicBool,
    /// The program and its arguments.
    pub command_line: Vec<OsString>,
    pub outbox: Outbox,
    /// Notifications that are sent after the engine has yielded its thread.
    deferred: Mutex<Vec<OutboxItem>>,
    /// True while these notifications are delayed for a request that must be sent before them.
    held: AtomicBool,
    /// Notified when the notifications are no longer delayed.
    released: Notify,
    pub calls: Calls,
    /// Open and withdrawn dialogs of the extensions.
    pub cancelled_dialogs: CancelledDialogs,
    end: CancellationToken,
    ended: CancellationToken,
    /// Cancelled when the stderr of the process has ended.
    stderr_ended: CancellationToken,
    /// The reason if the process was ended because of a fault.
    failure: Mutex<Option<ProcessEnd>>,
    /// Forwards the process's stderr to the user.
    pub stderr: StderrForwarder,
}

impl Process {
    /// Starts a process. `listener` receives its output until its end. If the process reads nothing for `read_timeout`
    /// while too much is waiting, it is ended.
    pub async fn start(
        spawner: &dyn Spawner,
        line: &CommandLine,
        paths: Vec<String>,
        read_timeout: Duration,
        listener: Arc<dyn ProcessListener>,
    ) -> std::io::Result<Arc<Self>> {
        let PipedProcess { input, output, errors, process: running } = spawner.spawn_piped(line).await?;
        let process = Arc::new(Self {
            paths: Mutex::new(paths),
            introduced: AtomicBool::new(false),
            loads_more: AtomicBool::new(false),
            command_line: std::iter::once(&line.program).chain(&line.arguments).cloned().collect(),
            outbox: Outbox::default(),
            deferred: Mutex::default(),
            held: AtomicBool::new(false),
            released: Notify::new(),
            calls: Calls::default(),
            cancelled_dialogs: CancelledDialogs::default(),
            end: CancellationToken::new(),
            ended: CancellationToken::new(),
            stderr_ended: CancellationToken::new(),
            failure: Mutex::default(),
            stderr: StderrForwarder::default(),
        });
        tokio::spawn(process.clone().write(input, read_timeout));
        tokio::spawn(process.clone().forward_stderr(errors));
        tokio::spawn(process.clone().run(output, running, listener));
        Ok(process)
    }

    /// Returns the name of the process for display.
    pub fn name(&self) -> String {
        display_name(&self.paths())
    }

    /// Returns the paths of its extensions.
    pub fn paths(&self) -> Vec<String> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds extensions to the process.
    pub fn add_extensions(&self, more: &[String]) {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(more);
    }

    /// Returns true if the process has reported its contents.
    pub fn was_introduced(&self) -> bool {
        self.introduced.load(Ordering::Acquire)
    }

    /// Records that the process has reported its contents.
    pub fn set_introduced(&self) {
        self.introduced.store(true, Ordering::Release);
    }

    /// Returns true if the process can load further extensions.
    pub fn loads_more(&self) -> bool {
        self.loads_more.load(Ordering::Acquire)
    }

    /// Records if the process can load further extensions.
    pub fn set_loads_more(&self, loads_more: bool) {
        self.loads_more.store(loads_more, Ordering::Release);
    }

    /// Sends a frame after all delayed notifications, and returns its length. If the process ends first, the frame is
    /// dropped.
    pub fn send(&self, frame: impl Into<HostFrame>) -> usize {
        self.flush_deferred();
        self.send_now(frame)
    }

    /// Sends an item after the engine has yielded its thread. A request that the engine makes before then is sent
    /// first.
    pub fn send_deferred(self: &Arc<Self>, item: OutboxItem) {
        let mut soon = self.deferred.lock().unwrap_or_else(PoisonError::into_inner);
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
                    let _ = tokio::time::timeout(MAX_HOLD, released).await;
                }
                me.flush_deferred();
            })),
            Err(_) => me.flush_deferred(),
        }
    }

    /// Delays notifications until [`Self::release`], because a request must be sent before them. The engine may yield
    /// its thread meanwhile.
    pub fn hold(&self) {
        self.held.store(true, Ordering::Release);
    }

    /// Ends the delay: the request was sent, or will not be sent.
    pub fn release(&self) {
        if self.held.swap(false, Ordering::AcqRel) {
            self.released.notify_waiters();
        }
    }

    fn flush_deferred(&self) {
        let deferred = std::mem::take(&mut *self.deferred.lock().unwrap_or_else(PoisonError::into_inner));
        for item in deferred {
            self.outbox.push(item);
        }
    }

    /// Sends a frame before delayed notifications, and returns its length.
    pub fn send_now(&self, frame: impl Into<HostFrame>) -> usize {
        self.outbox.push(OutboxItem::Frame(Box::new(frame.into())))
    }

    /// Sends a request, and waits for the answer for at most `limit`. If the future is dropped, the process is notified
    /// that the request has ended.
    pub async fn request(
        &self,
        call: PendingCall,
        frame: impl FnOnce(String) -> HostFrame,
        limit: Option<Duration>,
    ) -> Result<Value, CallError> {
        self.request_shared(Arc::new(call), frame, limit).await
    }

    /// Does the same as [`Process::request`], for callers that share the request.
    pub async fn request_shared(
        &self,
        call: Arc<PendingCall>,
        frame: impl FnOnce(String) -> HostFrame,
        limit: Option<Duration>,
    ) -> Result<Value, CallError> {
        let Some((number, answer)) = self.calls.open(call.clone()) else {
            return Err(CallError::Disconnected);
        };
        let waiting = PendingCallGuard { process: self, number };
        let frame = frame(number.to_string());
        let length = if call.overtakes { self.send_now(frame) } else { self.send(frame) };
        if call.overtakes {
            self.release();
        }
        call.length.store(length, Ordering::Release);
        let result = tokio::select! {
            biased;
            answer = answer => answer.unwrap_or(Err(CallError::Disconnected)),
            limit = call.wait_time_limit(limit) => Err(CallError::TimedOut(limit)),
        };
        drop(waiting);
        result
    }

    /// Ends the process because of a fault.
    pub fn fail(&self, why: String) {
        self.fail_by(self.name(), why);
    }

    /// Ends the process because of a fault of one extension. Only the first call sets the reason.
    pub fn fail_by(&self, by: String, why: String) {
        self.failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(ProcessEnd { extension: by, reason: why });
        self.end.cancel();
    }

    /// Ends the process at the agent's request, and waits for its end.
    pub async fn stop(&self) {
        self.end.cancel();
        self.ended.cancelled().await;
    }

    pub fn has_ended(&self) -> bool {
        self.end.is_cancelled() || self.ended.is_cancelled()
    }

    async fn write(self: Arc<Self>, mut input: Box<dyn AsyncWrite + Send + Unpin>, read_timeout: Duration) {
        tokio::select! {
            biased;
            broken = self.outbox.write(&mut *input, read_timeout) => match broken {
                // The end of the extension is detected elsewhere.
                WriteError::Closed => {}
                WriteError::Unread => self.fail(format!(
                    "it does not read its stdin: more than {} MiB are queued, and it read nothing for {} ms",
                    MAX_WAITING_BYTES >> 20,
                    read_timeout.as_millis()
                )),
            },
            () = self.end.cancelled() => {}
        }
        self.outbox.close();
        let _ = input.shutdown().await;
    }

    /// Forwards stderr of the process to the agent's stderr.
    async fn forward_stderr(self: Arc<Self>, errors: Box<dyn AsyncRead + Send + Unpin>) {
        self.stderr.forward(errors, || self.name(), &NoFilter).await;
        self.stderr_ended.cancel();
    }

    async fn run(
        self: Arc<Self>,
        output: Box<dyn AsyncRead + Send + Unpin>,
        mut running: Box<dyn ProcessHandle>,
        listener: Arc<dyn ProcessListener>,
    ) {
        let options = FramerOptions { max_line: ABSOLUTE_LONGEST_LINE, ..FramerOptions::default() };
        let mut frames = FrameReader::with_options(output, options);
        let is_requested = tokio::select! {
            biased;
            () = self.end.cancelled() => true,
            () = self.read_frames(&mut frames, &listener) => false,
        };
        let by = self.calls.newest_extension().unwrap_or_else(|| self.name());
        // From here on no request gets an answer.
        self.calls.close();
        let faulty = self.failure.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let exit = if faulty {
            None
        } else if is_requested {
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
        if !is_requested {
            // Its last messages may be on their way; a descendant that keeps stderr open causes no further
            // delay.
            let _ = tokio::time::timeout(GRACE, self.stderr_ended.cancelled()).await;
        }
        self.end.cancel();
        self.ended.cancel();
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let end = failure.or_else(|| {
            (!is_requested).then(|| ProcessEnd { extension: by, reason: self.exit_reason(exit) })
        });
        listener.ended(&self, end);
    }

    fn exit_reason(&self, exit: Option<Exit>) -> String {
        let how = match exit {
            Some(Exit::Code(code)) => format!("its process ended with code {code}"),
            Some(Exit::Signal(signal)) => {
                format!("signal {} ended its process", crate::tools::signal_name(signal))
            }
            None => "it closed its stdout".to_owned(),
        };
        match &*self.stderr.last_line() {
            "" => how,
            words => format!("{how}: {words}"),
        }
    }

    /// Reads frames until the end of stdout.
    async fn read_frames(
        self: &Arc<Self>,
        frames: &mut FrameReader<Box<dyn AsyncRead + Send + Unpin>>,
        listener: &Arc<dyn ProcessListener>,
    ) {
        let mut limiter = RateLimiter::default();
        let mut batch = Vec::new();
        while let Ok(1..) = frames.next_batch(&mut batch).await {
            for incoming in batch.drain(..) {
                let bytes = match &incoming {
                    Incoming::Frame(frame) => frame.as_str().len(),
                    Incoming::Fault(FramingError::TooLong { .. }) => usize::MAX,
                    Incoming::Fault(_) => LONGEST_LINE,
                };
                let longest = LONGEST_LINE + self.calls.longest_request();
                if bytes > longest {
                    // A line without end would never arrive, and cost as much as a flood.
                    return self.fail(format!("it sent a line of more than {} MiB", longest >> 20));
                }
                if let Err(flooded) = limiter.add(bytes) {
                    return self.fail(flooded.to_owned());
                }
                match incoming {
                    Incoming::Frame(frame) => self.handle_line(frame.as_str(), listener),
                    Incoming::Fault(fault) => self.stderr.warn(&self.name(), &fault.to_string()),
                }
            }
            listener.wait_for_capacity().await;
            // A process with continuous output must not block other tasks of this thread.
            tokio::task::yield_now().await;
        }
    }

    fn handle_line(self: &Arc<Self>, line: &str, listener: &Arc<dyn ProcessListener>) {
        if line.is_empty() {
            return;
        }
        self.calls.record_output();
        match agentese::wire::decode::<ExtensionFrame>(line) {
            Ok(ExtensionFrame::Response(response)) => {
                let answer = match response.error {
                    Some(error) => Err(CallError::Extension(error)),
                    None => Ok(response.result.into_option().unwrap_or_default()),
                };
                if !self.calls.answer(&response.id, answer) {
                    tracing::debug!(id = response.id, "{}: an unexpected answer is ignored", self.name());
                    listener.late_answer(self);
                }
            }
            Ok(ExtensionFrame::ToolUpdate(progress)) => {
                if let Some(call) = self.calls.get(&progress.id) {
                    call.report_progress(progress);
                }
            }
            Ok(frame) => listener.frame(self, frame),
            // Other output is for the user, not for clients.
            Err(error) => {
                let shown: String = line.chars().take(200).collect();
                self.stderr.warn(&self.name(), &format!("a line that is not a frame ({error}): {shown}"));
            }
        }
    }
}

struct PendingCallGuard<'a> {
    process: &'a Process,
    number: u64,
}

impl Drop for PendingCallGuard<'_> {
    fn drop(&mut self) {
        if self.process.calls.forget(self.number) {
            self.process.send(HostCancel::new(self.number.to_string()));
        }
    }
}

/// Returns the name of a process that serves these extensions.
pub(super) fn display_name(paths: &[String]) -> String {
    match paths {
        [path] => path.clone(),
        _ => "the Node host".to_owned(),
    }
}
