//! The servers of one conversation: their tools, prompts and states.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use futures::future::join_all;
use tokio::time::{Instant, timeout_at};

use super::around::Around;
use super::connection::Failed;
use super::definition::Definition;
use super::names;
use super::options::Options;
use super::prompts::{Expanded, arguments, expanded};
use super::server::{Hears, Now, Server, State, Status};
use super::tool::McpTool;
use crate::engine::{Hooks, WeakEngine};
use crate::resources::{CommandInfo, CommandSource};
use crate::tools::{Spawner, ToolSet};

/// The servers of one conversation. As a hook of the engine, it adds their tools.
pub struct Servers {
    me: Weak<Self>,
    options: Options,
    around: Around,
    /// Names of the tools that do not come from servers.
    own: Vec<String>,
    link: OnceLock<WeakEngine>,
    state: Mutex<Of>,
}

#[derive(Default)]
struct Of {
    definitions: Vec<Definition>,
    /// The enabled tools; `None` if all are enabled.
    chosen: Option<Vec<String>>,
    members: Vec<Arc<Server>>,
    begun: bool,
    off: bool,
    closed: bool,
    /// Deadline for waiting for servers that are starting.
    patience: Option<Instant>,
    /// True after missing servers and tools were logged.
    told: bool,
}

impl std::fmt::Debug for Servers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Servers").field("members", &self.state().members).finish_non_exhaustive()
    }
}

/// A tool of a server: the index of the server, the index of the tool in its offer, and the name for the
/// model.
struct Offered {
    server: usize,
    place: usize,
    name: String,
}

impl Servers {
    /// Creates the servers without starting them. `own` contains the tools that do not come from servers.
    pub fn new(mut options: Options, spawner: Arc<dyn Spawner>, own: &ToolSet) -> Arc<Self> {
        let around = Around {
            spawner,
            hidden: options.hidden.clone(),
            limits: options.limits,
            http: options.http.clone(),
            clock: options.clock.clone(),
        };
        let state = Of {
            definitions: std::mem::take(&mut options.definitions),
            chosen: options.chosen.take(),
            ..Of::default()
        };
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            options,
            around,
            own: own.names().map(str::to_owned).collect(),
            link: OnceLock::new(),
            state: Mutex::new(state),
        })
    }

    fn state(&self) -> MutexGuard<'_, Of> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the engine that receives the failures of servers. Later calls have no effect.
    pub fn connect(&self, engine: WeakEngine) {
        let _ = self.link.set(engine);
    }

    /// Starts the servers without waiting for them. Needs a runtime.
    pub fn begin(&self) {
        self.state().begun = true;
        self.renew();
    }

    /// Replaces the definitions, for example after the user trusts a directory. Servers with an unchanged
    /// definition continue.
    pub fn replace(&self, definitions: Vec<Definition>) {
        self.state().definitions = definitions;
        self.renew();
    }

    /// Enables or disables all servers of the conversation. Disabled servers end if no other conversation
    /// uses them.
    pub fn set_enabled(&self, enabled: bool) {
        self.state().off = !enabled;
        self.renew();
    }

    /// Restricts the tools to these names; `None` enables all of them. A name is the name for the model or
    /// the name at the server. A name that ends in `*` is a prefix of names for the model.
    pub fn choose(&self, chosen: Option<Vec<String>>) {
        self.state().chosen = chosen;
    }

    /// Starts and ends servers according to the definitions.
    fn renew(&self) {
        let mut state = self.state();
        let wanted = match state.begun && !state.off && !state.closed {
            true => state.definitions.clone(),
            false => Vec::new(),
        };
        let before = std::mem::take(&mut state.members);
        let mut untold = Vec::new();
        for definition in wanted {
            let known = before.iter().find(|server| server.definition == definition).cloned();
            let server = known.unwrap_or_else(|| {
                state.patience = Some(Instant::now() + self.options.limits.wait);
                let server = self.options.pool.enter(&definition, &self.around);
                let me: Weak<dyn Hears> = self.me.clone();
                untold.extend(server.tell(me).map(|what| (server.clone(), what)));
                server
            });
            state.members.push(server);
        }
        let stays = |server: &Arc<Server>| state.members.iter().any(|member| Arc::ptr_eq(member, server));
        before.iter().filter(|server| !stays(server)).for_each(|server| {
            self.options.pool.leave(server);
        });
        drop(state);
        untold.iter().for_each(|(server, what)| self.failed(&server.definition.name, what));
    }

    /// Waits until every server has started or failed, at most for the waiting time in the limits. The time
    /// begins with the start of the newest server.
    pub async fn ready(&self) {
        let (members, patience) = {
            let state = self.state();
            (state.members.clone(), state.patience)
        };
        let Some(patience) = patience else { return };
        let _ = timeout_at(patience, join_all(members.iter().map(|server| server.started()))).await;
        if !std::mem::replace(&mut self.state().told, true) {
            self.tell_of_missing(&members);
        }
    }

    fn tell_of_missing(&self, members: &[Arc<Server>]) {
        let late = members.iter().filter(|server| server.now().state == State::Starting);
        for server in late {
            let wait = self.options.limits.wait.as_millis();
            let name = &server.definition.name;
            tracing::warn!(
                "mcp:{name}: it is still starting after {wait} ms; its tools come when it is there"
            );
        }
        let chosen = self.state().chosen.clone().unwrap_or_default();
        let (now, offered) = self.offered(|name| self.own.iter().any(|own| own == name));
        for name in chosen.iter().filter(|name| !self.own.contains(name) && !ToolSet::is_available(name)) {
            let is =
                |tool: &Offered| matches(name, &tool.name, &now[tool.server].1.offer.tools[tool.place].name);
            if !offered.iter().any(is) {
                tracing::warn!("there is no tool \"{name}\", and no MCP server that is there offers one");
            }
        }
    }

    /// Returns the states of the servers, in the order of their files.
    pub fn status(&self) -> Vec<Status> {
        let own = |name: &str| self.own.iter().any(|own| own == name);
        let (now, tools) = self.offered(own);
        let prompts = self.prompts();
        let status = |(place, (server, now)): (usize, &(Arc<Server>, Now))| Status {
            name: server.definition.name.clone(),
            file: server.definition.file.clone(),
            state: now.state,
            why: now.why.as_deref().map(str::to_owned),
            tools: tools.iter().filter(|tool| tool.server == place).map(|tool| tool.name.clone()).collect(),
            prompts: prompts
                .iter()
                .filter(|(of, ..)| Arc::ptr_eq(of, server))
                .map(|(_, _, name)| name.clone())
                .collect(),
            left_out: now.offer.left_out.clone(),
        };
        now.iter().enumerate().map(status).collect()
    }

    /// Returns the enabled tools, with the current values of their servers.
    fn offered(&self, taken: impl Fn(&str) -> bool) -> (Vec<(Arc<Server>, Now)>, Vec<Offered>) {
        let (members, chosen) = {
            let state = self.state();
            (state.members.clone(), state.chosen.clone())
        };
        let now: Vec<(Arc<Server>, Now)> =
            members.into_iter().map(|server| (server.clone(), server.now())).collect();
        let places: Vec<(usize, usize)> = now
            .iter()
            .enumerate()
            .flat_map(|(place, (server, now))| {
                let counts = |(_, tool): &(usize, &rmcp::model::Tool)| server.definition.offers(&tool.name);
                now.offer.tools.iter().enumerate().filter(counts).map(move |(tool, _)| (place, tool))
            })
            .collect();
        let called = |(server, tool): &(usize, usize)| {
            let (server, now) = &now[*server];
            (server.definition.name.as_str(), &*now.offer.tools[*tool].name)
        };
        let names = names::tools(places.iter().map(called), taken);
        let offered = places.iter().zip(names).filter(|(place, name)| {
            chosen
                .as_ref()
                .is_none_or(|chosen| chosen.iter().any(|wanted| matches(wanted, name, called(place).1)))
        });
        let offered = offered.map(|(&(server, place), name)| Offered { server, place, name }).collect();
        (now, offered)
    }

    /// Returns the prompts: their server, their index and the name of their command.
    fn prompts(&self) -> Vec<(Arc<Server>, usize, String)> {
        let members = self.state().members.clone();
        let now: Vec<(Arc<Server>, Now)> =
            members.into_iter().map(|server| (server.clone(), server.now())).collect();
        if now.iter().all(|(_, now)| now.offer.prompts.is_empty()) {
            return Vec::new();
        }
        let all = now.iter().flat_map(|(server, now)| {
            now.offer.prompts.iter().map(|prompt| (server.definition.name.as_str(), prompt.name.as_str()))
        });
        let taken =
            self.link.get().and_then(WeakEngine::engine).map(|engine| engine.commands()).unwrap_or_default();
        let names = names::prompts(all, |name| taken.iter().any(|known| known.name == name));
        let places = now
            .iter()
            .flat_map(|(server, now)| (0..now.offer.prompts.len()).map(|place| (server.clone(), place)));
        places.zip(names).map(|((server, place), name)| (server, place, name)).collect()
    }

    /// Returns the prompts as commands.
    pub fn commands(&self) -> Vec<CommandInfo> {
        let command = |(server, place, name): (Arc<Server>, usize, String)| {
            let offer = server.now().offer;
            let prompt = offer.prompts.get(place);
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

    /// Expands a text that invokes a prompt of a server. Returns `None` for any other text. Fails with a
    /// message that names the prompt and the server.
    pub async fn expand(&self, text: &str) -> Result<Option<Expanded>, String> {
        let Some(command) = text.strip_prefix('/') else { return Ok(None) };
        let (name, words) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let Some((server, place, _)) = self.prompts().into_iter().find(|(_, _, known)| known == name) else {
            return Ok(None);
        };
        let failed =
            |why: &str| format!("the prompt /{name} of the MCP server {}: {why}", server.definition.name);
        let now = server.now();
        let (Some(prompt), Some(connection)) = (now.offer.prompts.get(place), &now.connection) else {
            return Err(failed("the server is not there"));
        };
        let arguments = arguments(prompt, words).map_err(|why| failed(&why))?;
        let answer = connection.prompt(&prompt.name, arguments, server.call_limit()).await;
        answer.map(|result| Some(expanded(result))).map_err(|error: Failed| failed(&error.to_string()))
    }

    /// Ends the servers that no other conversation uses, and waits until they have ended. Later calls have no
    /// effect.
    pub async fn shut_down(&self) {
        let leaving = {
            let mut state = self.state();
            state.closed = true;
            std::mem::take(&mut state.members)
        };
        let ending: Vec<_> = leaving.iter().filter(|server| self.options.pool.leave(server)).collect();
        join_all(ending.iter().map(|server| server.stopped())).await;
    }
}

/// Returns true if a name in the selection applies to a tool, by its name for the model or its own name.
fn matches(wanted: &str, called: &str, own: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(start) => called.starts_with(start),
        None => wanted == called || wanted == own,
    }
}

impl Hooks for Servers {
    fn tools(&self, own: &ToolSet) -> ToolSet {
        let (now, offered) = self.offered(|name| own.get(name).is_some());
        let mut tools = own.clone();
        for Offered { server, place, name } in offered {
            let (server, now) = &now[server];
            tools.add(Arc::new(McpTool { server: server.clone(), offer: now.offer.clone(), place, name }));
        }
        tools
    }
}

impl Hears for Servers {
    fn failed(&self, server: &str, why: &str) {
        if self.state().closed {
            return;
        }
        if let Some(engine) = self.link.get().and_then(WeakEngine::engine) {
            engine.extension_failed(&format!("mcp:{server}"), "server", why);
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for server in std::mem::take(&mut self.state().members) {
            self.options.pool.leave(&server);
        }
    }
}
