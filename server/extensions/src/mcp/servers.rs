//! The servers of one conversation: their tools, prompts and states.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use futures::future::join_all;
use tokio::time::{Instant, timeout_at};

use super::connection::RequestError;
use super::context::ServerContext;
use super::definition::ServerDefinition;
use super::names;
use super::options::McpOptions;
use super::prompts::{PromptExpansion, combine_messages, parse_arguments};
use super::server::{FailureListener, Server, ServerSnapshot, ServerState, ServerStatus};
use super::tool::McpTool;
use crate::engine::{Hooks, WeakEngine};
use crate::resources::{CommandInfo, CommandSource};
use crate::tools::{Spawner, ToolSet};

/// The servers of one conversation. As a hook of the engine, this type adds their tools.
pub struct Servers {
    me: Weak<Self>,
    options: McpOptions,
    context: ServerContext,
    /// Names of all tools of the agent that are not tools of servers.
    other_tools: Vec<String>,
    engine_handle: OnceLock<WeakEngine>,
    state: Mutex<ServersState>,
}

#[derive(Default)]
struct ServersState {
    definitions: Vec<ServerDefinition>,
    /// The enabled tools; `None` if all are enabled.
    enabled_tools: Option<Vec<String>>,
    servers: Vec<Arc<Server>>,
    started: bool,
    is_disabled: bool,
    closed: bool,
    /// End of the time for which a prompt waits for starting servers.
    start_deadline: Option<Instant>,
    /// True after missing servers and tools were logged once.
    missing_logged: bool,
}

impl std::fmt::Debug for Servers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Servers").field("members", &self.state().servers).finish_non_exhaustive()
    }
}

/// A tool of a server: the index of the server, the index of the tool in the server's list, and its name for the model.
struct ToolRef {
    server: usize,
    index: usize,
    name: String,
}

impl Servers {
    /// Creates the servers without starting them. `own` contains the agent's tools that are not tools of servers.
    pub fn new(mut options: McpOptions, spawner: Arc<dyn Spawner>, own: &ToolSet) -> Arc<Self> {
        let context = ServerContext {
            spawner,
            hidden: options.hidden.clone(),
            limits: options.limits,
            http: options.http.clone(),
            clock: options.clock.clone(),
        };
        let state = ServersState {
            definitions: std::mem::take(&mut options.definitions),
            enabled_tools: options.enabled_tools.take(),
            ..ServersState::default()
        };
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            options,
            context,
            other_tools: own.names().map(str::to_owned).collect(),
            engine_handle: OnceLock::new(),
            state: Mutex::new(state),
        })
    }

    fn state(&self) -> MutexGuard<'_, ServersState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the engine to which failures of servers are reported. Later calls have no effect.
    pub fn connect(&self, engine: WeakEngine) {
        let _ = self.engine_handle.set(engine);
    }

    /// Starts the servers. Returns without waiting for them. Requires a Tokio runtime.
    pub fn start(&self) {
        self.state().started = true;
        self.reconcile();
    }

    /// Replaces the definitions, for example after the user trusts a directory. Servers with an unchanged
    /// definition continue.
    pub fn replace(&self, definitions: Vec<ServerDefinition>) {
        self.state().definitions = definitions;
        self.reconcile();
    }

    /// Enables or disables all servers of the conversation. A disabled server ends unless another conversation uses it.
    pub fn set_enabled(&self, enabled: bool) {
        self.state().is_disabled = !enabled;
        self.reconcile();
    }

    /// Enables only the tools with these names, or all tools if `chosen` is `None`. A name is the tool's name for the
    /// model or at the server. A name that ends in `*` matches names for the model by their beginning.
    pub fn enable_tools(&self, chosen: Option<Vec<String>>) {
        self.state().enabled_tools = chosen;
    }

    /// Starts servers with a new definition, and releases servers whose definition was removed.
    fn reconcile(&self) {
        let mut state = self.state();
        let wanted = match state.started && !state.is_disabled && !state.closed {
            true => state.definitions.clone(),
            false => Vec::new(),
        };
        let previous = std::mem::take(&mut state.servers);
        let mut failures = Vec::new();
        for definition in wanted {
            let known = previous.iter().find(|server| server.definition == definition).cloned();
            let server = known.unwrap_or_else(|| {
                state.start_deadline = Some(Instant::now() + self.options.limits.wait);
                let server = self.options.pool.acquire(&definition, &self.context);
                let me: Weak<dyn FailureListener> = self.me.clone();
                failures.extend(server.add_listener(me).map(|what| (server.clone(), what)));
                server
            });
            state.servers.push(server);
        }
        let stays = |server: &Arc<Server>| state.servers.iter().any(|member| Arc::ptr_eq(member, server));
        previous.iter().filter(|server| !stays(server)).for_each(|server| {
            self.options.pool.release(server);
        });
        drop(state);
        failures.iter().for_each(|(server, what)| self.on_failure(&server.definition.name, what));
    }

    /// Waits until every server has started or failed. The waiting time of the limits bounds the wait; it is counted
    /// from the start of the newest server.
    pub async fn ready(&self) {
        let (members, deadline) = {
            let state = self.state();
            (state.servers.clone(), state.start_deadline)
        };
        let Some(deadline) = deadline else { return };
        let _ = timeout_at(deadline, join_all(members.iter().map(|server| server.started()))).await;
        if !std::mem::replace(&mut self.state().missing_logged, true) {
            self.log_missing(&members);
        }
    }

    fn log_missing(&self, members: &[Arc<Server>]) {
        let late = members.iter().filter(|server| server.snapshot().state == ServerState::Starting);
        for server in late {
            let wait = self.options.limits.wait.as_millis();
            let name = &server.definition.name;
            tracing::warn!(
                "mcp:{name}: it is still starting after {wait} ms; its tools follow when it has started"
            );
        }
        let chosen = self.state().enabled_tools.clone().unwrap_or_default();
        let (now, offered) = self.offered_tools(|name| self.other_tools.iter().any(|own| own == name));
        for name in
            chosen.iter().filter(|name| !self.other_tools.contains(name) && !ToolSet::is_available(name))
        {
            let is = |tool: &ToolRef| {
                name_matches(name, &tool.name, &now[tool.server].1.features.tools[tool.index].name)
            };
            if !offered.iter().any(is) {
                tracing::warn!("unknown tool \"{name}\": neither the agent nor a running MCP server has it");
            }
        }
    }

    /// Returns the states of the servers, in the order of their files.
    pub fn status(&self) -> Vec<ServerStatus> {
        let own = |name: &str| self.other_tools.iter().any(|own| own == name);
        let (now, tools) = self.offered_tools(own);
        let prompts = self.prompts();
        let status = |(index, (server, now)): (usize, &(Arc<Server>, ServerSnapshot))| ServerStatus {
            name: server.definition.name.clone(),
            file: server.definition.file.clone(),
            state: now.state,
            reason: now.reason.as_deref().map(str::to_owned),
            tools: tools.iter().filter(|tool| tool.server == index).map(|tool| tool.name.clone()).collect(),
            prompts: prompts
                .iter()
                .filter(|(of, ..)| Arc::ptr_eq(of, server))
                .map(|(_, _, name)| name.clone())
                .collect(),
            left_out: now.features.left_out.clone(),
        };
        now.iter().enumerate().map(status).collect()
    }

    /// Returns the enabled tools, each with the current list of its server.
    fn offered_tools(
        &self,
        taken: impl Fn(&str) -> bool,
    ) -> (Vec<(Arc<Server>, ServerSnapshot)>, Vec<ToolRef>) {
        let (members, chosen) = {
            let state = self.state();
            (state.servers.clone(), state.enabled_tools.clone())
        };
        let now: Vec<(Arc<Server>, ServerSnapshot)> =
            members.into_iter().map(|server| (server.clone(), server.snapshot())).collect();
        let indices: Vec<(usize, usize)> = now
            .iter()
            .enumerate()
            .flat_map(|(index, (server, now))| {
                let counts =
                    |(_, tool): &(usize, &rmcp::model::Tool)| server.definition.allows_tool(&tool.name);
                now.features.tools.iter().enumerate().filter(counts).map(move |(tool, _)| (index, tool))
            })
            .collect();
        let called = |(server, tool): &(usize, usize)| {
            let (server, now) = &now[*server];
            (server.definition.name.as_str(), &*now.features.tools[*tool].name)
        };
        let names = names::tools(indices.iter().map(called), taken);
        let offered = indices.iter().zip(names).filter(|(index, name)| {
            chosen
                .as_ref()
                .is_none_or(|chosen| chosen.iter().any(|wanted| name_matches(wanted, name, called(index).1)))
        });
        let offered = offered.map(|(&(server, index), name)| ToolRef { server, index, name }).collect();
        (now, offered)
    }

    /// Returns the prompts of all servers: the server, the index of the prompt, and the name of its command.
    fn prompts(&self) -> Vec<(Arc<Server>, usize, String)> {
        let members = self.state().servers.clone();
        let now: Vec<(Arc<Server>, ServerSnapshot)> =
            members.into_iter().map(|server| (server.clone(), server.snapshot())).collect();
        if now.iter().all(|(_, now)| now.features.prompts.is_empty()) {
            return Vec::new();
        }
        let all = now.iter().flat_map(|(server, now)| {
            now.features.prompts.iter().map(|prompt| (server.definition.name.as_str(), prompt.name.as_str()))
        });
        let taken = self
            .engine_handle
            .get()
            .and_then(WeakEngine::engine)
            .map(|engine| engine.commands())
            .unwrap_or_default();
        let names = names::prompts(all, |name| taken.iter().any(|known| known.name == name));
        let indices = now
            .iter()
            .flat_map(|(server, now)| (0..now.features.prompts.len()).map(|index| (server.clone(), index)));
        indices.zip(names).map(|((server, index), name)| (server, index, name)).collect()
    }

    /// Returns the prompts as commands.
    pub fn commands(&self) -> Vec<CommandInfo> {
        let command = |(server, index, name): (Arc<Server>, usize, String)| {
            let features = server.snapshot().features;
            let prompt = features.prompts.get(index);
            CommandInfo {
                name,
                description: prompt.and_then(|prompt| prompt.description.clone().or(prompt.title.clone())),
                source: CommandSource::Template,
                location: None,
                path: None,
            }
        };
        self.prompts().into_iter().map(command).collect()
    }

    /// Expands a text that invokes a prompt of a server. Returns `None` for any other text. Fails if the prompt cannot
    /// be expanded; the error names the prompt and the server.
    pub async fn expand(&self, text: &str) -> Result<Option<PromptExpansion>, String> {
        let Some(command) = text.strip_prefix('/') else { return Ok(None) };
        let (name, words) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let Some((server, index, _)) = self.prompts().into_iter().find(|(_, _, known)| known == name) else {
            return Ok(None);
        };
        let failed =
            |why: &str| format!("the prompt /{name} of the MCP server {}: {why}", server.definition.name);
        let now = server.snapshot();
        let (Some(prompt), Some(connection)) = (now.features.prompts.get(index), &now.connection) else {
            return Err(failed("the server is not running"));
        };
        let arguments = parse_arguments(prompt, words).map_err(|why| failed(&why))?;
        let answer = connection.prompt(&prompt.name, arguments, server.call_limit()).await;
        answer
            .map(|result| Some(combine_messages(result)))
            .map_err(|error: RequestError| failed(&error.to_string()))
    }

    /// Ends the servers that no other conversation uses, and waits until they have ended. Later calls have no
    /// effect.
    pub async fn shut_down(&self) {
        let leaving = {
            let mut state = self.state();
            state.closed = true;
            std::mem::take(&mut state.servers)
        };
        let ending: Vec<_> = leaving.iter().filter(|server| self.options.pool.release(server)).collect();
        join_all(ending.iter().map(|server| server.stopped())).await;
    }
}

/// Returns true if a selected name matches a tool. `called` is the tool's name for the model, `own` its name at the
/// server.
fn name_matches(wanted: &str, called: &str, own: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(start) => called.starts_with(start),
        None => wanted == called || wanted == own,
    }
}

impl Hooks for Servers {
    fn tools(&self, own: &ToolSet) -> ToolSet {
        let (now, offered) = self.offered_tools(|name| own.get(name).is_some());
        let mut tools = own.clone();
        for ToolRef { server, index, name } in offered {
            let (server, now) = &now[server];
            tools.add(Arc::new(McpTool {
                server: server.clone(),
                features: now.features.clone(),
                index,
                name,
            }));
        }
        tools
    }
}

impl FailureListener for Servers {
    fn on_failure(&self, server: &str, why: &str) {
        if self.state().closed {
            return;
        }
        if let Some(engine) = self.engine_handle.get().and_then(WeakEngine::engine) {
            engine.extension_failed(&format!("mcp:{server}"), "server", why);
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for server in std::mem::take(&mut self.state().servers) {
            self.options.pool.release(&server);
        }
    }
}
