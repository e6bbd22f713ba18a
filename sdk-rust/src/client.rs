//! `RpcClient`: a typed client for an agent of one dialect.
//!
//! It adds types to [`dynamic::Client`], which does the work for all dialects and languages.

pub mod dynamic;
mod limit;
pub mod run;

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::connection::Settings;
pub use crate::core::{dialog, error, tap, termination};
use crate::dialog::{DialogHandler, TypedDialogHandler};
use crate::error::Error;
use crate::framing::{DEFAULT_MAX_LINE, FrameText};
use crate::queue::{DEFAULT_CAP, Overflow};
use crate::run_limits::RunLimits;
use crate::spec::{Dialect, Spec, revision_names, revision_of};
use crate::tap::Tap;
use crate::termination::Termination;
use crate::transport::{ChildOptions, Transport};
use crate::wire::Record;
pub use limit::Limit;
pub use run::{Events, RawEvent, Run, RunResult};

/// A client of an agent that speaks the dialect `D`.
///
/// Every command has its own method; a command that the dialect lacks does not compile.
/// Clones share the connection and may be used from any number of tasks: lines never interleave.
/// When the last clone and the last run are dropped, the agent is shut down in the background; use
/// [`RpcClient::close`] to wait for it.
///
/// ```no_run
/// # async fn example() -> Result<(), agentese::Error> {
/// use agentese::pi::{self, Event};
///
/// let client = pi::Client::spawn(["pi", "--mode", "rpc", "--no-session"])?;
/// let mut run = client.prompt("What is in this directory?").await?;
/// while let Some(event) = run.next().await {
///     if let Event::MessageEnd(end) = event? {
///         println!("{:?}", end.message);
///     }
/// }
/// client.close().await;
/// # Ok(())
/// # }
/// ```
pub struct RpcClient<D: Dialect> {
    inner: dynamic::Client,
    builder: Builder<D>,
    limit: Limit,
    limits: RunLimits,
    spawn_options: Option<Arc<ChildOptions>>,
}

impl<D: Dialect> Clone for RpcClient<D> {
    fn clone(&self) -> Self {
        RpcClient {
            inner: self.inner.clone(),
            builder: self.builder.clone(),
            limit: self.limit,
            limits: self.limits,
            spawn_options: self.spawn_options.clone(),
        }
    }
}

impl<D: Dialect> std::fmt::Debug for RpcClient<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RpcClient")
            .field("dialect", &D::CLIENT.id())
            .field("process", &self.inner.process_id())
            .field("ended", &self.inner.ended())
            .finish()
    }
}

/// Options and handlers of a new client.
pub struct Builder<D: Dialect> {
    settings: Settings,
    dialect: PhantomData<fn() -> D>,
}

impl<D: Dialect> Clone for Builder<D> {
    fn clone(&self) -> Self {
        Builder { settings: self.settings.clone(), dialect: PhantomData }
    }
}

impl<D: Dialect> std::fmt::Debug for Builder<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder").field("dialect", &D::CLIENT.id()).finish_non_exhaustive()
    }
}

impl<D: Dialect> Default for Builder<D> {
    fn default() -> Self {
        Builder {
            settings: Settings {
                overflow: Overflow::default(),
                queue_bytes: DEFAULT_CAP,
                max_line: DEFAULT_MAX_LINE,
                timeout: None,
                tap: None,
                dialogs: None,
                watch: None,
                revision: None,
            },
            dialect: PhantomData,
        }
    }
}

impl<D: Dialect> Builder<D> {
    /// Sets the revision of the dialect that the agent speaks: `REVISION`, `NAME@REVISION` or `latest`. By default the
    /// client detects the revision from the agent's frames.
    ///
    /// # Errors
    /// Fails if the dialect has no such revision. The error lists the known revisions.
    pub fn revision(mut self, revision: &str) -> Result<Self, Error> {
        self.settings.revision = Some(revision_of(D::REVISIONS, revision).ok_or_else(|| {
            let (dialect, known) = (D::SPEC.name, revision_names(D::REVISIONS));
            Error::UnknownRevision { dialect, revision: revision.to_owned(), known }
        })?);
        Ok(self)
    }

    /// Sets the policy for a subscriber that does not read its events. By default, the connection stops reading
    /// from the agent. Alternatively, message updates are merged, or the subscriber is cut off.
    ///
    /// Merging keeps the newest of the queued updates. Read the message in that update, not its deltas: the deltas of
    /// the dropped updates are lost.
    pub fn overflow(mut self, overflow: Overflow) -> Self {
        self.settings.overflow = overflow;
        self
    }

    /// Sets the capacity of each event queue in bytes; 64 MiB by default.
    pub fn queue_bytes(mut self, bytes: usize) -> Self {
        self.settings.queue_bytes = bytes;
        self
    }

    /// Sets the maximum length of a received line in bytes; 64 MiB by default. A longer line is skipped and reported to
    /// the tap.
    pub fn max_line(mut self, bytes: usize) -> Self {
        self.settings.max_line = bytes;
        self
    }

    /// Sets the time limit for the answer to every call, in place of the limits of the commands. It also
    /// applies to commands without a declared limit, such as prompts. The run that follows the answer has no
    /// limit. [`RpcClient::with_timeout`] and [`RpcClient::without_timeout`] change the limit for single calls.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = Some(timeout);
        self
    }

    /// Sets the tap, which receives every frame with keys redacted.
    pub fn tap(mut self, tap: impl Tap) -> Self {
        self.settings.tap = Some(Arc::new(tap));
        self
    }

    /// Sets the handler of the agent's dialogs. Without a handler the declared policy dismisses them, and the tap
    /// receives a report.
    pub fn dialogs(mut self, handler: impl DialogHandler<D>) -> Self {
        let handler: Arc<dyn DialogHandler<D>> = Arc::new(handler);
        self.settings.dialogs = Some(Arc::new(TypedDialogHandler(handler)));
        self
    }

    /// Starts a program and connects to it.
    ///
    /// # Errors
    /// [`Error::Spawn`] if the program cannot be started.
    pub fn spawn(self, options: ChildOptions) -> Result<RpcClient<D>, Error> {
        let transport = Transport::from_child(options.clone())?;
        let mut client = self.connect(transport);
        client.spawn_options = Some(Arc::new(options));
        Ok(client)
    }

    /// Connects to the agent at the other end of a transport.
    pub fn connect(self, transport: Transport) -> RpcClient<D> {
        let inner = dynamic::Client::start_connection(D::CLIENT, self.settings.clone(), transport);
        RpcClient {
            inner,
            builder: self,
            limit: Limit::Default,
            limits: RunLimits::default(),
            spawn_options: None,
        }
    }
}

impl<D: Dialect> RpcClient<D> {
    /// Returns a builder with the defaults.
    pub fn builder() -> Builder<D> {
        Builder::default()
    }

    /// Starts a program with its arguments and connects to it. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// [`Error::Spawn`] if the program cannot be started or the command is empty.
    pub fn spawn<I, S>(command: I) -> Result<Self, Error>
    where
        I: IntoIterator<Item = S>,
        S: Into<std::ffi::OsString>,
    {
        let mut parts = command.into_iter().map(Into::into);
        let program = parts.next().unwrap_or_default();
        Self::builder().spawn(ChildOptions::new(program).args(parts))
    }

    /// Connects to the agent at the other end of a transport. Must be called on a tokio runtime.
    pub fn connect(transport: Transport) -> Self {
        Self::builder().connect(transport)
    }

    /// Adds types to an existing client of this dialect; both share the connection.
    pub(crate) fn from_dynamic(inner: dynamic::Client) -> Self {
        RpcClient {
            inner,
            builder: Builder::default(),
            limit: Limit::Default,
            limits: RunLimits::default(),
            spawn_options: None,
        }
    }

    /// Returns the tables of the dialect, with the rows of all its revisions.
    pub fn spec(&self) -> &'static Spec {
        D::CLIENT
    }

    /// Returns the tables of the agent's revision: the revision set with [`Builder::revision`], or the detected
    /// one. Returns `None` before the detection, and if the dialect has only one revision.
    ///
    /// A call of a command that this revision lacks fails at once with [`Error::NotInRevision`].
    pub fn revision(&self) -> Option<&'static Spec> {
        self.inner.revision()
    }

    /// Returns the same client with another time limit for every call. It also applies to calls without a
    /// default limit, such as `prompt`.
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        RpcClient { limit: Limit::After(timeout), ..self.clone() }
    }

    /// Returns the same client with no time limit for any call.
    pub fn without_timeout(&self) -> Self {
        RpcClient { limit: Limit::Never, ..self.clone() }
    }

    /// Returns the same client with limits for its runs. At a limit the client sends the declared command that stops
    /// the agent. The run then fails with [`Error::RunFailed`], whose code is the name of the limit, as `max_turns`.
    ///
    /// A prompt fails with [`Error::Encode`] if agents of the dialect do not report the value that a limit
    /// applies to.
    pub fn with_limits(&self, limits: RunLimits) -> Self {
        RpcClient { limits, ..self.clone() }
    }

    /// Returns the untyped client, which sends any command by its name and returns answers and events as text.
    /// It shares the connection.
    pub fn as_dynamic(&self) -> &dynamic::Client {
        &self.inner
    }

    /// Returns the id of the agent's process, if this client started it.
    pub fn process_id(&self) -> Option<u32> {
        self.inner.process_id()
    }

    /// Returns the number of events that had no subscriber.
    pub fn dropped_events(&self) -> u64 {
        self.inner.dropped_events()
    }

    /// Sends a line unchanged. Neither checks the line nor waits for an answer.
    ///
    /// # Errors
    /// [`Error::Terminated`] if the connection has ended, [`Error::Encode`] if the text is not one line.
    pub fn send_raw(&self, line: &str) -> Result<(), Error> {
        self.inner.send_raw(line)
    }

    /// Sends any command, declared or not, and returns the data of its answer, or null if the answer has no
    /// data.
    ///
    /// # Errors
    /// As for [`dynamic::Client::call`].
    pub async fn request(&self, command: &str, members: &Map<String, Value>) -> Result<Value, Error> {
        let members = Value::Object(members.clone()).to_string();
        decode(command, self.inner.call(command, &members, self.limit).await?)
    }

    /// Waits until the connection ends, and returns the termination with which all open calls failed.
    pub async fn terminated(&self) -> Termination {
        self.inner.terminated().await
    }

    /// Shuts the agent down and waits for its end: closes stdin, then sends TERM and at last KILL to its process group.
    /// Pending calls fail with the returned termination.
    pub async fn close(&self) -> Termination {
        self.inner.close().await
    }

    /// Starts the program of this client again, without any state of the old connection.
    ///
    /// # Errors
    /// [`Error::NotSpawned`] if this client did not start a program, [`Error::Spawn`] if the program cannot be started.
    pub fn respawn(&self) -> Result<Self, Error> {
        let options = self.spawn_options.as_ref().ok_or(Error::NotSpawned)?;
        self.builder.clone().spawn(ChildOptions::clone(options))
    }

    pub(crate) async fn call<P: Record + serde::Serialize, R: DeserializeOwned>(
        &self,
        command: &'static str,
        params: &P,
    ) -> Result<R, Error> {
        let members = encode(command, params)?;
        decode(command, self.inner.call(command, &members, self.limit).await?)
    }

    pub(crate) async fn call_empty<P: Record + serde::Serialize>(
        &self,
        command: &'static str,
        params: &P,
    ) -> Result<(), Error> {
        let members = encode(command, params)?;
        self.inner.call(command, &members, self.limit).await.map(drop)
    }
}

fn encode<P: serde::Serialize>(command: &str, params: &P) -> Result<String, Error> {
    serde_json::to_string(params)
        .map_err(|error| Error::Encode { command: command.to_owned(), reason: error.to_string() })
}

fn decode<R: DeserializeOwned>(command: &str, data: Option<FrameText>) -> Result<R, Error> {
    let data = data.unwrap_or_else(|| "null".into());
    crate::wire::decode(data.as_str()).map_err(|error| Error::Decode {
        what: format!("the answer to `{command}`"),
        reason: error.to_string(),
        frame: data.clone(),
    })
}
