//! The start of a session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentese::acp::{AcpMcpServer, AcpMcpTransport, AcpNamedValue, AcpNoticeSeverity};
use agentese::serve::CommandError;
use futures::FutureExt;
use serde_json::{Map, Value};

use super::active_session::ActiveSession;
use super::client_ui::ClientUi;
use super::error::{internal_error, invalid_params, unknown_session};
use super::event_translator::EventTranslator;
use super::sink::Sink;
use super::{ATTEMPT_PAUSE, AcpServer, MAX_ATTEMPTS, behavior_profile, files, options, terminals};
use crate::conversation::{AgentComponents, ConversationService, RemoteAgents};
use crate::dialects::blocking::blocking;
use crate::engine::Options;
use crate::mcp;
use crate::providers::ModelSelection;
use crate::session::{OpenError, Scope, Session, SessionOptions};

/// The request of a client.
pub(super) struct SessionRequest {
    /// The method of the request.
    pub method: &'static str,
    /// Working directory of the session.
    pub cwd: String,
    /// MCP servers besides the servers from files.
    pub servers: Vec<AcpMcpServer>,
    /// The id of a stored session, or `None` for a new one. If the session is open, it is closed and opened again,
    /// because directory and servers may differ.
    pub session: Option<String>,
}

/// A session that was just opened, with the warnings for the client.
pub(super) struct OpenedSession {
    pub session: Arc<ActiveSession>,
    pub warnings: Vec<String>,
    /// The user interface. It is connected only after the client has received the session, because a remote agent
    /// may emit events at once.
    client_ui: Option<Arc<ClientUi>>,
}

impl OpenedSession {
    /// Connects the client and sends it the warnings. Called after the client has received the response with the
    /// session.
    pub fn notify_client(self, server: &AcpServer) {
        if let Some(client_ui) = self.client_ui {
            self.session.conversation.connect(client_ui);
        }
        for warning in &self.warnings {
            server.client.send_notice(&self.session.id, AcpNoticeSeverity::Warning, warning, true);
        }
        tokio::spawn(self.session.forward_updates());
    }
}

impl AcpServer {
    /// Opens a session. Fails if the directory does not exist or the session is not stored. Unusable parameters
    /// leave a session that is open already unchanged.
    pub(super) async fn open(&self, request: SessionRequest) -> Result<OpenedSession, CommandError> {
        let cwd = directory(request.method, &request.cwd).await?;
        if let Some(agents) = self.remote_agents() {
            return self.open_remote(&*agents, cwd, request).await;
        }
        let mut components = self.components_in(&cwd).await?;
        let (definitions, warnings) = client_servers(&cwd, request.servers);
        let is_new = |known: &mcp::ServerDefinition| definitions.iter().all(|given| given.name != known.name);
        components.mcp.definitions.retain(is_new);
        components.mcp.definitions.splice(0..0, definitions.iter().cloned());
        components.pending_trust = components.pending_trust.map(|pending| pending.with_servers(definitions));
        if let Some(id) = &request.session {
            // Without a store, the open session continues.
            if components.options.store.is_none() {
                return Err(unknown_session(id));
            }
            let was_open = self.close(id).await;
            let session = open_stored(&components.options, &cwd, id, was_open).await?;
            if let Some((provider, model)) = session.branch_settings().model
                && let Some(model) = components.options.catalog.get_available(&provider, &model)
            {
                components.options.model = Some(ModelSelection { model: model.clone(), thinking: None });
            }
            components.session = Some(session);
        }
        let (session, client_ui) = self.assemble(cwd, components);
        session.conversation.connect(client_ui);
        Ok(OpenedSession { session, warnings, client_ui: None })
    }

    /// Opens a session of a remote agent.
    async fn open_remote(
        &self,
        agents: &dyn RemoteAgents,
        cwd: PathBuf,
        request: SessionRequest,
    ) -> Result<OpenedSession, CommandError> {
        let warning = |server: AcpMcpServer| {
            format!("This agent does not accept MCP servers from its client: \"{}\" is ignored", server.name)
        };
        let warnings = request.servers.into_iter().map(warning).collect();
        let id = request.session.as_deref();
        let close = async {
            if let Some(id) = id {
                self.close(id).await;
            }
        };
        let components = agents.start(&cwd, id, close.boxed()).await.map_err(internal_error)?;
        let mut components = components.ok_or_else(|| unknown_session(id.unwrap_or_default()))?;
        components.options.profile = behavior_profile();
        let (session, client_ui) = self.assemble(cwd, components);
        Ok(OpenedSession { session, warnings, client_ui: Some(client_ui) })
    }

    /// Creates a session from its components, and the user interface that belongs to it.
    fn assemble(&self, cwd: PathBuf, mut components: AgentComponents) -> (Arc<ActiveSession>, Arc<ClientUi>) {
        let cost = components.session.as_ref().map_or(0.0, |session| session.stats().cost);
        let translator = EventTranslator::new(cwd.clone(), components.options.catalog.clone(), cost);
        let sink = Arc::new(Sink::new(self.client.clone(), translator));
        files::install(&mut components, &self.client, &sink);
        terminals::install(&mut components, &self.client, &sink);
        let conversation = Arc::new(ConversationService::new(components, sink.clone(), self.stop.clone()));
        let id = conversation.engine().status().session_id;
        sink.set_session(&id);
        let client_ui = Arc::new(ClientUi::new(self.client.clone(), sink.clone(), id.clone()));
        self.conversations.add(conversation.clone());
        let offered_options =
            options::OfferedOptions::of(self.remote_agents().map(|agents| agents.capabilities()));
        let session = Arc::new(ActiveSession::new(
            id.clone(),
            cwd,
            conversation,
            self.client.clone(),
            sink,
            offered_options,
        ));
        self.sessions().insert(id, session.clone());
        (session, client_ui)
    }

    /// Returns the components of a session in the given directory.
    async fn components_in(&self, cwd: &Path) -> Result<AgentComponents, CommandError> {
        let (mut components, factory) = {
            let components = self.components();
            (components.for_session(None), components.components_factory.clone())
        };
        if components.options.context.cwd == cwd {
            return Ok(components);
        }
        match factory {
            Some(factory) => {
                let cwd = cwd.to_owned();
                let (unsaved, fairness) = (components.options.unsaved_state, components.options.fairness);
                components = blocking(move || factory.components(&cwd)).await.map_err(internal_error)?;
                // At its end the process reports all unsaved sessions together.
                (components.options.unsaved_state, components.options.fairness) = (unsaved, fairness);
                components.options.profile = behavior_profile();
            }
            None => {
                components.options.context.cwd = cwd.to_owned();
                components.options.store = components.options.store.map(|store| store.shared(cwd));
                // The pending question about trust concerns another directory.
                components.pending_trust = None;
            }
        }
        Ok(components)
    }

    /// Closes a session that is open here. Returns false if no such session is open.
    pub(super) async fn close(&self, id: &str) -> bool {
        let Some(session) = self.sessions().remove(id) else { return false };
        session.cancel().await;
        session.stop_updates();
        drop(session);
        let closed = self.conversations.close(id).await;
        if let Some(agents) = self.remote_agents() {
            agents.stop(id).await;
        }
        closed
    }
}

/// Checks a directory from a client. Fails if the path is relative or the directory does not exist.
pub(super) async fn directory(method: &'static str, given: &str) -> Result<PathBuf, CommandError> {
    let path: PathBuf = Path::new(given).components().collect();
    if !path.is_absolute() {
        return Err(invalid_params(method, "`cwd` must be an absolute path"));
    }
    let looked = path.clone();
    match blocking(move || looked.is_dir()).await {
        true => Ok(path),
        false => Err(invalid_params(method, &format!("`cwd`: {given} is not a directory"))),
    }
}

/// Opens the stored session with the given id, from any directory. If the session was just `closed`, retries
/// while its file is still locked by tasks that are about to end.
async fn open_stored(options: &Options, cwd: &Path, id: &str, closed: bool) -> Result<Session, CommandError> {
    let store = options.store.clone().ok_or_else(|| unknown_session(id))?;
    let mut attempts_left = if closed { MAX_ATTEMPTS } else { 1 };
    loop {
        attempts_left -= 1;
        let start =
            SessionOptions::new(cwd, options.clock.clone(), options.ids.clone()).write_in_background();
        let (store, wanted) = (store.clone(), id.to_owned());
        let opened =
            blocking(move || store.find_in(Scope::All, &wanted).map(|path| Session::open(&path, start)));
        match opened.await.ok_or_else(|| unknown_session(id))? {
            Ok(session) => return Ok(session),
            Err(OpenError::Locked { .. }) if attempts_left > 0 => tokio::time::sleep(ATTEMPT_PAUSE).await,
            Err(error) => return Err(internal_error(error)),
        }
    }
}

/// Returns the usable MCP servers from a client, and one warning for each unusable server.
fn client_servers(cwd: &Path, servers: Vec<AcpMcpServer>) -> (Vec<mcp::ServerDefinition>, Vec<String>) {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let paths = || mcp::McpPaths { cwd, home: home.as_deref(), agent_dir: None };
    let environment = |name: &str| std::env::var_os(name);
    let (mut definitions, mut warnings): (Vec<mcp::ServerDefinition>, _) = (Vec::new(), Vec::new());
    for server in servers {
        let name = server.name.clone();
        if definitions.iter().any(|known| known.name == name) {
            warnings.push(format!("Two MCP servers have the name \"{name}\"; the second one is ignored"));
            continue;
        }
        match mcp::parse_client_servers(&[members(server)], paths(), &environment) {
            Ok(given) => definitions.extend(given),
            Err(reason) => warnings.push(format!("{reason}; it is ignored")),
        }
    }
    (definitions, warnings)
}

/// Converts an MCP server to the members that configuration files use.
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
