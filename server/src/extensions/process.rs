//! One extension process: what goes in and out of it, from its start to its end.

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
use super::start::name_of;
use super::withdrawn::Withdrawn;
use crate::tools::{CommandLine, Everything, Exit, Noise, Running, Spawner, Talking};

/// The longest line of an extension: an image or two, and what it was asked about.
const LONGEST_LINE: usize = 16 << 20;
/// The longest one in any case: a whole conversation.
const LONGEST_OF_ALL: usize = 64 << 20;
/// How long a process may go on after the end of its stdin.
const GRACE: Duration = Duration::from_millis(500);
/// How long the end of a process is waited for whose stdout has ended.
const AFTER_EOF: Duration = Duration::from_secs(1);

/// How long what it is told waits for a question that overtakes it.
const HELD: Duration = Duration::from_secs(1);

/// Hears what a process says.
pub(super) trait Listener: Send + Sync {
    /// Waits until more is wanted.
    fn room(&self) -> futures::future::BoxFuture<'_, ()>;
    /// A frame came that is no answer. Must not block.
    fn frame(&self, process: &Arc<Process>, frame: ExtensionFrame);
    /// An answer came that nobody waits for any more.
    fn late(&self, process: &Arc<Process>);
    /// The process has ended; none where it was asked to.
    fn ended(&self, process: &Arc<Process>, end: Option<End>);
}

/// The end of a process that nobody asked for.
#[derive(Debug, Clone)]
pub(super) struct End {
    /// Who is to blame: the extension that it was working for, else all that it served.
    pub by: String,
    pub why: String,
}

/// A process that serves one extension or several.
pub(super) struct Process {
    /// The extensions, as the agent names them.
    paths: Mutex<Vec<String>>,
    /// It has said what it brings.
    introduced: AtomicBool,
    /// It can load more extensions.
    loads_more: AtomicBool,
    /// The program and its arguments.
    pub words: Vec<OsString>,
    pub outbox: Outbox,
    /// What it is told soon.
    soon: Mutex<Vec<Item>>,
    /// That waits for a question which overtakes it.
    held: AtomicBool,
    /// It waits no more.
    released: Notify,
    pub calls: Calls,
    /// Its questions.
    pub withdrawn: Withdrawn,
    end: CancellationToken,
    ended: CancellationToken,
    /// Its stderr has ended.
    silent: CancellationToken,
    /// Why it was ended, where that was not asked for.
    fault: Mutex<Option<End>>,
    /// What it says for people.
    pub noise: Noise,
}

impl Process {
    /// Starts one; it is listened to until it ends. Where too much waits for it, it may read nothing for so long as
    /// `patience` says.
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

    /// The name for people.
    pub fn name(&self) -> String {
        name_of(&self.paths())
    }

    /// The extensions that it serves, as the agent names them.
    pub fn paths(&self) -> Vec<String> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// It serves these, too.
    pub fn serve(&self, more: &[String]) {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(more);
    }

    /// Whether it has ever said what it brings.
    pub fn was_introduced(&self) -> bool {
        self.introduced.load(Ordering::Acquire)
    }

    /// It has said what it brings.
    pub fn introduce(&self) {
        self.introduced.store(true, Ordering::Release);
    }

    /// Whether it can load more extensions.
    pub fn loads_more(&self) -> bool {
        self.loads_more.load(Ordering::Acquire)
    }

    /// It has said whether it can.
    pub fn set_loads_more(&self, loads_more: bool) {
        self.loads_more.store(loads_more, Ordering::Release);
    }

    /// Sends a frame, behind all that it is told; gives its length. One that nobody reads is dropped with the process.
    pub fn send(&self, frame: impl Into<HostFrame>) -> usize {
        self.tell_now();
        self.overtake(frame)
    }

    /// Sends a frame once the engine lets go of its thread: what it asks before that comes first.
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

    /// A question comes that overtakes what it is told from now on, though the engine may let go of its thread before.
    pub fn hold(&self) {
        self.held.store(true, Ordering::Release);
    }

    /// That question is asked, or does not come.
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

    /// Sends a frame at once; gives its length.
    pub fn overtake(&self, frame: impl Into<HostFrame>) -> usize {
        self.outbox.push(Item::Frame(Box::new(frame.into())))
    }

    /// Asks, and waits for the answer at most as long as `limit` says. Where this is dropped, the process
    /// hears that nobody waits any more.
    pub async fn ask(
        &self,
        asked: Asked,
        frame: impl FnOnce(String) -> HostFrame,
        limit: Option<Duration>,
    ) -> Result<Value, Failed> {
        self.ask_about(Arc::new(asked), frame, limit).await
    }

    /// As [`Process::ask`], for those who keep the question.
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

    /// Ends it because of what it did.
    pub fn fault(&self, why: String) {
        self.fault_of(self.name(), why);
    }

    /// Ends it because of what one of its extensions did. Only the first reason counts.
    pub fn fault_of(&self, by: String, why: String) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(End { by, why });
        self.end.cancel();
    }

    /// Ends it in good order.
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
                // An extension that is gone does not read; its end is noticed elsewhere.
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

    /// What it writes to stderr goes to the agent's.
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
        // From here on nobody gets an answer.
        self.calls.close();
        let faulty = self.fault.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let exit = if faulty {
            None
        } else if asked {
            // What it still says is not heard, but it shall not hang on a full pipe.
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
            // Its last words may be on their way; who has fled with its stderr keeps nobody.
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

    /// Until the end of its stdout.
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
                    // An endless line would never end, and cost as much as a flood.
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
            // One that never stops talking would keep everybody else on this thread from working.
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
            // Whatever it prints: people want to see it, clients do not.
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
