//! The stored sessions of agents, and the identifiers with which agents open them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use agentese::Error;
use agentese::any::{Agent, Intent};
use agentese::spec::Spec;
use agentese_server_base::config::agent_dir;
use agentese_server_dialects::dialects::DialectEntry;
use agentese_server_sessions::session::{Scope, Store};

use agentese_process::environment::variable;
use agentese_process::session_store::store;

/// The directories in which the agents of a dialect store their sessions.
pub(super) struct SessionDirectories {
    spec: &'static Spec,
    /// Session directories that agents have reported.
    directories: Mutex<BTreeSet<PathBuf>>,
}

impl SessionDirectories {
    pub fn of(spec: &'static Spec) -> Self {
        Self { spec, directories: Mutex::default() }
    }

    /// Returns the identifier with which the agent opens a session: a path or an id. Returns `None` if the
    /// agent has no such session.
    pub async fn name_of(&self, agent: &Agent, cwd: &Path, session: &str) -> Result<Option<String>, Error> {
        if !agent.supports(Intent::OpenSession) {
            return Ok(None);
        }
        Ok(if agent.supports(Intent::ListSessions) {
            let kept = agent.list_sessions().await?;
            kept.into_iter().find(|kept| kept.session == session).map(|kept| kept.session)
        } else {
            // An agent that reports no file does not store its session.
            let file = agent.state().await?.session.file;
            match file.as_deref().and_then(|file| Path::new(file).parent()) {
                Some(directory) => {
                    self.add(directory);
                    self.find_file(cwd, session).await.map(|file| file.to_string_lossy().into_owned())
                }
                None => None,
            }
        })
    }

    /// Adds a directory with session files.
    pub fn add(&self, directory: &Path) {
        self.directories.lock().unwrap_or_else(PoisonError::into_inner).insert(directory.to_owned());
    }

    /// Returns the stores of session files: the directories that agents have reported, and the default directory of the
    /// dialect.
    pub fn stores(&self, cwd: &Path) -> Vec<Store> {
        let known = self.directories.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut stores: Vec<Store> = known.iter().map(|directory| Store::at(directory, cwd)).collect();
        if let Ok(frontend) = DialectEntry::find(self.spec.name) {
            let files = frontend.paths();
            let home = variable("HOME").map(PathBuf::from);
            let agent_dir = agent_dir(&files, &variable);
            stores.extend(store(&files, None, agent_dir.as_deref(), home.as_deref(), cwd));
        }
        stores
    }

    async fn find_file(&self, cwd: &Path, session: &str) -> Option<PathBuf> {
        let (stores, session) = (self.stores(cwd), session.to_owned());
        let find = move || stores.iter().find_map(|store| store.find_in(Scope::All, &session));
        tokio::task::spawn_blocking(find).await.ok().flatten()
    }
}
