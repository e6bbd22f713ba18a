//! The start of a session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentese::acp::{AcpMcpServer, AcpMcpTransport, AcpNamedValue, AcpNoticeSeverity};
use agentese::serve::Refusal;
use futures::FutureExt;
use serde_json::{Map, Value};

use super::error::{failed, invalid, unknown};
use super::opened::Opened;
use super::person::Person;
use super::sink::Sink;
use super::teller::Teller;
use super::{CUSTOMS, Front, LOOKS, PAUSE, files, options, terminals};
use crate::desk::{Agents, Desk, Parts};
use crate::engine::Options;
use crate::fronts::blocking::blocking;
use crate::mcp;
use crate::providers::Chosen;
use crate::session::{OpenError, Scope, Session, Start};

/// The request of a client.
pub(super) struct Wanted {
    /// The method of the request.
    pub method: &'static str,
    /// The working directory.
    pub cwd: String,
    /// MCP servers besides the servers from files.
    pub servers: Vec<AcpMcpServer>,
    /// The id of a stored session, or `None` for a new one. An open session is opened again, because its
    /// directory and its servers may differ.
    pub session: Option<String>,
}

/// An opened session, and the information about it for the client.
pub(super) struct Started {
    pub session: Arc<Opened>,
    pub complaints: Vec<String>,
    /// The person, connected after the client knows the session: a remote agent may emit events at once.
    person: Option<Arc<Person>>,
}

impl Started {
    /// Sends the information about the session, after the client knows the session.
    pub fn tell(self, front: &Front) {
        if let Some(person) = self.person {
            self.session.desk.connect(person);
        }
        for complaint in &self.complaints {
            front.client.notice(&self.session.id, AcpNoticeSeverity::Warning, complaint, true);
        }
        tokio::spawn(self.session.keep_told());
    }
}

impl Front {
    /// Opens a session. Fails if the directory does not exist or the session is not stored. Unusable
    /// parameters leave an open session unchanged.
    pub(super) async fn open(&self, wanted: Wanted) -> Result<Started, Refusal> {
        let cwd = directory(wanted.method, &wanted.cwd).await?;
        if let Some(agents) = self.agents() {
            return self.join(&*agents, cwd, wanted).await;
        }
        let mut parts = self.parts_in(&cwd).await?;
        let (definitions, complaints) = given(&cwd, wanted.servers);
        let is_new = |known: &mcp::Definition| definitions.iter().all(|given| given.name != known.name);
        parts.mcp.definitions.retain(is_new);
        parts.mcp.definitions.splice(0..0, definitions.iter().cloned());
        parts.undecided = parts.undecided.map(|undecided| undecided.with_servers(definitions));
        if let Some(id) = &wanted.session {
            // Without a store, the open session continues.
            if parts.options.store.is_none() {
                return Err(unknown(id));
            }
            let closed = self.close(id).await;
            let session = kept(&parts.options, &cwd, id, closed).await?;
            if let Some((provider, model)) = session.restored().model
                && let Some(model) = parts.options.catalog.get_available(&provider, &model)
            {
                parts.options.model = Some(Chosen { model: model.clone(), thinking: None });
            }
            parts.session = Some(session);
        }
        let (session, person) = self.put_together(cwd, parts);
        session.desk.connect(person);
        Ok(Started { session, complaints, person: None })
    }

    /// Opens a session of a remote agent.
    async fn join(&self, agents: &dyn Agents, cwd: PathBuf, wanted: Wanted) -> Result<Started, Refusal> {
        let complaint = |server: AcpMcpServer| {
            format!("This agent takes no MCP servers from its client: \"{}\" is not used", server.name)
        };
        let complaints = wanted.servers.into_iter().map(complaint).collect();
        let id = wanted.session.as_deref();
        let close = async {
            if let Some(id) = id {
                self.close(id).await;
            }
        };
        let joined = agents.join(&cwd, id, close.boxed()).await.map_err(failed)?;
        let mut parts = joined.ok_or_else(|| unknown(id.unwrap_or_default()))?;
        parts.options.customs = CUSTOMS;
        let (session, person) = self.put_together(cwd, parts);
        Ok(Started { session, complaints, person: Some(person) })
    }

    /// Creates a session from parts, with the person behind its client.
    fn put_together(&self, cwd: PathBuf, mut parts: Parts) -> (Arc<Opened>, Arc<Person>) {
        let cost = parts.session.as_ref().map_or(0.0, |session| session.stats().cost);
        let teller = Teller::new(cwd.clone(), parts.options.catalog.clone(), cost);
        let sink = Arc::new(Sink::new(self.client.clone(), teller));
        files::put(&mut parts, &self.client, &sink);
        terminals::put(&mut parts, &self.client, &sink);
        let desk = Arc::new(Desk::new(parts, sink.clone(), self.stop.clone()));
        let id = desk.engine().view().session_id;
        sink.of(&id);
        let person = Arc::new(Person::new(self.client.clone(), sink.clone(), id.clone()));
        self.desks.add(desk.clone());
        let offers = options::Offers::of(self.agents().map(|agents| agents.abilities()));
        let session = Arc::new(Opened::new(id.clone(), cwd, desk, self.client.clone(), sink, offers));
        self.all().insert(id, session.clone());
        (session, person)
    }

    /// Returns the parts of a session in that directory.
    async fn parts_in(&self, cwd: &Path) -> Result<Parts, Refusal> {
        let (mut parts, elsewhere) = {
            let parts = self.parts();
            (parts.with(None), parts.elsewhere.clone())
        };
        if parts.options.context.cwd == cwd {
            return Ok(parts);
        }
        match elsewhere {
            Some(elsewhere) => {
                let cwd = cwd.to_owned();
                let (unsaved, fairness) = (parts.options.unsaved, parts.options.fairness);
                parts = blocking(move || elsewhere.parts(&cwd)).await.map_err(failed)?;
                // At its end the process reports all unsaved sessions together.
                (parts.options.unsaved, parts.options.fairness) = (unsaved, fairness);
                parts.options.customs = CUSTOMS;
            }
            None => {
                parts.options.context.cwd = cwd.to_owned();
                parts.options.store = parts.options.store.map(|store| store.shared(cwd));
                // The pending question about trust concerns another directory.
                parts.undecided = None;
            }
        }
        Ok(parts)
    }

    /// Closes a session that is open here. Returns false if no such session is open.
    pub(super) async fn close(&self, id: &str) -> bool {
        let Some(session) = self.all().remove(id) else { return false };
        session.cancel().await;
        session.silence();
        drop(session);
        let closed = self.desks.close(id).await;
        if let Some(agents) = self.agents() {
            agents.leave(id).await;
        }
        closed
    }
}

/// Checks a directory from a client. Fails if the path is relative or the directory does not exist.
pub(super) async fn directory(method: &'static str, given: &str) -> Result<PathBuf, Refusal> {
    let path: PathBuf = Path::new(given).components().collect();
    if !path.is_absolute() {
        return Err(invalid(method, "`cwd` has to be an absolute path"));
    }
    let looked = path.clone();
    match blocking(move || looked.is_dir()).await {
        true => Ok(path),
        false => Err(invalid(method, &format!("`cwd`: {given} is not a directory"))),
    }
}

/// Opens the stored session with that id, from any directory. Retries if the session was just `closed`,
/// because tasks that still use its file end by themselves.
async fn kept(options: &Options, cwd: &Path, id: &str, closed: bool) -> Result<Session, Refusal> {
    let store = options.store.clone().ok_or_else(|| unknown(id))?;
    let mut looks = if closed { LOOKS } else { 1 };
    loop {
        looks -= 1;
        let start = Start::new(cwd, options.clock.clone(), options.ids.clone()).beside();
        let (store, wanted) = (store.clone(), id.to_owned());
        let opened =
            blocking(move || store.find_in(Scope::All, &wanted).map(|path| Session::open(&path, start)));
        match opened.await.ok_or_else(|| unknown(id))? {
            Ok(session) => return Ok(session),
            Err(OpenError::Locked { .. }) if looks > 0 => tokio::time::sleep(PAUSE).await,
            Err(error) => return Err(failed(error)),
        }
    }
}

/// Returns the servers from a client, and a sentence for each unusable server.
fn given(cwd: &Path, servers: Vec<AcpMcpServer>) -> (Vec<mcp::Definition>, Vec<String>) {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let places = || mcp::Places { cwd, home: home.as_deref(), agent_dir: None };
    let environment = |name: &str| std::env::var_os(name);
    let (mut definitions, mut complaints): (Vec<mcp::Definition>, _) = (Vec::new(), Vec::new());
    for server in servers {
        let name = server.name.clone();
        if definitions.iter().any(|known| known.name == name) {
            complaints.push(format!("Two MCP servers are called \"{name}\"; the second one is not used"));
            continue;
        }
        match mcp::given(&[members(server)], places(), &environment) {
            Ok(given) => definitions.extend(given),
            Err(reason) => complaints.push(format!("{reason}; it is not used")),
        }
    }
    (definitions, complaints)
}

/// Converts a server to the form of configuration files.
fn members(server: AcpMcpServer) -> Map<String, Value> {
    let pairs = |pairs: Vec<AcpNamedValue>| -> Value {
        pairs.into_iter().map(|pair| (pair.name, Value::from(pair.value))).collect::<Map<_, _>>().into()
    };
    let mut members = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            members.insert(name.to_owned(), value);
        }
    };
    put("name", Some(server.name.into()));
    put("type", server.r#type.into_option().map(|kind: AcpMcpTransport| kind.as_str().into()));
    put("command", server.command.into_option().map(Value::from));
    put("args", server.args.into_option().map(Value::from));
    put("env", server.env.into_option().map(pairs));
    put("url", server.url.into_option().map(Value::from));
    put("headers", server.headers.into_option().map(pairs));
    members
}
