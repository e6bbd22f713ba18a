//! The methods of the protocol that a client can call.

use agentese::opal::{
    AgentAbortParams, AgentPromptParams, AgentState, AgentStateParams, AuthPollParams, AuthPollResult,
    AuthSetKeyParams, AuthStatusResult, DeviceCode, Failure, ModelSelection, ModelSetParams,
    ModelsListParams, Opal, OpalAuthStatus, OpalConfig, OpalConfigGetParams, OpalConfigSetParams,
    OpalContextDiscovered, OpalDone, OpalModels, OpalSessionInfo, OpalSettings, OpalTasks, OpalVersion,
    QueuedPrompt, SessionBranchParams, SessionCompactParams, SessionDeleteParams, SessionHistory,
    SessionHistoryParams, SessionList, SessionStartParams, SessionStartResult, SettingsSaveParams,
    TasksListParams, ThinkingSelection, ThinkingSetParams,
};
use agentese::serve::{Call, CommandError};
use agentese::wire::NoParams;

use super::convert::{Level, model_info};
use super::error::invalid_params;
use super::{OpalServer, tools};
use crate::dialects::blocking::blocking;
use crate::session::{DeleteError, Scope, Store};

/// The provider of a model whose name contains no provider.
const DEFAULT_PROVIDER: &str = "copilot";

/// The version of the protocol.
const PROTOCOL_VERSION: &str = "0.1.0";

/// The maximum number of attempts to delete a session that was just closed.
const MAX_DELETE_ATTEMPTS: usize = 100;
const ATTEMPT_PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

impl agentese::opal::Service for OpalServer {
    async fn session_start(
        &self,
        params: SessionStartParams,
        call: Call<Opal, SessionStartResult>,
    ) -> Result<SessionStartResult, CommandError> {
        let started = self.start(params).await?;
        call.answer(started.clone());
        // This event follows the response, which names the session.
        if let Some(files) = started.context_files.clone().filter(|files| !files.is_empty()) {
            self.client.send(OpalContextDiscovered::new(started.session_id.as_str(), files));
        }
        Ok(started)
    }

    async fn agent_prompt(
        &self,
        params: AgentPromptParams,
        call: Call<Opal, QueuedPrompt>,
    ) -> Result<QueuedPrompt, CommandError> {
        self.session(&params.session_id)?.prompt(params.text, call).await
    }

    async fn agent_abort(&self, params: AgentAbortParams, call: Call<Opal>) -> Result<(), CommandError> {
        self.session(&params.session_id)?.abort(&call).await;
        Ok(())
    }

    async fn agent_state(
        &self,
        params: AgentStateParams,
        _: Call<Opal, AgentState>,
    ) -> Result<AgentState, CommandError> {
        Ok(self.session(&params.session_id)?.state())
    }

    async fn session_list(
        &self,
        _: NoParams,
        _: Call<Opal, SessionList>,
    ) -> Result<SessionList, CommandError> {
        let Some(store) = self.store() else { return Ok(SessionList::new(Vec::new())) };
        let records = blocking(move || store.list_by_id(Scope::Here)).await;
        let info = |record: crate::session::SessionSummary| {
            // Opal's form: down to the second, without a time zone.
            let modified = record.modified.get(..19).unwrap_or(&record.modified).to_owned();
            OpalSessionInfo::new(record.id, record.name, modified)
        };
        Ok(SessionList::new(records.into_iter().map(info).collect()))
    }

    async fn session_branch(
        &self,
        params: SessionBranchParams,
        call: Call<Opal>,
    ) -> Result<(), CommandError> {
        self.session(&params.session_id)?.branch(&params.entry_id, &call).await
    }

    async fn session_compact(
        &self,
        params: SessionCompactParams,
        call: Call<Opal>,
    ) -> Result<(), CommandError> {
        self.session(&params.session_id)?.compact(params.keep_recent, &call).await
    }

    async fn session_history(
        &self,
        params: SessionHistoryParams,
        _: Call<Opal, SessionHistory>,
    ) -> Result<SessionHistory, CommandError> {
        Ok(SessionHistory::new(self.session(&params.session_id)?.history()))
    }

    async fn session_delete(
        &self,
        params: SessionDeleteParams,
        _: Call<Opal, OpalDone>,
    ) -> Result<OpalDone, CommandError> {
        let id = params.session_id;
        let unknown = || Failure::SessionNotFound.command_error(&[]).with_data(id.as_str());
        let store = self.store().ok_or_else(unknown)?;
        let (listed_store, wanted) = (store.clone(), id.clone());
        if blocking(move || listed_store.find(&wanted)).await.is_none() {
            return Err(unknown());
        }
        let directory = store.directory().join(&id);
        // A session that is open here is closed first.
        let closed = self.close(&id).await;
        for _ in 0..MAX_DELETE_ATTEMPTS {
            let (store, wanted, directory) = (store.clone(), id.clone(), directory.clone());
            match blocking(move || store.delete(&wanted)).await {
                Ok(()) => {
                    blocking(move || tools::remove_tasks(&directory)).await;
                    return Ok(OpalDone::new(true));
                }
                Err(DeleteError::Unknown(_)) => return Err(unknown()),
                // Tasks that still use the file end by themselves.
                Err(DeleteError::Locked { .. }) if closed => tokio::time::sleep(ATTEMPT_PAUSE).await,
                Err(error) => {
                    return Err(Failure::DeleteFailed.command_error(&[]).with_data(error.to_string()));
                }
            }
        }
        Err(Failure::DeleteFailed.command_error(&[]).with_data("the session is still in use"))
    }

    async fn models_list(
        &self,
        params: ModelsListParams,
        _: Call<Opal, OpalModels>,
    ) -> Result<OpalModels, CommandError> {
        let wanted = params.providers.unwrap_or_default();
        if let Some(unknown) = wanted.iter().find(|name| !self.catalog.has_provider(name)) {
            let refusal = Failure::UnknownProviderInList.command_error(&[]);
            return Err(refusal.with_data(format!("unknown provider: \"{unknown}\"")));
        }
        let catalog = self.catalog.clone();
        let models = blocking(move || {
            let available: Vec<String> =
                catalog.available().iter().map(|model| model.provider.clone()).collect();
            let shown = |provider: &String| {
                provider == DEFAULT_PROVIDER || wanted.contains(provider) || available.contains(provider)
            };
            let models = catalog.models().filter(|model| shown(&model.provider));
            models.map(|model| model_info(&catalog, model)).collect()
        });
        Ok(OpalModels::new(models.await))
    }

    async fn model_set(
        &self,
        params: ModelSetParams,
        _: Call<Opal, ModelSelection>,
    ) -> Result<ModelSelection, CommandError> {
        let session = self.session(&params.session_id)?;
        // A model id may contain a colon.
        let (provider, id) = params.model_id.split_once(':').unwrap_or((DEFAULT_PROVIDER, &params.model_id));
        let model = self.model_named(provider, id)?;
        let level = params.thinking_level.as_deref().map(|name| Level::named("thinking_level", name));
        let level = level.transpose().map_err(|reason| invalid_params("model/set", &reason))?;
        session.set_model(model, level.unwrap_or_default());
        Ok(ModelSelection::new(session.model()))
    }

    async fn thinking_set(
        &self,
        params: ThinkingSetParams,
        _: Call<Opal, ThinkingSelection>,
    ) -> Result<ThinkingSelection, CommandError> {
        let session = self.session(&params.session_id)?;
        let level = Level::named("level", &params.level);
        let level = level.map_err(|reason| invalid_params("thinking/set", &reason))?;
        session.set_level(level);
        Ok(ThinkingSelection::new(level.name()))
    }

    async fn auth_status(
        &self,
        _: NoParams,
        _: Call<Opal, AuthStatusResult>,
    ) -> Result<AuthStatusResult, CommandError> {
        let auth = self.auth().await;
        Ok(AuthStatusResult::new(auth.status == OpalAuthStatus::Ready, auth))
    }

    async fn auth_login(&self, _: NoParams, _: Call<Opal, DeviceCode>) -> Result<DeviceCode, CommandError> {
        self.start_login().await
    }

    async fn auth_poll(
        &self,
        params: AuthPollParams,
        _: Call<Opal, AuthPollResult>,
    ) -> Result<AuthPollResult, CommandError> {
        self.poll_login(params).await?;
        Ok(AuthPollResult::new(true))
    }

    async fn auth_set_key(
        &self,
        params: AuthSetKeyParams,
        _: Call<Opal, OpalDone>,
    ) -> Result<OpalDone, CommandError> {
        self.store_key(params).await?;
        Ok(OpalDone::new(true))
    }

    async fn tasks_list(
        &self,
        params: TasksListParams,
        _: Call<Opal, OpalTasks>,
    ) -> Result<OpalTasks, CommandError> {
        Ok(OpalTasks::new(self.session(&params.session_id)?.tasks.active()))
    }

    async fn settings_get(
        &self,
        _: NoParams,
        _: Call<Opal, OpalSettings>,
    ) -> Result<OpalSettings, CommandError> {
        Ok(OpalSettings::new(self.settings().await?))
    }

    async fn settings_save(
        &self,
        params: SettingsSaveParams,
        _: Call<Opal, OpalSettings>,
    ) -> Result<OpalSettings, CommandError> {
        Ok(OpalSettings::new(self.save_settings(params.settings).await?))
    }

    async fn opal_config_get(
        &self,
        params: OpalConfigGetParams,
        _: Call<Opal, OpalConfig>,
    ) -> Result<OpalConfig, CommandError> {
        Ok(self.session(&params.session_id)?.config())
    }

    async fn opal_config_set(
        &self,
        params: OpalConfigSetParams,
        _: Call<Opal, OpalConfig>,
    ) -> Result<OpalConfig, CommandError> {
        let session = self.session(&params.session_id)?;
        session.configure(params.features.as_ref(), params.tools.as_deref())?;
        Ok(session.config())
    }

    async fn opal_ping(&self, _: NoParams, _: Call<Opal>) -> Result<(), CommandError> {
        Ok(())
    }

    async fn opal_version(
        &self,
        _: NoParams,
        _: Call<Opal, OpalVersion>,
    ) -> Result<OpalVersion, CommandError> {
        Ok(OpalVersion::new(env!("CARGO_PKG_VERSION"), PROTOCOL_VERSION))
    }

    async fn shut_down(&self) {
        self.closing.cancel();
        // A disconnected client receives no events of the stopped work.
        let sessions: Vec<_> = self.sessions().values().cloned().collect();
        sessions.iter().for_each(|session| session.mute_events());
        self.conversations.shut_down().await;
    }

    async fn wait_until_idle(&self) {
        self.conversations.wait_until_idle().await;
    }
}

impl OpalServer {
    /// Returns the store of the sessions.
    fn store(&self) -> Option<Store> {
        let components = self.components();
        let cwd = components.options.context.cwd.clone();
        components.options.store.as_ref().map(|store| store.shared(&cwd))
    }

    /// Closes a session that is open here. Returns false if no such session is open.
    async fn close(&self, id: &str) -> bool {
        let removed = self.sessions().remove(id);
        if let Some(session) = &removed {
            session.mute_events();
        }
        let closed = self.conversations.close(id).await;
        if let Some(session) = removed {
            session.release_id();
        }
        closed
    }
}
