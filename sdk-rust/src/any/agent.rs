//! An agent of any dialect.

use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::question::{QuestionAdapter, QuestionHandler};
use super::table::{CommandMapping, IntentTable, intent_spec, table_of};
use super::tracker::ConversationTracker;
use super::{convert, detect};
use crate::client::{Limit, RpcClient};
use crate::connection::Settings;
use crate::dynamic;
use crate::error::Error;
use crate::framing::FrameText;
use crate::generated::intents::Intent;
use crate::run_limits::RunLimits;
use crate::spec::{Dialect, RunRole, Spec};
use crate::tap::Tap;
use crate::termination::Termination;
use crate::transport::{ChildOptions, Transport};
use crate::view::{Conversation, View};

/// Connection options of an [`Agent`].
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// The dialect, as `NAME` or `NAME@REVISION`. Without a name the client detects the dialect.
    pub dialect: Option<String>,
    /// Handler for the agent's questions. Without a handler the declared policy dismisses them.
    pub on_question: Option<Arc<dyn QuestionHandler>>,
    /// Time limit for every call. It replaces the limits that the commands declare.
    pub timeout: Option<Duration>,
    /// Tap that receives every frame, with keys redacted.
    pub tap: Option<Arc<dyn Tap>>,
    /// Time limit for the first response of the agent during detection of its dialect; 20 seconds by default.
    pub detect_within: Option<Duration>,
}

impl Options {
    /// Returns the default options: the client detects the dialect.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the dialect: `NAME` or `NAME@REVISION`.
    #[must_use]
    pub fn dialect(mut self, name: impl Into<String>) -> Self {
        self.dialect = Some(name.into());
        self
    }

    /// Sets the handler that answers the agent's questions.
    #[must_use]
    pub fn on_question(mut self, handler: impl QuestionHandler) -> Self {
        self.on_question = Some(Arc::new(handler));
        self
    }

    /// Sets the time limit for every call, in place of the declared limits. It also applies to commands without
    /// a declared limit, such as prompts. It ends with the response: the run that a prompt starts has no limit.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the tap, which receives every frame with keys redacted.
    #[must_use]
    pub fn tap(mut self, tap: impl Tap) -> Self {
        self.tap = Some(Arc::new(tap));
        self
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("dialect", &self.dialect).finish_non_exhaustive()
    }
}

/// An agent of any dialect. Clones share the connection. When all clones and all their streams are dropped, the
/// agent shuts down in the background.
#[derive(Clone)]
pub struct Agent {
    pub(super) shared: Arc<Shared>,
    pub(super) limits: RunLimits,
}

/// State that the clones of an [`Agent`] share.
pub(super) struct Shared {
    pub(super) client: dynamic::Client,
    pub(super) table: &'static IntentTable,
    pub(super) tracker: Arc<ConversationTracker>,
    /// Lock held while the first session is opened, for dialects with several sessions per connection.
    opening_lock: tokio::sync::Mutex<()>,
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("client", &self.shared.client).finish_non_exhaustive()
    }
}

impl Agent {
    /// Starts a program with its arguments and detects its dialect. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// [`Error::Spawn`] if the program cannot be started, [`Error::NotRecognised`] if the program speaks no
    /// known dialect.
    pub async fn connect<I, S>(command: I) -> Result<Self, Error>
    where
        I: IntoIterator<Item = S>,
        S: Into<std::ffi::OsString>,
    {
        let mut parts = command.into_iter().map(Into::into);
        let program = parts.next().unwrap_or_default();
        Self::spawn(ChildOptions::new(program).args(parts), Options::new()).await
    }

    /// Starts a program.
    ///
    /// # Errors
    /// As [`Agent::from_transport`], and [`Error::Spawn`] if the program cannot be started.
    pub async fn spawn(child: ChildOptions, options: Options) -> Result<Self, Error> {
        Self::from_transport(Transport::from_child(child)?, options).await
    }

    /// Connects to the agent at the other end of a transport. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// [`Error::UnknownDialect`] and [`Error::UnknownRevision`] if the options name an unknown dialect or
    /// revision. [`Error::NotRecognised`] if the options name no dialect and no received frame belongs to a
    /// known dialect.
    pub async fn from_transport(transport: Transport, options: Options) -> Result<Self, Error> {
        let (spec, revision, transport) = match &options.dialect {
            Some(name) => {
                let (spec, revision) = dynamic::client(name)?;
                (spec, revision, transport)
            }
            None => {
                let within = options.detect_within.unwrap_or(detect::FIRST_RESPONSE_TIMEOUT);
                let found = detect(transport, within).await?;
                (found.spec, None, found.transport)
            }
        };
        let unknown = || Error::UnknownDialect { dialect: spec.name.to_owned(), known: dynamic::known() };
        let table = table_of(spec.name).ok_or_else(unknown)?;
        let view = View::open(spec.name).map_err(|_| unknown())?;
        let tracker = Arc::new(ConversationTracker::new(spec, view));
        let watched = tracker.clone();
        let dialogs = options
            .on_question
            .map(|handler| -> Arc<dyn dynamic::Dialogs> { Arc::new(QuestionAdapter { table, handler }) });
        let defaults = dynamic::Options::default();
        let settings = Settings {
            overflow: defaults.overflow,
            queue_bytes: defaults.queue_bytes,
            max_line: defaults.max_line,
            timeout: options.timeout,
            tap: options.tap,
            dialogs: dialogs.map(|dialogs| dynamic::raw_dialogs(spec, dialogs)),
            watch: Some(Arc::new(move |direction, text: &str| watched.fold_frame(direction, text))),
            revision,
        };
        let client = dynamic::Client::start_connection(spec, settings, transport);
        let (over, ended) = (client.terminated(), tracker.clone());
        tokio::spawn(async move {
            let end = over.await;
            ended.end(&end);
        });
        let beginning = tokio::sync::Mutex::default();
        let shared = Arc::new(Shared { client, table, tracker, opening_lock: beginning });
        Ok(Agent { shared, limits: RunLimits::default() })
    }

    /// Returns the same agent with limits for its runs. A run that reaches a limit is aborted and fails with
    /// [`Error::RunFailed`], whose code is the name of the limit, as `max_turns`. A prompt fails with
    /// [`Error::Encode`] if agents of the dialect do not report the value that a limit applies to.
    #[must_use]
    pub fn with_limits(&self, limits: RunLimits) -> Self {
        Self { limits, ..self.clone() }
    }

    /// Returns the declared tables of the agent's dialect, in the agent's revision if that is known.
    #[must_use]
    pub fn spec(&self) -> &'static Spec {
        self.shared.client.revision().unwrap_or_else(|| self.shared.client.spec())
    }

    /// Returns the name of the dialect.
    #[must_use]
    pub fn dialect(&self) -> &'static str {
        self.spec().name
    }

    /// Returns `true` if the agent's dialect has a command for the intent. While the revision is unknown, the
    /// command may be in any revision.
    #[must_use]
    pub fn supports(&self, intent: Intent) -> bool {
        self.shared.table.mapping(self.spec(), intent).is_some()
    }

    /// Returns `true` if the agent's command for the intent accepts the neutral parameter. While the revision
    /// is unknown, every revision must accept it.
    #[must_use]
    pub fn accepts_param(&self, intent: Intent, param: &str) -> bool {
        super::accepts_param(self.spec(), intent, param)
    }

    /// Returns `true` if the agent's command for the intent starts a run when the agent is idle. For example, a
    /// steering message to an idle agent may start a run.
    #[must_use]
    pub fn starts_run(&self, intent: Intent) -> bool {
        let mapping = self.shared.table.mapping(self.spec(), intent);
        let row = mapping.and_then(|mapping| self.spec().command(&mapping.command));
        row.is_some_and(|row| row.run == RunRole::Starts)
    }

    /// Returns the current conversation.
    #[must_use]
    pub fn conversation(&self) -> Arc<Conversation> {
        // A caller that knows of the end of the connection sees the end in the conversation too.
        if let Some(end) = self.shared.client.ended() {
            self.shared.tracker.end(&end);
        }
        self.shared.tracker.conversation()
    }

    /// Returns the untyped client of the dialect, which sends any command by its wire name. It shares the
    /// connection.
    #[must_use]
    pub fn as_dynamic(&self) -> &dynamic::Client {
        &self.shared.client
    }

    /// Returns the typed client of the dialect `D`, or `None` if the agent speaks another dialect. The client
    /// shares the connection.
    #[must_use]
    pub fn typed<D: Dialect>(&self) -> Option<RpcClient<D>> {
        (D::CLIENT.name == self.shared.client.spec().name)
            .then(|| RpcClient::from_dynamic(self.shared.client.clone()))
    }

    /// Returns the typed client, or `None` if the agent does not speak pi. The client shares the connection.
    #[cfg(feature = "pi")]
    #[must_use]
    pub fn as_pi(&self) -> Option<crate::pi::Client> {
        self.typed()
    }

    /// Returns the typed client, or `None` if the agent does not speak omp. The client shares the connection.
    #[cfg(feature = "omp")]
    #[must_use]
    pub fn as_omp(&self) -> Option<crate::omp::Client> {
        self.typed()
    }

    /// Returns the typed client, or `None` if the agent does not speak pisces. The client shares the
    /// connection.
    #[cfg(feature = "pisces")]
    #[must_use]
    pub fn as_pisces(&self) -> Option<crate::pisces::Client> {
        self.typed()
    }

    /// Returns the typed client, or `None` if the agent does not speak Operator. The client shares the
    /// connection.
    #[cfg(feature = "operator")]
    #[must_use]
    pub fn as_operator(&self) -> Option<crate::operator::Client> {
        self.typed()
    }

    /// Returns the typed client, or `None` if the agent does not speak Opal. The client shares the
    /// connection.
    #[cfg(feature = "opal")]
    #[must_use]
    pub fn as_opal(&self) -> Option<crate::opal::Client> {
        self.typed()
    }

    /// Resolves when the connection ends.
    pub async fn terminated(&self) -> Termination {
        self.shared.client.terminated().await
    }

    /// Shuts the agent down and waits for its end.
    pub async fn close(&self) -> Termination {
        self.shared.client.close().await
    }

    /// Returns the current session, for dialects with several sessions per connection; otherwise `None`.
    /// Opens a session if no session exists yet.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn session(&self) -> Result<Option<String>, Error> {
        let Some(opens) = self.spec().opens_session else { return Ok(None) };
        // If another session is current, this call does not wait for a first session that is still being
        // opened.
        if let Some(followed) = self.conversation().session.id.clone() {
            return Ok(Some(followed));
        }
        let _beginning = self.shared.opening_lock.lock().await;
        if self.conversation().session.id.is_none() {
            let members = match self.mapping(Intent::NewSession, &Map::new()) {
                Ok(mapping) if mapping.command == opens => convert::members(mapping, &Map::new()),
                _ => Map::new(),
            };
            let _opening = self.shared.tracker.mark_opening(opens);
            self.request(opens, members).await?;
        }
        // Of several sessions that are opened at once, the session with the last response.
        Ok(self.conversation().session.id.clone())
    }

    /// Sends the command of an intent with neutral parameters, and returns the neutral results ([the
    /// list](https://agentese.github.io/agentese/docs/reference/intents/)). For prompts use
    /// [`Agent::prompt`].
    ///
    /// # Errors
    /// [`Error::NotInDialect`], before any frame is sent, if the dialect has no command for the intent or the
    /// command lacks one of the parameters. The agent's revision decides; while the revision is unknown, all
    /// revisions decide. [`Error::Refused`] if the agent rejects the command, [`Error::TimedOut`] if no
    /// response arrives in time, [`Error::Terminated`] if the connection ends first. [`Error`] lists the
    /// other errors.
    pub async fn call(
        &self,
        intent: Intent,
        params: Map<String, Value>,
    ) -> Result<Map<String, Value>, Error> {
        let mapping = self.mapping(intent, &params)?;
        let members = self.members(mapping, &params).await?;
        let opens = matches!(intent, Intent::NewSession | Intent::OpenSession)
            && self.spec().session_member.is_some();
        let _opening = opens.then(|| self.shared.tracker.mark_opening(&mapping.command));
        let data = self.request(&mapping.command, members.clone()).await?;
        Ok(convert::results(self.shared.table, mapping, members, data))
    }

    /// Calls [`Agent::call`] and decodes the results into a record.
    pub(super) async fn call_as<T: DeserializeOwned>(
        &self,
        intent: Intent,
        params: Map<String, Value>,
    ) -> Result<T, Error> {
        let results = Value::Object(self.call(intent, params).await?);
        let frame = FrameText::from(results.to_string());
        serde_json::from_value(results).map_err(|error| Error::Decode {
            what: format!("the answer to `{}`", intent.name()),
            reason: error.to_string(),
            frame,
        })
    }

    /// Returns the command of an intent. Fails if there is no such command or the command lacks
    /// one of the parameters.
    pub(super) fn mapping(
        &self,
        intent: Intent,
        params: &Map<String, Value>,
    ) -> Result<&'static CommandMapping, Error> {
        let spec = self.spec();
        let lacks = |param: Option<&String>| Error::NotInDialect {
            intent: intent.name(),
            param: param.cloned(),
            dialect: spec.id(),
        };
        let mapping = self.shared.table.mapping(spec, intent).ok_or_else(|| lacks(None))?;
        let is_hint = |param: &str| intent_spec(intent).is_some_and(|row| row.is_hint(param));
        let is_taken = |param: &String| mapping.params(spec).any(|taken| taken == param) || is_hint(param);
        match params.iter().find(|(param, value)| !value.is_null() && !is_taken(param)) {
            Some((param, _)) => Err(lacks(Some(param))),
            None => Ok(mapping),
        }
    }

    /// Returns the parameters of a command. Adds the session if the command needs one.
    pub(super) async fn members(
        &self,
        mapping: &CommandMapping,
        params: &Map<String, Value>,
    ) -> Result<Map<String, Value>, Error> {
        let mut members = convert::members(mapping, params);
        let row = self.spec().command(&mapping.command);
        if let (Some(member), Some(row)) = (self.spec().session_member, row)
            && row.required.contains(&member)
            && !members.contains_key(member)
            && let Some(session) = self.session().await?
        {
            members.insert(member.to_owned(), session.into());
        }
        Ok(members)
    }

    async fn request(&self, command: &str, members: Map<String, Value>) -> Result<Option<Value>, Error> {
        let members = Value::Object(members).to_string();
        let data = self.shared.client.call(command, &members, Limit::Default).await?;
        read(command, data)
    }
}

/// Decodes the data of a response. Returns `None` if the response has no data.
pub(super) fn read(command: &str, data: Option<FrameText>) -> Result<Option<Value>, Error> {
    let Some(data) = data else { return Ok(None) };
    crate::wire::decode(data.as_str()).map(Some).map_err(|error| Error::Decode {
        what: format!("the answer to `{command}`"),
        reason: error.to_string(),
        frame: data.clone(),
    })
}
