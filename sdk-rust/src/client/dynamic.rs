//! A client whose dialect is chosen at run time. [`RpcClient`](crate::RpcClient) and the bindings for other
//! languages are built on it.
//!
//! Nothing here is generic over the dialect. Parameters, data and events are JSON text; the tables of the
//! [`Spec`] contain the differences between dialects.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::Stream;
use futures::future::BoxFuture;

use crate::connection::{Connection, EventFrame, EventQueue, RunEnded, Settings};
use crate::dialog::{AnswerMembers, DialogError, RawDialogHandler};
use crate::error::Error;
use crate::framing::{DEFAULT_MAX_LINE, FrameText};
use crate::outcome::{RunFailure, RunOutcome};
use crate::queue::{DEFAULT_CAP, Overflow, QueueEnd};
use crate::run_limits::RunLimits;
use crate::run_tracker::EndedBy;
use crate::scan::Outline;
use crate::spec::{AnswerTiming, EventSpec, Spec, revision_names, revision_of};
use crate::tap::Tap;
use crate::termination::{Cause, Termination};
use crate::transport::{ChildOptions, ProcessGroup, Transport};

pub use super::limit::Limit;
pub use crate::bridged::BridgedProtocol;
pub use crate::connection::Watch;
pub use crate::generated::{CLIENTS, REVISIONS, SPECS};

/// Returns the tables of one revision of a dialect. `NAME` selects the first revision, `NAME@REVISION` a named
/// one, and `NAME@latest` the newest.
///
/// # Errors
/// [`Error::UnknownDialect`] or [`Error::UnknownRevision`]; both list the known names. [`Error::BridgeNeeded`] for a
/// protocol without clients.
pub fn spec(name: &str) -> Result<&'static Spec, Error> {
    let (revisions, revision) = revisions(name)?;
    Ok(revision.unwrap_or(revisions[0]))
}

/// Returns the tables for clients of the dialect `NAME`, which support all its revisions. For `NAME@REVISION` also
/// returns the tables of that revision, for [`Options::revision`].
///
/// # Errors
/// As for [`spec`].
pub fn client(name: &str) -> Result<(&'static Spec, Option<&'static Spec>), Error> {
    let (revisions, revision) = revisions(name)?;
    let client = CLIENTS.iter().copied().find(|client| client.name == revisions[0].name);
    Ok((client.unwrap_or(revisions[0]), revision))
}

/// Returns all revisions of a dialect, and also the revision that the name contains, if any.
fn revisions(name: &str) -> Result<(&'static [&'static Spec], Option<&'static Spec>), Error> {
    let (dialect, revision) =
        name.split_once('@').map_or((name, None), |(name, revision)| (name, Some(revision)));
    let Some(revisions) = REVISIONS.iter().copied().find(|revisions| revisions[0].name == dialect) else {
        let bridged = BridgedProtocol::all().iter().find(|protocol| protocol.name == dialect);
        let unknown = || Error::UnknownDialect { dialect: dialect.to_owned(), known: known() };
        return Err(bridged.map_or_else(unknown, BridgedProtocol::error));
    };
    let unknown = |revision: &str| Error::UnknownRevision {
        dialect: revisions[0].name,
        revision: revision.to_owned(),
        known: revision_names(revisions),
    };
    let revision = revision.map(|revision| revision_of(revisions, revision).ok_or_else(|| unknown(revision)));
    Ok((revisions, revision.transpose()?))
}

/// Returns the names of the dialects whose features are on, as listed in errors.
pub(crate) fn known() -> &'static str {
    static NAMES: LazyLock<String> =
        LazyLock::new(|| SPECS.iter().map(|spec| spec.name).collect::<Vec<_>>().join(", "));
    &NAMES
}

/// Handler of the agent's dialogs with raw parameters.
pub trait Dialogs: Send + Sync + 'static {
    /// Returns the answer to a question; `None` dismisses the question. The connection calls this on its own tasks, so
    /// the method must not block. The future is dropped if the agent withdraws its question or the connection ends.
    fn answer(&self, method: &str, params: &str) -> BoxFuture<'static, Option<AnswerMembers>>;
}

struct DynamicDialogHandler {
    spec: &'static Spec,
    dialogs: Arc<dyn Dialogs>,
}

impl RawDialogHandler for DynamicDialogHandler {
    fn answer(
        &self,
        method: &str,
        params: &str,
    ) -> Result<BoxFuture<'static, Option<AnswerMembers>>, DialogError> {
        if self.spec.dialog(method).is_none() {
            return Err(DialogError::Unknown);
        }
        Ok(self.dialogs.answer(method, params))
    }
}

/// Converts a handler of dialogs with raw parameters to the form that a connection uses.
pub(crate) fn raw_dialogs(spec: &'static Spec, dialogs: Arc<dyn Dialogs>) -> Arc<dyn RawDialogHandler> {
    Arc::new(DynamicDialogHandler { spec, dialogs })
}

/// Options of a new client; see [`Builder`](crate::Builder) for each of them.
#[derive(Clone)]
pub struct Options {
    /// Behavior for a subscriber that does not read.
    pub overflow: Overflow,
    /// Capacity of each event queue in bytes.
    pub queue_bytes: usize,
    /// Maximum length of a received line in bytes.
    pub max_line: usize,
    /// Time limit for the answer to every call, prompts included, in place of the limits of the commands.
    pub timeout: Option<Duration>,
    /// Tap that receives every frame, with keys redacted.
    pub tap: Option<Arc<dyn Tap>>,
    /// Handler of the agent's dialogs.
    pub dialogs: Option<Arc<dyn Dialogs>>,
    /// Function that receives every whole frame before any other processing, without redaction of keys. The
    /// connection calls it on its own tasks, so it must not block.
    pub watch: Option<Arc<Watch>>,
    /// The revision that the agent speaks; if `None`, the client detects it.
    pub revision: Option<&'static Spec>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            overflow: Overflow::default(),
            queue_bytes: DEFAULT_CAP,
            max_line: DEFAULT_MAX_LINE,
            timeout: None,
            tap: None,
            dialogs: None,
            watch: None,
            revision: None,
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("overflow", &self.overflow).finish_non_exhaustive()
    }
}

/// A client of an agent. Clones share the connection. When the last clone and the last stream are dropped, the agent is
/// shut down in the background.
#[derive(Clone)]
pub struct Client {
    spec: &'static Spec,
    connection: Arc<Connection>,
}

/// A client that does not keep the connection alive.
#[derive(Clone)]
pub struct WeakClient {
    spec: &'static Spec,
    connection: Weak<Connection>,
}

impl WeakClient {
    /// Returns the client while another clone or one of its streams exists.
    pub fn upgrade(&self) -> Option<Client> {
        Some(Client { spec: self.spec, connection: self.connection.upgrade()? })
    }
}

impl Client {
    /// Starts a program and connects to it. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// [`Error::Spawn`] if the program cannot be started.
    pub fn spawn(spec: &'static Spec, options: Options, child: ChildOptions) -> Result<Self, Error> {
        Ok(Self::connect(spec, options, Transport::from_child(child)?))
    }

    /// Connects to the agent at the other end of a transport. Must be called on a tokio runtime.
    pub fn connect(spec: &'static Spec, options: Options, transport: Transport) -> Self {
        let dialogs = options.dialogs.map(|dialogs| raw_dialogs(spec, dialogs));
        let settings = Settings {
            overflow: options.overflow,
            queue_bytes: options.queue_bytes,
            max_line: options.max_line,
            timeout: options.timeout,
            tap: options.tap,
            dialogs,
            watch: options.watch,
            revision: options.revision,
        };
        Self::start_connection(spec, settings, transport)
    }

    pub(crate) fn start_connection(spec: &'static Spec, settings: Settings, transport: Transport) -> Self {
        Client { spec, connection: Arc::new(Connection::start(spec, settings, transport)) }
    }

    /// Returns the dialect's tables.
    pub fn spec(&self) -> &'static Spec {
        self.spec
    }

    /// Returns the tables of the agent's revision: the revision in the options, or the detected one. Returns
    /// `None` before the detection. Also returns `None` if the client was created with the tables of one
    /// revision.
    pub fn revision(&self) -> Option<&'static Spec> {
        self.connection.shared.revision()
    }

    /// Returns the id of the agent's process, if this client started it.
    pub fn process_id(&self) -> Option<u32> {
        self.connection.child().map(|child| child.id())
    }

    /// Returns this process's file descriptors of the pipes to the agent's process, if this client started it;
    /// see [`ChildProcess::pipes`](crate::transport::ChildProcess::pipes).
    #[cfg(unix)]
    pub fn pipes(&self) -> Option<[std::os::fd::RawFd; 3]> {
        self.connection.child().map(|child| child.pipes())
    }

    /// Returns the process group of the agent, if this client started it. The returned value outlives the client.
    pub fn process_group(&self) -> Option<ProcessGroup> {
        self.connection.child().map(|child| child.group())
    }

    /// Returns a reference to the client that does not keep the connection alive.
    pub fn downgrade(&self) -> WeakClient {
        WeakClient { spec: self.spec, connection: Arc::downgrade(&self.connection) }
    }

    /// Returns the termination if the connection has ended.
    pub fn ended(&self) -> Option<Termination> {
        self.connection.shared.ended()
    }

    /// Returns the number of events that had no subscriber.
    pub fn dropped_events(&self) -> u64 {
        self.connection.shared.dropped_events()
    }

    /// Sends a line unchanged. Neither checks the line nor waits for an answer.
    ///
    /// # Errors
    /// [`Error::Terminated`] if the connection has ended, [`Error::Encode`] if the text is not one line.
    pub fn send_raw(&self, line: &str) -> Result<(), Error> {
        if line.contains('\n') {
            let command = line.chars().take(40).collect();
            return Err(Error::Encode { command, reason: "it contains a line feed".into() });
        }
        self.connection.shared.send_line(line.to_owned())
    }

    /// Sends a command with its members (a JSON object) and returns the data of its answer, if present.
    ///
    /// # Errors
    /// [`Error::Refused`] if the agent rejects the command, [`Error::TimedOut`] if no response arrives in
    /// time, [`Error::Terminated`] if the connection ends first. [`Error`] lists the other errors.
    pub async fn call(&self, command: &str, members: &str, limit: Limit) -> Result<Option<FrameText>, Error> {
        let limit = self.limit(command, limit);
        Ok(self.connection.shared.call(command, members, limit).await?.data)
    }

    /// Subscribes to the events of a run, and sends the command that starts it. The future resolves with the
    /// data of the answer that accepted the run. If the answer is the end of the run, the future resolves at
    /// once without data.
    ///
    /// # Errors
    /// [`Error::Terminated`] if the connection has ended; the future fails like [`Client::call`].
    pub fn start(
        &self,
        command: &str,
        members: &str,
        limit: Limit,
    ) -> Result<(EventStream, impl Future<Output = Result<Option<FrameText>, Error>> + Send + 'static), Error>
    {
        self.start_limited(command, members, limit, RunLimits::default())
    }

    /// Works like [`Client::start`], with limits for the run.
    ///
    /// # Errors
    /// [`Error::Encode`] if agents of the dialect do not report the value that a limit applies to; otherwise as
    /// [`Client::start`].
    pub fn start_limited(
        &self,
        command: &str,
        members: &str,
        limit: Limit,
        limits: RunLimits,
    ) -> Result<(EventStream, impl Future<Output = Result<Option<FrameText>, Error>> + Send + 'static), Error>
    {
        let refuse = |reason| Error::Encode { command: command.to_owned(), reason };
        let meter = match limits.is_none() {
            true => None,
            false => Some(limits.meter(self.spec.name).map_err(refuse)?),
        };
        let session = self.connection.shared.session_of(members);
        let queue = self.connection.shared.start_run(command, members, session.clone(), meter)?;
        let run = FollowedRun { token: queue.token, session: session.unwrap_or_default() };
        let stream = EventStream::new(self.clone(), queue.events, Some(run));
        let at_the_end = self.spec.command(command).is_some_and(|spec| spec.answer == AnswerTiming::Done);
        let limit = self.limit(command, limit);
        let connection = self.connection.shared.clone();
        let command = command.to_owned();
        let (token, answer) = (queue.token, queue.answer);
        let accepted = async move {
            if let Some(time) = limits.max_time {
                connection.limit_time(token, time, limits.out_of_time());
            }
            if at_the_end {
                if let Some(after) = limit {
                    connection.limit_run(token, &command, after);
                }
                return Ok(None);
            }
            let answer = match limit {
                None => answer.await,
                Some(after) => tokio::time::timeout(after, answer)
                    .await
                    .map_err(|_| connection.time_out_run(token, &command, after))?,
            };
            let closed = || Err(Error::Terminated(Termination::new(Cause::Closed)));
            Ok(answer.unwrap_or_else(|_| closed())?.data)
        };
        Ok((stream, accepted))
    }

    /// Subscribes to all events from now on.
    ///
    /// # Errors
    /// [`Error::Terminated`] if the connection has ended.
    pub fn events(&self) -> Result<EventStream, Error> {
        Ok(EventStream::new(self.clone(), self.connection.shared.subscribe()?, None))
    }

    /// Shuts the agent down and waits for its end.
    pub async fn close(&self) -> Termination {
        self.connection.close().await
    }

    /// Resolves when the connection ends. The future does not keep the connection alive.
    pub fn terminated(&self) -> impl Future<Output = Termination> + Send + 'static {
        let shared = self.connection.shared.clone();
        async move { shared.terminated().await }
    }

    fn limit(&self, command: &str, limit: Limit) -> Option<Duration> {
        match limit {
            Limit::Default => self.connection.shared.timeout(command),
            Limit::Never => None,
            Limit::After(after) => Some(after),
        }
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("dialect", &self.spec.id())
            .field("process", &self.process_id())
            .field("ended", &self.ended())
            .finish()
    }
}

/// An event as received.
#[derive(Debug, Clone)]
#[repr(transparent)]
pub struct Event(EventFrame);

impl Event {
    /// Returns the type of the event.
    pub fn kind(&self) -> &str {
        &self.0.kind
    }

    /// Returns the row of the event in the tables, if the event is declared.
    pub fn spec(&self) -> Option<&'static EventSpec> {
        self.0.kind.spec()
    }

    /// Returns the object of the event, without its envelope.
    pub fn body(&self) -> &FrameText {
        self.0.body()
    }

    /// Returns the whole line as received. Writing it out again preserves every byte.
    pub fn frame(&self) -> &FrameText {
        &self.0.frame
    }

    /// Returns the positions of the object's members. They are recorded only for long events in dialects
    /// without an envelope.
    pub fn outline(&self) -> Option<&Arc<Outline>> {
        self.0.outline.as_ref()
    }

    /// Converts the event into its object, without its envelope.
    pub fn into_body(self) -> FrameText {
        self.0.into_body()
    }
}

/// The run to which a stream belongs.
struct FollowedRun {
    /// Number of the run on the connection.
    token: u64,
    session: String,
}

/// The events of a run, or all events. Dropping the stream only ends the subscription.
///
/// As a [`Stream`], it yields the events. If the stream ends by an error, it yields this error once.
pub struct EventStream {
    client: Client,
    queue: EventQueue,
    run: Option<FollowedRun>,
    last: Option<Event>,
    outcome: Option<Result<EndedBy, Error>>,
    ended: Option<EndedRun>,
}

/// The end of a run, successful or failed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EndedRun {
    /// Evidence on which the run was considered ended.
    pub ended_by: EndedBy,
    /// `true` if it is certain that no event follows; see [`RunResult`](crate::RunResult).
    pub confirmed: bool,
    /// `true` if any client or the user aborted the run.
    pub aborted: bool,
    /// Reason why the request to the model failed, if it failed.
    pub failure: Option<RunFailure>,
}

impl From<RunEnded> for EndedRun {
    fn from(RunEnded { completion: outcome, run_outcome: verdict }: RunEnded) -> Self {
        let aborted = verdict == RunOutcome::Aborted;
        let failure = match verdict {
            RunOutcome::Failed(failure) => Some(failure),
            _ => None,
        };
        EndedRun { ended_by: outcome.ended_by, confirmed: outcome.confirmed, aborted, failure }
    }
}

impl EventStream {
    fn new(client: Client, queue: EventQueue, run: Option<FollowedRun>) -> Self {
        EventStream { client, queue, run, last: None, outcome: None, ended: None }
    }

    /// Passes the next events to `take`, which must not use the client. Stops after `most` events, or with the
    /// event that reaches `bytes` bytes. Returns the number of events. At the end, returns `None`, and
    /// [`EventStream::outcome`] returns the cause.
    pub fn poll_batch(
        &mut self,
        context: &mut Context<'_>,
        mut take: impl FnMut(Event),
        most: usize,
        bytes: usize,
    ) -> Poll<usize> {
        if self.outcome.is_some() {
            return Poll::Ready(0);
        }
        let EventStream { queue, run, last, .. } = self;
        let look = |frame: EventFrame| {
            if run.is_some() && frame.may_end() {
                *last = Some(Event(frame.clone()));
            }
            take(Event(frame));
        };
        match ready!(queue.poll_recv_batch(context, look, most, bytes)) {
            Ok(count) => Poll::Ready(count),
            Err(reason) => {
                self.end(reason);
                Poll::Ready(0)
            }
        }
    }

    /// Polls for the next event. At the end, returns `None`, and [`EventStream::outcome`] returns the cause.
    pub fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        if self.outcome.is_some() {
            return Poll::Ready(None);
        }
        Poll::Ready(match ready!(self.queue.poll_recv(context)) {
            Ok(frame) => {
                if self.run.is_some() && frame.may_end() {
                    self.last = Some(Event(frame.clone()));
                }
                Some(Event(frame))
            }
            Err(reason) => {
                self.end(reason);
                None
            }
        })
    }

    /// Returns the next event. At the end, returns `None`, and [`EventStream::outcome`] returns the cause.
    /// Dropping the future loses no event.
    pub async fn next_event(&mut self) -> Option<Event> {
        std::future::poll_fn(|context| self.poll_event(context)).await
    }

    fn end(&mut self, reason: QueueEnd<Result<RunEnded, Error>>) {
        let ended = match reason {
            QueueEnd::Closed(ended) => ended.map(EndedRun::from),
            QueueEnd::Detached { dropped } => Err(Error::Detached { dropped }),
            QueueEnd::Abandoned => Err(Error::Terminated(Termination::new(Cause::Closed))),
        };
        self.outcome = Some(match &ended {
            Ok(EndedRun { failure: Some(failure), .. }) => Err(Error::RunFailed(Box::new(failure.clone()))),
            Ok(ended) => Ok(ended.ended_by),
            Err(error) => Err(error.clone()),
        });
        self.ended = ended.ok();
    }

    /// Returns the session of the run; empty for all events, and in dialects with one session at a time.
    pub fn session(&self) -> &str {
        self.run.as_ref().map_or("", |run| &run.session)
    }

    /// Returns the outcome of the stream, after its end and after all events were read. For a failed run, the
    /// outcome is an [`Error::RunFailed`].
    pub fn outcome(&self) -> Option<&Result<EndedBy, Error>> {
        self.outcome.as_ref()
    }

    /// Returns the end of the run, successful or failed. Returns `None` until all events were read.
    ///
    /// # Errors
    /// [`Error::Refused`] if the agent rejected the prompt after it had accepted it. [`Error::Terminated`] if the
    /// connection ended first. [`Error::Detached`] if the stream was cut off.
    pub fn ended(&self) -> Option<Result<&EndedRun, &Error>> {
        match (&self.ended, &self.outcome) {
            (Some(ended), _) => Some(Ok(ended)),
            (None, Some(Err(error))) => Some(Err(error)),
            _ => None,
        }
    }

    /// Returns the last event that may be the end of the run, among the events read so far.
    pub fn last(&self) -> Option<&Event> {
        self.last.as_ref()
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        if let Some(run) = &self.run {
            self.client.connection.shared.forget_run(run.token);
        }
    }
}

impl Stream for EventStream {
    type Item = Result<Event, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let was_over = self.outcome.is_some();
        Poll::Ready(match ready!(self.poll_event(context)) {
            Some(event) => Some(Ok(event)),
            None if was_over => None,
            None => match &self.outcome {
                Some(Err(error)) => Some(Err(error.clone())),
                _ => None,
            },
        })
    }
}

impl std::fmt::Debug for EventStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventStream").field("over", &self.outcome).finish_non_exhaustive()
    }
}
