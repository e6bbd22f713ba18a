//! An agent of any dialect.

use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::ask::{Asked, Neutral};
use super::folded::Folded;
use super::run::{Events, Run};
use super::table::{Carrier, Table, neutral, table_of};
use super::{detect, write};
use crate::client::{Limit, RpcClient};
use crate::connection::Settings;
use crate::dynamic;
use crate::error::Error;
use crate::framing::FrameText;
use crate::generated::intents::Intent;
use crate::spec::{Dialect, RunRole, Spec};
use crate::tap::Tap;
use crate::termination::Termination;
use crate::transport::{ChildOptions, Transport};
use crate::view::{Conversation, View};

/// How an agent is connected.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// The dialect, `NAME` or `NAME@REVISION`; it is found out where it is not named.
    pub dialect: Option<String>,
    /// Answers the agent's questions; without it the declared policy dismisses them.
    pub asked: Option<Arc<dyn Asked>>,
    /// How long calls wait for their answers, in place of the commands' own defaults.
    pub timeout: Option<Duration>,
    /// Sees every frame, keys redacted.
    pub tap: Option<Arc<dyn Tap>>,
    /// How long an agent may take to say something while its dialect is found out; 20 seconds by default.
    pub detect_within: Option<Duration>,
}

impl Options {
    /// The defaults: the dialect is found out.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the dialect: `NAME` or `NAME@REVISION`.
    #[must_use]
    pub fn dialect(mut self, name: impl Into<String>) -> Self {
        self.dialect = Some(name.into());
        self
    }

    /// Answers the agent's questions.
    #[must_use]
    pub fn asked(mut self, handler: impl Asked) -> Self {
        self.asked = Some(Arc::new(handler));
        self
    }

    /// How long calls wait for their answers. Commands whose work may take any time stay without a limit.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sees every frame, keys redacted.
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

/// An agent of any dialect. Clones share the connection; when the last one and the last of their streams are gone, the
/// agent is shut down in the background.
#[derive(Clone)]
pub struct Agent {
    shared: Arc<Shared>,
}

struct Shared {
    client: dynamic::Client,
    table: &'static Table,
    folded: Arc<Folded>,
    /// Held while the first session is opened, where a connection has several.
    beginning: tokio::sync::Mutex<()>,
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("client", &self.shared.client).finish_non_exhaustive()
    }
}

impl Agent {
    /// Starts a program with its arguments and finds out which dialect it speaks. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// [`Error::Spawn`] where the program cannot be started, [`Error::NotRecognised`] where it speaks no known dialect.
    pub async fn connect<I, S>(command: I) -> Result<Self, Error>
    where
        I: IntoIterator<Item = S>,
        S: Into<std::ffi::OsString>,
    {
        let mut words = command.into_iter().map(Into::into);
        let program = words.next().unwrap_or_default();
        Self::spawn(ChildOptions::new(program).args(words), Options::new()).await
    }

    /// Starts a program.
    ///
    /// # Errors
    /// As [`Agent::over`], and [`Error::Spawn`] where the program cannot be started.
    pub async fn spawn(child: ChildOptions, options: Options) -> Result<Self, Error> {
        Self::over(Transport::from_child(child)?, options).await
    }

    /// Drives whatever is at the other end of a transport. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// [`Error::UnknownDialect`] and [`Error::UnknownRevision`] where the options name one that is not known,
    /// [`Error::NotRecognised`] where they name none and nothing that comes belongs to one.
    pub async fn over(transport: Transport, options: Options) -> Result<Self, Error> {
        let (spec, revision, transport) = match &options.dialect {
            Some(name) => {
                let (spec, revision) = dynamic::client(name)?;
                (spec, revision, transport)
            }
            None => {
                let within = options.detect_within.unwrap_or(detect::FIRST);
                let found = detect(transport, within).await?;
                (found.spec, None, found.transport)
            }
        };
        let unknown = || Error::UnknownDialect { asked: spec.name.to_owned(), known: dynamic::known() };
        let table = table_of(spec.name).ok_or_else(unknown)?;
        let view = View::open(spec.name).map_err(|_| unknown())?;
        let folded = Arc::new(Folded::new(spec, view));
        let watched = folded.clone();
        let dialogs = options
            .asked
            .map(|handler| -> Arc<dyn dynamic::Dialogs> { Arc::new(Neutral { table, handler }) });
        let defaults = dynamic::Options::default();
        let settings = Settings {
            overflow: defaults.overflow,
            queue_bytes: defaults.queue_bytes,
            max_line: defaults.max_line,
            timeout: options.timeout,
            tap: options.tap,
            dialogs: dialogs.map(|dialogs| dynamic::raw_dialogs(spec, dialogs)),
            watch: Some(Arc::new(move |direction, text: &str| watched.take(direction, text))),
            revision,
        };
        let client = dynamic::Client::start_connection(spec, settings, transport);
        let (over, ended) = (client.terminated(), folded.clone());
        tokio::spawn(async move {
            let end = over.await;
            ended.end(&end);
        });
        let beginning = tokio::sync::Mutex::default();
        Ok(Agent { shared: Arc::new(Shared { client, table, folded, beginning }) })
    }

    /// The tables of the dialect that the agent speaks, in its revision where that is known.
    #[must_use]
    pub fn spec(&self) -> &'static Spec {
        self.shared.client.revision().unwrap_or_else(|| self.shared.client.spec())
    }

    /// The dialect's name.
    #[must_use]
    pub fn dialect(&self) -> &'static str {
        self.spec().name
    }

    /// Whether the agent's dialect has a command for it. Where its revision is not known yet, whether any revision has.
    #[must_use]
    pub fn can(&self, intent: Intent) -> bool {
        self.shared.table.carrier(self.spec(), intent).is_some()
    }

    /// Whether the agent's command for it takes that neutral parameter. Where its revision is not known yet, whether every
    /// revision's does.
    #[must_use]
    pub fn takes(&self, intent: Intent, param: &str) -> bool {
        super::takes(self.spec(), intent, param)
    }

    /// Whether the agent's command for it begins a run where none goes on. Words that are to wait for a run begin one there.
    #[must_use]
    pub fn begins(&self, intent: Intent) -> bool {
        let carrier = self.shared.table.carrier(self.spec(), intent);
        let row = carrier.and_then(|carrier| self.spec().command(&carrier.command));
        row.is_some_and(|row| row.run == RunRole::Starts)
    }

    /// The conversation as it stands.
    #[must_use]
    pub fn conversation(&self) -> Arc<Conversation> {
        // Whoever has heard of the end of the connection finds it here too.
        if let Some(end) = self.shared.client.ended() {
            self.shared.folded.end(&end);
        }
        self.shared.folded.conversation()
    }

    /// Listens to everything that happens from now on.
    #[must_use]
    pub fn events(&self) -> Events {
        Events::new(self.shared.client.clone(), self.shared.folded.listen())
    }

    /// The client of the dialect without types: any command by its wire name. It shares the connection.
    #[must_use]
    pub fn as_dynamic(&self) -> &dynamic::Client {
        &self.shared.client
    }

    /// The typed client of the dialect `D`, where the agent speaks it. It shares the connection.
    #[must_use]
    pub fn typed<D: Dialect>(&self) -> Option<RpcClient<D>> {
        (D::CLIENT.name == self.shared.client.spec().name)
            .then(|| RpcClient::over(self.shared.client.clone()))
    }

    /// The typed client, where the agent speaks pi. It shares the connection.
    #[cfg(feature = "pi")]
    #[must_use]
    pub fn as_pi(&self) -> Option<crate::pi::Client> {
        self.typed()
    }

    /// The typed client, where the agent speaks omp. It shares the connection.
    #[cfg(feature = "omp")]
    #[must_use]
    pub fn as_omp(&self) -> Option<crate::omp::Client> {
        self.typed()
    }

    /// The typed client, where the agent speaks pisces. It shares the connection.
    #[cfg(feature = "pisces")]
    #[must_use]
    pub fn as_pisces(&self) -> Option<crate::pisces::Client> {
        self.typed()
    }

    /// The typed client, where the agent speaks Operator. It shares the connection.
    #[cfg(feature = "operator")]
    #[must_use]
    pub fn as_operator(&self) -> Option<crate::operator::Client> {
        self.typed()
    }

    /// The typed client, where the agent speaks Opal. It shares the connection.
    #[cfg(feature = "opal")]
    #[must_use]
    pub fn as_opal(&self) -> Option<crate::opal::Client> {
        self.typed()
    }

    /// Resolves when the connection is over.
    pub async fn terminated(&self) -> Termination {
        self.shared.client.terminated().await
    }

    /// Shuts the agent down and waits for its end.
    pub async fn close(&self) -> Termination {
        self.shared.client.close().await
    }

    /// The session that is followed, where a connection has several; one is opened where there is none yet.
    ///
    /// # Errors
    /// As every call.
    pub async fn session(&self) -> Result<Option<String>, Error> {
        let Some(opens) = self.spec().opens_session else { return Ok(None) };
        // Where another one is followed already, nobody waits for a first one that is still being opened.
        if let Some(followed) = self.conversation().session.id.clone() {
            return Ok(Some(followed));
        }
        let _beginning = self.shared.beginning.lock().await;
        if self.conversation().session.id.is_none() {
            let members = match self.carrier(Intent::NewSession, &Map::new()) {
                Ok(carrier) if carrier.command == opens => write::members(carrier, &Map::new()),
                _ => Map::new(),
            };
            let _opening = self.shared.folded.switch(opens);
            self.ask(opens, members).await?;
        }
        // Of several that are opened at once, the one whose answer came last.
        Ok(self.conversation().session.id.clone())
    }

    /// Carries out an intent with neutral parameters, and gives its neutral results
    /// ([the list](https://agentese.github.io/agentese/docs/reference/intents/)). A prompt has [`Agent::prompt`].
    ///
    /// # Errors
    /// [`Error::NotInDialect`] where the dialect has no command for it, or none that takes one of the parameters, in the
    /// agent's revision (in all of them where that is not known): nothing was sent. Else as every call.
    pub async fn call(
        &self,
        intent: Intent,
        params: Map<String, Value>,
    ) -> Result<Map<String, Value>, Error> {
        let carrier = self.carrier(intent, &params)?;
        let members = self.members(carrier, &params).await?;
        let opens = matches!(intent, Intent::NewSession | Intent::OpenSession)
            && self.spec().session_member.is_some();
        let _opening = opens.then(|| self.shared.folded.switch(&carrier.command));
        let data = self.ask(&carrier.command, members.clone()).await?;
        Ok(write::results(self.shared.table, carrier, members, data))
    }

    /// As [`Agent::call`], with the results as a record.
    pub(super) async fn get<T: DeserializeOwned>(
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

    /// Begins a run.
    pub(super) async fn start(&self, intent: Intent, params: Map<String, Value>) -> Result<Run, Error> {
        let carrier = self.carrier(intent, &params)?;
        let members = self.members(carrier, &params).await?;
        let heard = self.shared.folded.listen();
        let text = Value::Object(members.clone()).to_string();
        let (events, accepted) = self.shared.client.start(&carrier.command, &text, Limit::Default)?;
        let data = read(&carrier.command, accepted.await?)?;
        let results = write::results(self.shared.table, carrier, members, data);
        Ok(Run::new(self.clone(), events, heard, results))
    }

    /// The command that carries an intent, where it takes these parameters.
    fn carrier(&self, intent: Intent, params: &Map<String, Value>) -> Result<&'static Carrier, Error> {
        let spec = self.spec();
        let lacks = |param: Option<&String>| Error::NotInDialect {
            intent: intent.name(),
            param: param.cloned(),
            dialect: spec.id(),
        };
        let carrier = self.shared.table.carrier(spec, intent).ok_or_else(|| lacks(None))?;
        let is_hint = |param: &str| neutral(intent).is_some_and(|row| row.is_hint(param));
        let is_taken = |param: &String| carrier.taken(spec).any(|taken| taken == param) || is_hint(param);
        match params.iter().find(|(param, value)| !value.is_null() && !is_taken(param)) {
            Some((param, _)) => Err(lacks(Some(param))),
            None => Ok(carrier),
        }
    }

    /// The parameters of a command, with the session where it needs one.
    async fn members(
        &self,
        carrier: &Carrier,
        params: &Map<String, Value>,
    ) -> Result<Map<String, Value>, Error> {
        let mut members = write::members(carrier, params);
        let row = self.spec().command(&carrier.command);
        if let (Some(member), Some(row)) = (self.spec().session_member, row)
            && row.required.contains(&member)
            && !members.contains_key(member)
            && let Some(session) = self.session().await?
        {
            members.insert(member.to_owned(), session.into());
        }
        Ok(members)
    }

    async fn ask(&self, command: &str, members: Map<String, Value>) -> Result<Option<Value>, Error> {
        let members = Value::Object(members).to_string();
        let data = self.shared.client.call(command, &members, Limit::Default).await?;
        read(command, data)
    }
}

/// The data of an answer; none where it has none.
fn read(command: &str, data: Option<FrameText>) -> Result<Option<Value>, Error> {
    let Some(data) = data else { return Ok(None) };
    crate::wire::decode(data.as_str()).map(Some).map_err(|error| Error::Decode {
        what: format!("the answer to `{command}`"),
        reason: error.to_string(),
        frame: data.clone(),
    })
}
