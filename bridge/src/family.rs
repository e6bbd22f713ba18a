//! One agent for each session of an ACP client, started in the directory of the session, and ended with the
//! session.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentese::Error;
use agentese::any::{self, Agent, Intent, KeptSession};
use agentese::serve::Options;
use agentese::spec::Spec;
use agentese_server_dialects::desk::{Abilities, Agents, Kept, Parts, Trouble};
use agentese_server_dialects::fronts::ACP;
use agentese_server_dialects::server::Server;
use agentese_server_models::Catalog;
use agentese_server_sessions::session::{Record, Scope};
use agentese_server_tools::ToolSet;
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};

use super::beginning::Beginning;
use super::kept::Places;
use super::launch::{COMMANDS, child, dialect, here};
use super::losses::{Heard, Losses};
use super::person::Person;
use super::pump::reason;
use super::remote::Remote;
use super::settings::Settings;
use crate::error::BridgeError;
use crate::options::BridgeOptions;
use agentese_process::stderr::Stderr;
use agentese_process::stdio;

/// The time limit for all responses of an agent except those to prompts. The first response includes the
/// start of the agent, which takes long on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The addition to the title of a session with an unknown directory.
const PLACELESS: &str = "its directory is not known";

/// Serves an ACP client until it disconnects. Fails if the agent's dialect is not detected.
pub(super) async fn serve(options: BridgeOptions, stderr: &Stderr) -> Result<ExitCode, BridgeError> {
    let family = Arc::new(Family::find(options, stderr).await?);
    let server = Server::builder()
        .catalog(Catalog::new(Vec::new()))
        .tools(ToolSet::none())
        .dialect(&ACP)
        .cwd(here())
        .agents(family.clone());
    let mut serving = Options::default();
    serving.commands = COMMANDS;
    serving.gate = Some(family.losses.counter());
    let served = stdio::serve(server.build(), serving, stderr).await;
    family.end().await;
    family.options.report.as_deref().map_or(Ok(()), |path| family.losses.report(path))?;
    Ok(served?)
}

/// The agents of a command line.
struct Family {
    options: BridgeOptions,
    stderr: Stderr,
    spec: &'static Spec,
    losses: Arc<Losses>,
    /// Counts the frames of all agents.
    heard: Arc<Heard>,
    /// The agents of open sessions, by session id.
    open: Mutex<BTreeMap<String, Agent>>,
    /// The stored sessions of the agents.
    kept: Places,
    /// The directories of all sessions opened so far, by session id.
    places: Mutex<BTreeMap<String, String>>,
}

impl Family {
    async fn find(options: BridgeOptions, stderr: &Stderr) -> Result<Self, BridgeError> {
        let spec = dialect(&options, stderr).await?;
        let heard = Arc::<Heard>::default();
        let losses = Losses::new(ACP.spec(), spec, heard.clone());
        let losses = losses.map_err(|error| BridgeError::Usage(format!("the agent: {error}")))?;
        let (open, kept, places) = (Mutex::default(), Places::of(spec), Mutex::default());
        let (stderr, losses) = (stderr.clone(), Arc::new(losses));
        Ok(Self { options, stderr, spec, losses, heard, open, kept, places })
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<String, Agent>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn places(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all agents.
    async fn end(&self) {
        let open = std::mem::take(&mut *self.open());
        join_all(open.values().map(Agent::close)).await;
    }

    async fn spawn(&self, cwd: &Path, person: Person) -> Result<Agent, Trouble> {
        let child = child(&self.options, &self.stderr).map_err(|error| error.to_string())?;
        let mut connect = any::Options::new().asked(person).timeout(PATIENCE);
        if self.options.report.is_some() {
            connect.tap = Some(self.heard.clone());
        }
        connect.dialect = Some(self.options.from.clone().unwrap_or_else(|| self.spec.name.to_owned()));
        Agent::spawn(child.cwd(cwd), connect).await.map_err(|error| format!("the agent: {error}"))
    }

    /// Returns the parts of a session of an agent. Returns `None` if the agent has no such session; see
    /// [`Agents::join`].
    async fn parts(
        &self,
        agent: &Agent,
        person: Person,
        cwd: &Path,
        session: Option<&str>,
        before: BoxFuture<'_, ()>,
    ) -> Result<Option<Parts>, Trouble> {
        let trouble = |error: Error| reason(&error);
        if let Some(id) = session {
            let Some(name) = self.kept.name_of(agent, cwd, id).await.map_err(trouble)? else {
                return Ok(None);
            };
            before.await;
            if !agent.open_session(&name).await.map_err(trouble)? {
                return Ok(None);
            }
        }
        let start = Beginning::of(agent).await.map_err(trouble)?;
        if let Some(directory) = start.session.file.as_deref().and_then(|file| Path::new(file).parent()) {
            self.kept.seen(directory);
        }
        let told = start.session.id.clone();
        if session.is_some() && told.is_some() && told.as_deref() != session {
            return Err("the agent opened another session than the one that was asked for".to_owned());
        }
        let id = session.map(str::to_owned).or(told);
        let remote = Arc::new(Remote::new(agent.clone(), person));
        let persist = Arc::new(Settings::new(remote.clone(), ACP.spec(), start.settings.follow_up_mode));
        let parts =
            start.server(&ACP, remote, persist, cwd, id).all_parts().map_err(|error| error.to_string())?;
        if let Some(session) = &parts.session {
            self.open().insert(session.id().to_owned(), agent.clone());
            self.places().insert(session.id().to_owned(), cwd.to_string_lossy().into_owned());
        }
        Ok(Some(parts))
    }
}

impl Agents for Family {
    fn abilities(&self) -> Abilities {
        let can = |intent| any::carries(self.spec, intent);
        Abilities {
            open: can(Intent::OpenSession),
            history: can(Intent::Messages),
            // Agents without this command store files, which can be read.
            list: can(Intent::OpenSession),
            delete: can(Intent::DeleteSession),
            models: can(Intent::SetModel) && can(Intent::Models),
            thinking: can(Intent::SetThinking),
        }
    }

    fn join<'a>(
        &'a self,
        cwd: &'a Path,
        session: Option<&'a str>,
        before: BoxFuture<'a, ()>,
    ) -> BoxFuture<'a, Result<Option<Parts>, Trouble>> {
        async move {
            let person = Person::new();
            let agent = self.spawn(cwd, person.clone()).await?;
            let parts = self.parts(&agent, person, cwd, session, before).await;
            if !matches!(parts, Ok(Some(_))) {
                agent.close().await;
            }
            parts
        }
        .boxed()
    }

    fn leave<'a>(&'a self, session: &'a str) -> BoxFuture<'a, ()> {
        async move {
            let agent = self.open().remove(session);
            if let Some(agent) = agent {
                agent.close().await;
            }
        }
        .boxed()
    }

    fn list<'a>(&'a self, cwd: Option<&'a str>) -> BoxFuture<'a, Result<Vec<Kept>, Trouble>> {
        async move {
            if any::carries(self.spec, Intent::ListSessions) {
                return self.listed(cwd).await;
            }
            let (stores, wanted) = (self.kept.stores(&here()), cwd.map(str::to_owned));
            let read = move || {
                let mut all: Vec<Record> = stores.iter().flat_map(|store| store.list(Scope::All)).collect();
                all.retain(|record| record.cwd.is_some() && (wanted.is_none() || record.cwd == wanted));
                all.sort_by(|one, other| other.modified.cmp(&one.modified));
                let mut known = BTreeSet::new();
                all.retain(|record| known.insert(record.id.clone()));
                all.into_iter().map(Kept::from).collect()
            };
            tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())
        }
        .boxed()
    }

    fn delete<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, Trouble>> {
        async move {
            self.asked(here(), |agent| async move {
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

impl Family {
    /// Returns the sessions that an agent lists in that directory. The list has no directories. A session
    /// opened here has its known directory, and any other session has the directory of the query. If the
    /// client gives no directory, the title states that it is unknown.
    async fn listed(&self, cwd: Option<&str>) -> Result<Vec<Kept>, Trouble> {
        let directory = cwd.map_or_else(here, PathBuf::from);
        let kept = self.asked(directory.clone(), |agent| async move { agent.list_sessions().await }).await?;
        let places = self.places();
        let mut all = Vec::new();
        for KeptSession { session, name, modified, .. } in kept {
            let (place, title) = match (places.get(&session), cwd) {
                (Some(place), Some(cwd)) if Path::new(place) != Path::new(cwd) => continue,
                (Some(place), _) => (place.clone(), name),
                (None, Some(cwd)) => (cwd.to_owned(), name),
                (None, None) => {
                    let name = name.as_deref().unwrap_or(&session);
                    (directory.to_string_lossy().into_owned(), Some(format!("{name} ({PLACELESS})")))
                }
            };
            all.push(Kept { id: session, cwd: place, title, modified });
        }
        Ok(all)
    }

    /// Starts an agent, sends it a query, and ends it.
    async fn asked<T, F>(&self, cwd: PathBuf, ask: impl FnOnce(Agent) -> F) -> Result<T, Trouble>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let agent = self.spawn(&cwd, Person::new()).await?;
        let answer = ask(agent.clone()).await;
        agent.close().await;
        answer.map_err(|error| reason(&error))
    }
}
