//! The initial state of an agent, and a server of the client's dialect that starts with it.

use std::path::Path;
use std::sync::Arc;

use agentese::any::{Agent, Intent, supports};
use agentese::types::{Model, ThinkingLevel};
use agentese_server_base::config::{Settings, SettingsStore};
use agentese_server_base::runtime::{RandomIds, SystemClock};
use agentese_server_dialects::dialects::DialectEntry;
use agentese_server_dialects::server::{Builder, Server};
use agentese_server_engine::engine::RemoteAgent;
use agentese_server_models::{Catalog, Provider, ProviderError, ProviderErrorKind, Request, StreamEvent};
use agentese_server_sessions::session::{Session, SessionOptions};
use agentese_server_tools::ToolSet;
use futures::StreamExt;
use futures::stream::BoxStream;
use serde_json::Value;

use super::convert;

/// The initial state of an agent.
pub(super) struct InitialState {
    /// All models that the agent offers.
    pub models: Vec<Model>,
    /// The model that the agent currently uses.
    pub model: Option<Model>,
    /// The thinking level that the agent currently uses.
    pub thinking: Option<ThinkingLevel>,
    /// The settings that the agent reports; others have default values.
    pub settings: Settings,
    /// The messages of the agent's session.
    pub messages: Vec<agentese::types::AgentMessage>,
    /// The session, with the data that the agent reports.
    pub session: agentese::view::Session,
}

impl InitialState {
    /// Queries the initial state from the agent.
    pub async fn query(agent: &Agent) -> Result<Self, agentese::Error> {
        agent.session().await?;
        let state = query_if_supported(agent, Intent::State, agent.state()).await?;
        let models = query_if_supported(agent, Intent::Models, agent.models()).await?;
        let messages = query_if_supported(agent, Intent::Messages, agent.messages()).await?;
        let model = match &state.model {
            Some(model) => Some(convert::model(model)),
            // If the agent has no list of models, the model names in its answers are used.
            None if models.is_empty() => {
                let mut model = convert::unknown_model(agent.dialect());
                // The agent itself checks thinking levels, so the bridge must accept all of them.
                model.reasoning = has(agent, Intent::SetThinking);
                Some(model)
            }
            None => None,
        };
        let mut models: Vec<Model> = models.iter().map(convert::model).collect();
        // The list of models may lack the current model.
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

    /// Creates a server of the client's dialect on top of the agent `remote`. Changes of settings go to `persist`. The
    /// session has the given directory and id. Settings, models and programs of this machine have no effect.
    pub fn server(
        self,
        frontend: &'static DialectEntry,
        remote: Arc<dyn RemoteAgent>,
        persist: Arc<dyn SettingsStore>,
        cwd: &Path,
        id: Option<String>,
    ) -> Builder {
        let mut external = convert::external_session(&self.session);
        if id.is_some() {
            external.id.clone_from(&id);
        }
        let start = SessionOptions::new(cwd, Arc::new(SystemClock), Arc::new(RandomIds)).id(id);
        let mut session = Session::in_memory(start);
        if let Some(model) = &self.model {
            session.record_model(&model.provider, &model.id);
        }
        session.record_thinking_level(self.thinking.unwrap_or(ThinkingLevel::Off));
        self.messages.into_iter().for_each(|message| drop(session.append(Arc::new(message))));
        if let Some(name) = &self.session.name {
            let _ = session.rename(name);
        }
        session.set_external(external);
        let mut builder: Builder = Server::builder()
            .remote_agent(remote)
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

/// Returns `true` if the agent certainly has the command for `intent`. If its revision is unknown, all
/// possible revisions must have the command.
fn has(agent: &Agent, intent: Intent) -> bool {
    let spec = agent.spec();
    match spec.revisions {
        [] => supports(spec, intent),
        revisions => revisions.iter().all(|revision| supports(revision, intent)),
    }
}

/// Sends a query if the agent certainly has the command. Otherwise returns a default value, because the client must not
/// receive the rejection of a command that it did not send.
async fn query_if_supported<T: Default>(
    agent: &Agent,
    intent: Intent,
    query: impl Future<Output = Result<T, agentese::Error>>,
) -> Result<T, agentese::Error> {
    if has(agent, intent) { query.await } else { Ok(T::default()) }
}

/// Provider of the models of a remote agent. The bridge itself never sends requests to models.
struct RemoteProvider {
    name: String,
    models: Vec<Model>,
}

impl Provider for RemoteProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn models(&self) -> &[Model] {
        &self.models
    }

    fn stream(&self, _: Request) -> BoxStream<'static, StreamEvent> {
        let failure = ProviderError::new(
            ProviderErrorKind::BadRequest,
            "the agent behind the bridge sends requests to models itself",
        );
        futures::stream::iter([StreamEvent::Error(failure)]).boxed()
    }
}

/// Groups models by provider. Providers and models keep their order.
fn providers(models: Vec<Model>) -> Vec<Arc<dyn Provider>> {
    let mut grouped: Vec<RemoteProvider> = Vec::new();
    for model in models {
        match grouped.iter_mut().find(|provider| provider.name == model.provider) {
            Some(provider) => provider.models.push(model),
            None => grouped.push(RemoteProvider { name: model.provider.clone(), models: vec![model] }),
        }
    }
    grouped.into_iter().map(|provider| -> Arc<dyn Provider> { Arc::new(provider) }).collect()
}
