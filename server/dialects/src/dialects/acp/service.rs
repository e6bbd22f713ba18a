//! The methods of the protocol that a client can call.

use agentese::acp::{
    Acp, AcpAgentCapabilities, AcpAuthenticateParams, AcpCancelParams, AcpCancelRequestParams,
    AcpCloseSessionParams, AcpConfigOptions, AcpDeleteSessionParams, AcpImplementation, AcpInitializeParams,
    AcpInitializeResult, AcpListSessionsParams, AcpLoadSessionParams, AcpLoadedSession, AcpMcpCapabilities,
    AcpNewSession, AcpNewSessionParams, AcpPromptCapabilities, AcpPromptEnd, AcpPromptParams,
    AcpResumeSessionParams, AcpSessionCapabilities, AcpSessionInfo, AcpSessionList, AcpSetConfigOptionParams,
    Failure, Service,
};
use agentese::serve::{Call, CommandError};
use agentese::wire::NoParams;
use serde_json::Map;

use super::error::{internal_error, invalid_params, unknown_session};
use super::start::{SessionRequest, directory};
use super::{ATTEMPT_PAUSE, AcpServer, MAX_ATTEMPTS, prompt_content};
use crate::conversation::ListedSession;
use crate::dialects::blocking::blocking;
use crate::session::{DeleteError, Scope, SessionSummary};

/// The version of the protocol.
const VERSION: u64 = 1;

/// The number of sessions in one page of a list.
const PAGE_SIZE: usize = 100;

impl Service for AcpServer {
    async fn initialize(
        &self,
        params: AcpInitializeParams,
        _: Call<Acp, AcpInitializeResult>,
    ) -> Result<AcpInitializeResult, CommandError> {
        self.client.set_capabilities(params.client_capabilities.into_option().unwrap_or_default());
        let agents = self.remote_agents();
        let abilities = agents.as_ref().map(|agents| agents.capabilities());
        let can = |has: bool| has.then(Map::new).into();
        let mut prompts = AcpPromptCapabilities::new();
        (prompts.image, prompts.audio, prompts.embedded_context) = (Some(true), Some(false), Some(true));
        let mut servers = AcpMcpCapabilities::new();
        (servers.http, servers.sse) = (Some(agents.is_none()), Some(false));
        let mut sessions = AcpSessionCapabilities::new();
        let (list, delete, resume, load) = abilities.map_or((true, true, true, true), |abilities| {
            (abilities.list, abilities.delete, abilities.open, abilities.open && abilities.history)
        });
        (sessions.list, sessions.delete) = (can(list), can(delete));
        (sessions.resume, sessions.close) = (can(resume), can(true));
        let mut all = AcpAgentCapabilities::new();
        all.load_session = Some(load);
        all.prompt_capabilities = Some(prompts);
        all.mcp_capabilities = Some(servers);
        all.session_capabilities = Some(sessions);
        // The server supports one version, independent of the proposal of the client.
        let mut initialized = AcpInitializeResult::new(VERSION);
        initialized.agent_capabilities = Some(all);
        initialized.auth_methods = Some(Vec::new());
        let mut agent = AcpImplementation::new("agentese", env!("CARGO_PKG_VERSION"));
        agent.title = "agentese".to_owned().into();
        initialized.agent_info = agent.into();
        Ok(initialized)
    }

    async fn authenticate(&self, params: AcpAuthenticateParams, _: Call<Acp>) -> Result<(), CommandError> {
        let reason = format!(
            "unknown authentication method \"{}\": keys come from the environment and the agent's own files",
            params.method_id
        );
        Err(invalid_params("authenticate", &reason))
    }

    async fn new_session(
        &self,
        params: AcpNewSessionParams,
        call: Call<Acp, AcpNewSession>,
    ) -> Result<AcpNewSession, CommandError> {
        let AcpNewSessionParams { cwd, mcp_servers: servers, .. } = params;
        let started =
            self.open(SessionRequest { method: "session/new", cwd, servers, session: None }).await?;
        let mut result = AcpNewSession::new(started.session.id.as_str());
        result.config_options = started.session.options().into();
        // Later frames name the session, so the response precedes them.
        call.answer(result.clone());
        started.notify_client(self);
        Ok(result)
    }

    async fn load_session(
        &self,
        params: AcpLoadSessionParams,
        call: Call<Acp, AcpLoadedSession>,
    ) -> Result<AcpLoadedSession, CommandError> {
        let AcpLoadSessionParams { session_id, cwd, mcp_servers: servers, .. } = params;
        let request = SessionRequest { method: "session/load", cwd, servers, session: Some(session_id) };
        let started = self.open(request).await?;
        // The history precedes the response.
        started.session.replay().await;
        let mut loaded = AcpLoadedSession::new();
        loaded.config_options = started.session.options().into();
        call.answer(loaded.clone());
        started.notify_client(self);
        Ok(loaded)
    }

    async fn resume_session(
        &self,
        params: AcpResumeSessionParams,
        call: Call<Acp, AcpLoadedSession>,
    ) -> Result<AcpLoadedSession, CommandError> {
        let AcpResumeSessionParams { session_id, cwd, mcp_servers, .. } = params;
        let servers = mcp_servers.into_option().unwrap_or_default();
        let request = SessionRequest { method: "session/resume", cwd, servers, session: Some(session_id) };
        let started = self.open(request).await?;
        let mut resumed = AcpLoadedSession::new();
        resumed.config_options = started.session.options().into();
        call.answer(resumed.clone());
        started.session.send_usage();
        started.notify_client(self);
        Ok(resumed)
    }

    async fn list_sessions(
        &self,
        params: AcpListSessionsParams,
        _: Call<Acp, AcpSessionList>,
    ) -> Result<AcpSessionList, CommandError> {
        let from = match params.cursor.into_option() {
            Some(cursor) => cursor
                .parse()
                .map_err(|_| invalid_params("session/list", "`cursor` must come from an earlier response"))?,
            None => 0,
        };
        let cwd = params.cwd.into_option();
        if let Some(agents) = self.remote_agents() {
            if let Some(cwd) = &cwd {
                directory("session/list", cwd).await?;
            }
            // Later pages come from the same list as the first one.
            let known = self.listed_sessions().take().filter(|(of, _)| from > 0 && *of == cwd);
            let (_, stored) = match known {
                Some(known) => known,
                None => (cwd.clone(), agents.list(cwd.as_deref()).await.map_err(internal_error)?),
            };
            let found = page(stored.iter().skip(from).take(PAGE_SIZE + 1).cloned().collect(), from);
            *self.listed_sessions() = Some((cwd, stored));
            return Ok(found);
        }
        let Some(store) = self.components().options.store.clone() else {
            return Ok(AcpSessionList::new(Vec::new()));
        };
        let is_listed =
            move |record: &SessionSummary| record.cwd.is_some() && (cwd.is_none() || record.cwd == cwd);
        let found = blocking(move || {
            let all = store.list_by_id(Scope::All).into_iter().filter(is_listed);
            all.skip(from).take(PAGE_SIZE + 1).map(ListedSession::from).collect()
        });
        Ok(page(found.await, from))
    }

    async fn close_session(&self, params: AcpCloseSessionParams, _: Call<Acp>) -> Result<(), CommandError> {
        match self.close(&params.session_id).await {
            true => Ok(()),
            false => Err(unknown_session(&params.session_id)),
        }
    }

    async fn delete_session(&self, params: AcpDeleteSessionParams, _: Call<Acp>) -> Result<(), CommandError> {
        let id = params.session_id;
        let agents = self.remote_agents();
        if agents.as_ref().is_some_and(|agents| !agents.capabilities().delete) {
            return Err(invalid_params("session/delete", "the agent cannot delete sessions"));
        }
        let closed = self.close(&id).await;
        if let Some(agents) = agents {
            return match agents.delete(&id).await.map_err(internal_error)? {
                true => Ok(()),
                false => Err(unknown_session(&id)),
            };
        }
        let store = self.components().options.store.clone();
        let Some(store) = store else { return if closed { Ok(()) } else { Err(unknown_session(&id)) } };
        for _ in 0..MAX_ATTEMPTS {
            let (store, wanted) = (store.clone(), id.clone());
            match blocking(move || store.delete_in(Scope::All, &wanted)).await {
                Ok(()) => return Ok(()),
                // A session without messages has no file.
                Err(DeleteError::Unknown(_)) if closed => return Ok(()),
                Err(DeleteError::Unknown(_)) => return Err(unknown_session(&id)),
                // Tasks that still use the file end by themselves.
                Err(DeleteError::Locked { .. }) if closed => tokio::time::sleep(ATTEMPT_PAUSE).await,
                Err(error) => return Err(internal_error(error)),
            }
        }
        Err(internal_error("the session is still in use"))
    }

    async fn set_config_option(
        &self,
        params: AcpSetConfigOptionParams,
        _: Call<Acp, AcpConfigOptions>,
    ) -> Result<AcpConfigOptions, CommandError> {
        let session = self.session(&params.session_id)?;
        Ok(AcpConfigOptions::new(session.set_option(&params.config_id, &params.value)?))
    }

    async fn set_mode(
        &self,
        params: agentese::acp::AcpSetModeParams,
        _: Call<Acp>,
    ) -> Result<(), CommandError> {
        self.session(&params.session_id)?;
        Err(invalid_params("session/set_mode", &format!("unknown mode \"{}\"", params.mode_id)))
    }

    async fn prompt(
        &self,
        params: AcpPromptParams,
        call: Call<Acp, AcpPromptEnd>,
    ) -> Result<AcpPromptEnd, CommandError> {
        let session = self.session(&params.session_id)?;
        let prompt = prompt_content::prompt_request(params.prompt)?;
        let request = CancellableRequest::open(self, call.id());
        let ended = session.prompt(prompt, request.token()).await?;
        if request.token().is_cancelled() {
            return Err(Failure::RequestCancelled.command_error(&[]));
        }
        Ok(ended)
    }

    async fn cancel(&self, params: AcpCancelParams, _: Call<Acp>) -> Result<(), CommandError> {
        // The session may have been closed in the meantime.
        if let Ok(session) = self.session(&params.session_id) {
            session.cancel().await;
        }
        Ok(())
    }

    async fn cancel_request(&self, params: AcpCancelRequestParams, _: Call<Acp>) -> Result<(), CommandError> {
        if let Some(request) = self.requests().get(&params.request_id.to_string()) {
            request.cancel();
        }
        Ok(())
    }

    async fn logout(&self, _: NoParams, _: Call<Acp>) -> Result<(), CommandError> {
        Err(internal_error("no user is signed in: keys come from the environment and the agent's own files"))
    }

    async fn shut_down(&self) {
        // A disconnected client receives no events of the stopped work.
        let sessions: Vec<_> = self.sessions().values().cloned().collect();
        sessions.iter().for_each(|session| session.stop_updates());
        self.conversations.shut_down().await;
    }

    async fn wait_until_idle(&self) {
        self.conversations.wait_until_idle().await;
    }
}

/// A registered request, which the client can cancel. Dropping the value ends the registration.
struct CancellableRequest<'a> {
    server: &'a AcpServer,
    id: Option<String>,
    token: tokio_util::sync::CancellationToken,
}

impl<'a> CancellableRequest<'a> {
    fn open(server: &'a AcpServer, id: Option<&str>) -> Self {
        // The same form as in the notification that cancels the request.
        let id =
            id.and_then(|id| serde_json::from_str::<serde_json::Value>(id).ok()).map(|id| id.to_string());
        let token = tokio_util::sync::CancellationToken::new();
        if let Some(id) = &id {
            server.requests().insert(id.clone(), token.clone());
        }
        Self { server, id, token }
    }

    fn token(&self) -> tokio_util::sync::CancellationToken {
        self.token.clone()
    }
}

impl Drop for CancellableRequest<'_> {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            self.server.requests().remove(id);
        }
    }
}

/// Returns a page of the list of sessions. `found` has one entry more than a page if another page follows.
fn page(mut found: Vec<ListedSession>, from: usize) -> AcpSessionList {
    let more = found.len() > PAGE_SIZE;
    found.truncate(PAGE_SIZE);
    let mut list = AcpSessionList::new(found.into_iter().map(session_info).collect());
    list.next_cursor = more.then(|| (from + PAGE_SIZE).to_string()).into();
    list
}

fn session_info(listed: ListedSession) -> AcpSessionInfo {
    let mut info = AcpSessionInfo::new(listed.id, listed.cwd);
    (info.title, info.updated_at) = (listed.title.into(), listed.modified.into());
    info
}
