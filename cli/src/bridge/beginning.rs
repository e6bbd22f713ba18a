//! What an agent is before anybody says anything to it, and the front that begins with that.

use std::path::Path;
use std::sync::Arc;

use agentese::any::{Agent, Intent, carries};
use agentese::types::{Model, ThinkingLevel};
use agentese_server::config::{Persist, Settings};
use agentese_server::engine::Lead;
use agentese_server::fronts::Frontend;
use agentese_server::providers::{Catalog, Failure, FailureKind, Provider, Request, StreamEvent};
use agentese_server::server::{Builder, Server};
use agentese_server::session::{Session, Start};
use agentese_server::tools::ToolSet;
use agentese_server::world::{RandomIds, SystemClock};
use futures::StreamExt;
use futures::stream::BoxStream;
use serde_json::Value;

use super::convert;

/// What the agent is before anybody says anything to it.
pub(super) struct Beginning {
    /// All its models.
    pub models: Vec<Model>,
    /// The one in use.
    pub model: Option<Model>,
    /// How hard it thinks.
    pub thinking: Option<ThinkingLevel>,
    /// Its own, as far as it tells.
    pub settings: Settings,
    /// What was said before.
    pub messages: Vec<agentese::types::AgentMessage>,
    /// Its session, as far as the agent tells.
    pub session: agentese::view::Session,
}

impl Beginning {
    /// Asks the agent.
    pub async fn of(agent: &Agent) -> Result<Self, agentese::Error> {
        agent.session().await?;
        let state = told(agent, Intent::State, agent.state()).await?;
        let models = told(agent, Intent::Models, agent.models()).await?;
        let messages = told(agent, Intent::Messages, agent.messages()).await?;
        let model = match &state.model {
            Some(model) => Some(convert::model(model)),
            // Answers say who gave them.
            None if models.is_empty() => {
                let mut model = convert::unnamed(agent.dialect());
                // Levels that it may take are not held back here.
                model.reasoning = has(agent, Intent::SetThinking);
                Some(model)
            }
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
            messages: convert::history(&messages.iter().collect::<Vec<_>>()),
            session: state.session,
        })
    }

    /// A front that the agent leads; what a client sets goes to `persist`. It works in that directory, and its session has
    /// that id. Nothing of this machine's own settings, models and
    /// programs plays a part.
    pub fn server(
        self,
        frontend: &'static Frontend,
        lead: Arc<dyn Lead>,
        persist: Arc<dyn Persist>,
        cwd: &Path,
        id: Option<String>,
    ) -> Builder {
        let mut elsewhere = convert::elsewhere(&self.session);
        if id.is_some() {
            elsewhere.id.clone_from(&id);
        }
        let start = Start::new(cwd, Arc::new(SystemClock), Arc::new(RandomIds)).id(id);
        let mut session = Session::in_memory(start);
        if let Some(model) = &self.model {
            session.model_changed(&model.provider, &model.id);
        }
        session.thinking_changed(self.thinking.unwrap_or(ThinkingLevel::Off));
        self.messages.into_iter().for_each(|message| drop(session.append(Arc::new(message))));
        if let Some(name) = &self.session.name {
            let _ = session.rename(name);
        }
        session.kept_elsewhere(elsewhere);
        let mut builder: Builder = Server::builder()
            .lead(lead)
            .catalog(Catalog::new(providers(self.models)))
            .persist(persist)
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
        builder
    }
}

/// Whether the agent has a command for it for certain: where its revision is not known yet, whether every revision has.
fn has(agent: &Agent, intent: Intent) -> bool {
    let spec = agent.spec();
    match spec.revisions {
        [] => carries(spec, intent),
        revisions => revisions.iter().all(|revision| carries(revision, intent)),
    }
}

/// What the agent answers; nothing where it may have no such command, whose refusal would be told to a client that asked
/// nothing.
async fn told<T: Default>(
    agent: &Agent,
    intent: Intent,
    asked: impl Future<Output = Result<T, agentese::Error>>,
) -> Result<T, agentese::Error> {
    if has(agent, intent) { asked.await } else { Ok(T::default()) }
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
            Failure::new(FailureKind::BadRequest, "the agent behind this one asks its models itself");
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
