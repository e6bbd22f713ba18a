//! `agentese bridge`: an agent of one dialect behind a front end of another.
//!
//! The front is the server's own; its engine has the other agent do the work ([`agentese_server::engine::Lead`]), and
//! drives it through the client of all dialects ([`agentese::any`]). Nothing here knows a dialect.
//!
//! | file | concept |
//! |---|---|
//! | `remote`, `settings` | the agent: words, commands and settings on their way to it |
//! | `pump` | what it tells, on its way to the engine |
//! | `deeds` | from neutral events to deeds; without I/O |
//! | `convert` | messages, tools and models as the engine has them |
//! | `person` | the agent's questions and notices, for the front's client |
//! | `place` | where the agent has to go back to for a fork; without I/O |
//! | `losses` | what is carried, approximated and lost: declared, and counted |

mod convert;
mod deeds;
mod losses;
mod person;
mod place;
mod pump;
mod remote;
mod settings;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use agentese::any::{Agent, Intent};
use agentese::dynamic;
use agentese::serve::Options;
use agentese::transport::ChildOptions;
use agentese::types::{Model, ThinkingLevel};
use agentese_server::config::Settings;
use agentese_server::fronts::Frontend;
use agentese_server::providers::{Catalog, Failure as Broken, FailureKind, Provider, Request, StreamEvent};
use agentese_server::server::{Builder, Server};
use agentese_server::session::{Session, Start};
use agentese_server::tools::ToolSet;
use agentese_server::world::{RandomIds, SystemClock};
use futures::StreamExt;
use futures::stream::BoxStream;
use serde_json::Value;

use crate::arguments::Bridge;
use crate::stderr::Stderr;
use crate::{Failure, output, rpc};
use losses::{Heard, Losses};
use person::Person;
use remote::Remote;

/// Speaks with a client until it leaves, with the agent behind it. Fails where the agent cannot be started or its dialect
/// is not found out; gives 1 where it goes away before the client.
pub(super) fn run(options: Bridge, stderr: &Stderr) -> Result<ExitCode, Failure> {
    if let Some(pair) = &options.explain {
        return print(pair, options.json);
    }
    let frontend = Frontend::find(options.to.as_deref().unwrap_or_default())
        .map_err(|error| Failure::Usage(error.to_string()))?;
    rpc::log_to(stderr, false);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Failure::Io { context: "the runtime".to_owned(), source })?;
    let code = runtime.block_on(bridge(frontend, options, stderr));
    runtime.shutdown_background();
    code
}

/// Prints what becomes of each row of a pair.
fn print(pair: &[String], json: bool) -> Result<ExitCode, Failure> {
    let spec = |name: &str| dynamic::spec(name).map_err(|error| Failure::Usage(error.to_string()));
    let [front, agent] = pair else {
        return Err(Failure::Usage("--explain needs two dialects".to_owned()));
    };
    let (front, agent) = (spec(front)?, spec(agent)?);
    let rows = agentese::any::explain(front, agent).map_err(|error| Failure::Usage(error.to_string()))?;
    let text = match json {
        false => losses::text(front, agent, &rows),
        true => {
            let text = serde_json::json!({"front": front.id(), "agent": agent.id(), "rows": rows});
            format!("{text:#}\n")
        }
    };
    output::print(text.as_bytes())
}

async fn bridge(frontend: &'static Frontend, options: Bridge, stderr: &Stderr) -> Result<ExitCode, Failure> {
    let unusable = |error: &agentese::Error| Failure::Usage(format!("the agent: {error}"));
    let person = Person::new();
    let heard = Arc::<Heard>::default();
    let mut connect = agentese::any::Options::new().asked(person.clone());
    connect.dialect = options.from.clone();
    if options.report.is_some() {
        connect.tap = Some(heard.clone());
    }
    let agent = Agent::spawn(child(&options, stderr)?, connect).await.map_err(|error| unusable(&error))?;
    let start = Beginning::of(&agent).await;
    let start = match start {
        Ok(start) => start,
        Err(error) => {
            agent.close().await;
            return Err(unusable(&error));
        }
    };
    let losses = Losses::new(frontend.spec(), agent.spec(), heard).map_err(|error| unusable(&error))?;
    let losses = Arc::new(losses);
    let remote = Arc::new(Remote::new(agent.clone(), person));
    let mut serving = Options::default();
    serving.gate = Some(losses.gate());
    serving.stop = remote.parted();
    let served = rpc::serve(start.server(frontend, &remote), serving, stderr).await;
    let gone = remote.gone();
    agent.close().await;
    if let Some(path) = &options.report {
        let context = || path.display().to_string();
        losses.write(path).map_err(|source| Failure::Io { context: context(), source })?;
    }
    match gone {
        Some(reason) => {
            stderr.say(format_args!("Error: the agent is gone: {reason}"));
            Ok(ExitCode::FAILURE)
        }
        None => served,
    }
}

/// The agent's program; what it writes on stderr goes to stderr.
fn child(options: &Bridge, stderr: &Stderr) -> Result<ChildOptions, Failure> {
    let (program, words) =
        options.command.split_first().ok_or_else(|| Failure::Usage("no agent is named".to_owned()))?;
    let mut child = words.iter().fold(ChildOptions::new(program), ChildOptions::arg);
    let stderr = stderr.clone();
    child.on_stderr_line = Some(Arc::new(move |line: &str| stderr.say(line)));
    Ok(child)
}

/// What the agent is before anybody says anything to it.
struct Beginning {
    models: Vec<Model>,
    model: Option<Model>,
    thinking: Option<ThinkingLevel>,
    settings: Settings,
    messages: Vec<agentese::types::AgentMessage>,
    name: Option<String>,
}

impl Beginning {
    /// Asks the agent.
    async fn of(agent: &Agent) -> Result<Self, agentese::Error> {
        agent.session().await?;
        let state = match agent.can(Intent::State) {
            true => agent.state().await?,
            false => agentese::any::State::default(),
        };
        let models = match agent.can(Intent::Models) {
            true => agent.models().await?,
            false => Vec::new(),
        };
        let messages = match agent.can(Intent::Messages) {
            true => agent.messages().await?,
            false => Vec::new(),
        };
        let model = match &state.model {
            Some(model) => Some(convert::model(model)),
            // Answers say who gave them.
            None if models.is_empty() => Some(convert::unnamed(agent.dialect())),
            None => None,
        };
        let mut models: Vec<Model> = models.iter().map(convert::model).collect();
        // The one in use need not be listed.
        let is_known = |model: &Model| models.iter().any(|one| one.id == model.id);
        if let Some(model) = model.clone().filter(|model| !is_known(model)) {
            models.insert(0, model);
        }
        let set = |name: &str| state.settings.get(name).cloned().unwrap_or_default();
        let mut settings = Settings::default();
        settings.retry.enabled = set("autoRetry").as_bool().unwrap_or(true);
        settings.compaction.enabled = set("autoCompaction").as_bool().unwrap_or(true);
        if let Ok(mode) = serde_json::from_value(set("steeringMode")) {
            settings.steering_mode = mode;
        }
        if let Ok(mode) = serde_json::from_value(set("followUpMode")) {
            settings.follow_up_mode = mode;
        }
        let level = state.thinking_level.clone().map(Value::from).unwrap_or_default();
        Ok(Self {
            models,
            model,
            thinking: serde_json::from_value(level).ok(),
            settings,
            messages: remote::history(&messages.iter().collect::<Vec<_>>()),
            name: state.session.name,
        })
    }

    /// A front with that agent behind it. Nothing of this machine's own settings, models and programs plays a part.
    fn server(self, frontend: &'static Frontend, remote: &Arc<Remote>) -> Server {
        let cwd = std::env::current_dir().unwrap_or_else(|_| Path::new("/").to_owned());
        let start = Start::new(&cwd, Arc::new(SystemClock), Arc::new(RandomIds));
        let mut session = Session::in_memory(start);
        if let Some(model) = &self.model {
            session.model_changed(&model.provider, &model.id);
        }
        session.thinking_changed(self.thinking.unwrap_or(ThinkingLevel::Off));
        self.messages.into_iter().for_each(|message| drop(session.append(Arc::new(message))));
        if let Some(name) = &self.name {
            let _ = session.rename(name);
        }
        let mut builder: Builder = Server::builder()
            .lead(remote.clone())
            .catalog(Catalog::new(providers(self.models)))
            .persist(Arc::new(settings::Settings(remote.clone())))
            .settings(self.settings)
            .session(session)
            .tools(ToolSet::none())
            .dialect(frontend)
            .cwd(cwd);
        if let Some(level) = self.thinking {
            builder = builder.thinking(level);
        }
        if let Some(model) = &self.model {
            builder = builder.provider(&model.provider).model(&model.id);
        }
        builder.build()
    }
}

/// Models that another agent asks: it is led, and nobody here asks them.
struct Theirs {
    name: String,
    models: Vec<Model>,
}

impl Provider for Theirs {
    fn name(&self) -> &str {
        &self.name
    }

    fn models(&self) -> &[Model] {
        &self.models
    }

    fn stream(&self, _: Request) -> BoxStream<'static, StreamEvent> {
        let failure =
            Broken::new(FailureKind::BadRequest, "the agent behind this one asks its models itself");
        futures::stream::iter([StreamEvent::Error(failure)]).boxed()
    }
}

/// The providers of those models, each with its own, in their order.
fn providers(models: Vec<Model>) -> Vec<Arc<dyn Provider>> {
    let mut grouped: Vec<Theirs> = Vec::new();
    for model in models {
        match grouped.iter_mut().find(|provider| provider.name == model.provider) {
            Some(provider) => provider.models.push(model),
            None => grouped.push(Theirs { name: model.provider.clone(), models: vec![model] }),
        }
    }
    grouped.into_iter().map(|provider| -> Arc<dyn Provider> { Arc::new(provider) }).collect()
}
