//! ACP server for agents of a dialect. It starts one agent for each session of the client, in the directory
//! of the session, and ends the agent with the session.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentese::Error;
use agentese::any::{self, Agent, Intent, StoredSession};
use agentese::serve::Options;
use agentese::spec::Spec;
use agentese_server_dialects::conversation::{
    AgentComponents, ListedSession, RemoteAgents, RemoteCapabilities, RemoteSessionError,
};
use agentese_server_dialects::dialects::ACP;
use agentese_server_dialects::server::Server;
use agentese_server_models::Catalog;
use agentese_server_sessions::session::{Scope, SessionSummary};
use agentese_server_tools::ToolSet;
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};

use super::client_ui::ClientUi;
use super::event_loop::reason;
use super::fidelity_report::{FidelityReport, FrameCounts};
use super::initial_state::InitialState;
use super::launch::{MAX_COMMANDS, agent_dialect, child, current_dir};
use super::remote_agent::DialectRemoteAgent;
use super::settings::SettingsForwarder;
use super::stored_sessions::SessionDirectories;
use crate::error::BridgeError;
use crate::options::BridgeOptions;
use agentese_process::stderr::Stderr;
use agentese_process::stdio;

/// The time limit for each response of an agent, except responses to prompts. The first response includes the start of
/// the agent, which takes long on a busy machine.
const RESPONSE_LIMIT: Duration = Duration::from_secs(120);

/// Text that is appended to the title of a session whose directory is unknown.
const UNKNOWN_DIRECTORY: &str = "unknown directory";

/// Serves an ACP client until it disconnects. Fails if the agent's dialect is not detected.
pub(super) async fn serve(options: BridgeOptions, stderr: &Stderr) -> Result<ExitCode, BridgeError> {
    let agents = Arc::new(SessionAgents::detect(options, stderr).await?);
    let server = Server::builder()
        .catalog(Catalog::new(Vec::new()))
        .tools(ToolSet::none())
        .dialect(&ACP)
        .cwd(current_dir())
        .remote_agents(agents.clone());
    let mut serving = Options::default();
    serving.commands = MAX_COMMANDS;
    serving.gate = Some(agents.fidelity.counter());
    let served = stdio::serve(server.build(), serving, stderr).await;
    agents.end().await;
    agents.options.report.as_deref().map_or(Ok(()), |path| agents.fidelity.write_report(path))?;
    Ok(served?)
}

/// The agents that were started with one command line, one for each session.
struct SessionAgents {
    options: BridgeOptions,
    stderr: Stderr,
    spec: &'static Spec,
    fidelity: Arc<FidelityReport>,
    /// Counters for the frames of all agents.
    counts: Arc<FrameCounts>,
    /// The agents of open sessions, by session id.
    open: Mutex<BTreeMap<String, Agent>>,
    /// The directories with the stored sessions of the agents.
    stored: SessionDirectories,
    /// The directories of all sessions opened so far, by session id.
    directories: Mutex<BTreeMap<String, String>>,
}

impl SessionAgents {
    async fn detect(options: BridgeOptions, stderr: &Stderr) -> Result<Self, BridgeError> {
        let spec = agent_dialect(&options, stderr).await?;
        let counts = Arc::<FrameCounts>::default();
        let fidelity = FidelityReport::new(ACP.spec(), spec, counts.clone());
        let fidelity =
            fidelity.map_err(|error| BridgeError::Usage(format!("cannot use the agent: {error}")))?;
        let (open, stored, directories) = (Mutex::default(), SessionDirectories::of(spec), Mutex::default());
        let (stderr, fidelity) = (stderr.clone(), Arc::new(fidelity));
        Ok(Self { options, stderr, spec, fidelity, counts, open, stored, directories })
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<String, Agent>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn directories(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.directories.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all agents.
    async fn end(&self) {
        let open = std::mem::take(&mut *self.open());
        join_all(open.values().map(Agent::close)).await;
    }

    async fn spawn(&self, cwd: &Path, ui: ClientUi) -> Result<Agent, RemoteSessionError> {
        let child = child(&self.options, &self.stderr).map_err(|error| error.to_string())?;
        let mut connect = any::Options::new().on_question(ui).timeout(RESPONSE_LIMIT);
        if self.options.report.is_some() {
            connect.tap = Some(self.counts.clone());
        }
        connect.dialect = Some(self.options.from.clone().unwrap_or_else(|| self.spec.name.to_owned()));
        Agent::spawn(child.cwd(cwd), connect).await.map_err(|error| format!("cannot use the agent: {error}"))
    }

    /// Starts an agent for a session and returns the components that use it. Returns `None` if the agent has
    /// no such session; see [`RemoteAgents::start`].
    async fn components(
        &self,
        agent: &Agent,
        ui: ClientUi,
        cwd: &Path,
        session: Option<&str>,
        before: BoxFuture<'_, ()>,
    ) -> Result<Option<AgentComponents>, RemoteSessionError> {
        let trouble = |error: Error| reason(&error);
        if let Some(id) = session {
            let Some(name) = self.stored.name_of(agent, cwd, id).await.map_err(trouble)? else {
                return Ok(None);
            };
            before.await;
            if !agent.open_session(&name).await.map_err(trouble)? {
                return Ok(None);
            }
        }
        let start = InitialState::query(agent).await.map_err(trouble)?;
        if let Some(directory) = start.session.file.as_deref().and_then(|file| Path::new(file).parent()) {
            self.stored.add(directory);
        }
        let reported_id = start.session.id.clone();
        if session.is_some() && reported_id.is_some() && reported_id.as_deref() != session {
            return Err("the agent opened a different session than the requested one".to_owned());
        }
        let id = session.map(str::to_owned).or(reported_id);
        let remote = Arc::new(DialectRemoteAgent::new(agent.clone(), ui));
        let persist =
            Arc::new(SettingsForwarder::new(remote.clone(), ACP.spec(), start.settings.follow_up_mode));
        let components = start
            .server(&ACP, remote, persist, cwd, id)
            .build_components()
            .map_err(|error| error.to_string())?;
        if let Some(session) = &components.session {
            self.open().insert(session.id().to_owned(), agent.clone());
            self.directories().insert(session.id().to_owned(), cwd.to_string_lossy().into_owned());
        }
        Ok(Some(components))
    }
}

impl RemoteAgents for SessionAgents {
    fn capabilities(&self) -> RemoteCapabilities {
        let can = |intent| any::supports(self.spec, intent);
        RemoteCapabilities {
            open: can(Intent::OpenSession),
            history: can(Intent::Messages),
            // Agents without this command store sessions in files, which the bridge can read.
            list: can(Intent::OpenSession),
            delete: can(Intent::DeleteSession),
            models: can(Intent::SetModel) && can(Intent::Models),
            thinking: can(Intent::SetThinking),
        }
    }

    fn start<'a>(
        &'a self,
        cwd: &'a Path,
        session: Option<&'a str>,
        before: BoxFuture<'a, ()>,
    ) -> BoxFuture<'a, Result<Option<AgentComponents>, RemoteSessionError>> {
        async move {
            let ui = ClientUi::new();
            let agent = self.spawn(cwd, ui.clone()).await?;
            let components = self.components(&agent, ui, cwd, session, before).await;
            if !matches!(components, Ok(Some(_))) {
                agent.close().await;
            }
            components
        }
        .boxed()
    }

    fn stop<'a>(&'a self, session: &'a str) -> BoxFuture<'a, ()> {
        async move {
            let agent = self.open().remove(session);
            if let Some(agent) = agent {
                agent.close().await;
            }
        }
        .boxed()
    }

    fn list<'a>(
        &'a self,
        cwd: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Vec<ListedSession>, RemoteSessionError>> {
        async move {
            if any::supports(self.spec, Intent::ListSessions) {
                return self.list_from_agent(cwd).await;
            }
            let (stores, wanted) = (self.stored.stores(&current_dir()), cwd.map(str::to_owned));
            let read = move || {
                let mut all: Vec<SessionSummary> =
                    stores.iter().flat_map(|store| store.list(Scope::All)).collect();
                all.retain(|record| record.cwd.is_some() && (wanted.is_none() || record.cwd == wanted));
                all.sort_by(|one, other| other.modified.cmp(&one.modified));
                let mut known = BTreeSet::new();
                all.retain(|record| known.insert(record.id.clone()));
                all.into_iter().map(ListedSession::from).collect()
            };
            tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())
        }
        .boxed()
    }

    fn delete<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, RemoteSessionError>> {
        async move {
            self.query(current_dir(), |agent| async move {
                let is_kept = agent.list_sessions().await?.iter().any(|kept| kept.session == session);
                if is_kept {
                    agent.delete_session(session).await?;
                }
                Ok(is_kept)
            })
            .await
        }
        .boxed()
    }
}

impl SessionAgents {
    /// Returns the agent's list of sessions, with a directory for each. The agent does not report
    /// directories: a session that was opened here has its known directory, and any other session has the
    /// queried one. If the client names no directory, the title of such a session states that its directory
    /// is unknown.
    async fn list_from_agent(&self, cwd: Option<&str>) -> Result<Vec<ListedSession>, RemoteSessionError> {
        let directory = cwd.map_or_else(current_dir, PathBuf::from);
        let kept = self.query(directory.clone(), |agent| async move { agent.list_sessions().await }).await?;
        let directories = self.directories();
        let mut all = Vec::new();
        for StoredSession { session, name, modified, .. } in kept {
            let (place, title) = match (directories.get(&session), cwd) {
                (Some(place), Some(cwd)) if Path::new(place) != Path::new(cwd) => continue,
                (Some(place), _) => (place.clone(), name),
                (None, Some(cwd)) => (cwd.to_owned(), name),
                (None, None) => {
                    let name = name.as_deref().unwrap_or(&session);
                    (directory.to_string_lossy().into_owned(), Some(format!("{name} ({UNKNOWN_DIRECTORY})")))
                }
            };
            all.push(ListedSession { id: session, cwd: place, title, modified });
        }
        Ok(all)
    }

    /// Starts an agent for a single query, and ends it afterwards.
    async fn query<T, F>(
        &self,
        cwd: PathBuf,
        request: impl FnOnce(Agent) -> F,
    ) -> Result<T, RemoteSessionError>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let agent = self.spawn(&cwd, ClientUi::new()).await?;
        let answer = request(agent.clone()).await;
        agent.close().await;
        answer.map_err(|error| reason(&error))
    }
}
