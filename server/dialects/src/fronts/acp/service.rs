//! The methods.

use agentese::acp::{
    Acp, AcpAgentCapabilities, AcpAuthenticateParams, AcpCancelParams, AcpCancelRequestParams,
    AcpCloseSessionParams, AcpConfigOptions, AcpDeleteSessionParams, AcpImplementation, AcpInitializeParams,
    AcpInitialized, AcpListSessionsParams, AcpLoadSessionParams, AcpLoadedSession, AcpMcpCapabilities,
    AcpNewSession, AcpNewSessionParams, AcpPromptCapabilities, AcpPromptEnd, AcpPromptParams,
    AcpResumeSessionParams, AcpSessionCapabilities, AcpSessionInfo, AcpSessionList, AcpSetConfigOptionParams,
    Failure, Service,
};
use agentese::serve::{Call, Refusal};
use agentese::wire::NoParams;
use serde_json::Map;

use super::error::{failed, invalid, unknown};
use super::start::{Wanted, directory};
use super::{Front, LOOKS, PAUSE, words};
use crate::desk::Kept;
use crate::fronts::blocking::blocking;
use crate::session::{DeleteError, Record, Scope};

/// The version of the protocol.
const VERSION: u64 = 1;

/// The number of sessions in one page of a list.
const PAGE: usize = 100;

impl Service for Front {
    async fn initialize(
        &self,
        params: AcpInitializeParams,
        _: Call<Acp, AcpInitialized>,
    ) -> Result<AcpInitialized, Refusal> {
        self.client.introduce(params.client_capabilities.into_option().unwrap_or_default());
        let agents = self.agents();
        let abilities = agents.as_ref().map(|agents| agents.abilities());
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
        let mut initialized = AcpInitialized::new(VERSION);
        initialized.agent_capabilities = Some(all);
        initialized.auth_methods = Some(Vec::new());
        let mut agent = AcpImplementation::new("agentese", env!("CARGO_PKG_VERSION"));
        agent.title = "agentese".to_owned().into();
        initialized.agent_info = agent.into();
        Ok(initialized)
    }

    async fn authenticate(&self, params: AcpAuthenticateParams, _: Call<Acp>) -> Result<(), Refusal> {
        let reason = format!(
            "there is no way \"{}\" to sign in: keys come from the environment and from the agent's own files",
            params.method_id
        );
        Err(invalid("authenticate", &reason))
    }

    async fn new_session(
        &self,
        params: AcpNewSessionParams,
        call: Call<Acp, AcpNewSession>,
    ) -> Result<AcpNewSession, Refusal> {
        let AcpNewSessionParams { cwd, mcp_servers: servers, .. } = params;
        let started = self.open(Wanted { method: "session/new", cwd, servers, session: None }).await?;
        let mut opened = AcpNewSession::new(started.session.id.as_str());
        opened.config_options = started.session.options().into();
        // Later frames name the session, so the response precedes them.
        call.answer(opened.clone());
        started.tell(self);
        Ok(opened)
    }

    async fn load_session(
        &self,
        params: AcpLoadSessionParams,
        call: Call<Acp, AcpLoadedSession>,
    ) -> Result<AcpLoadedSession, Refusal> {
        let AcpLoadSessionParams { session_id, cwd, mcp_servers: servers, .. } = params;
        let wanted = Wanted { method: "session/load", cwd, servers, session: Some(session_id) };
        let started = self.open(wanted).await?;
        // The history precedes the response.
        started.session.replay().await;
        let mut loaded = AcpLoadedSession::new();
        loaded.config_options = started.session.options().into();
        call.answer(loaded.clone());
        started.tell(self);
        Ok(loaded)
    }

    async fn resume_session(
        &self,
        params: AcpResumeSessionParams,
        call: Call<Acp, AcpLoadedSession>,
    ) -> Result<AcpLoadedSession, Refusal> {
        let AcpResumeSessionParams { session_id, cwd, mcp_servers, .. } = params;
        let servers = mcp_servers.into_option().unwrap_or_default();
        let wanted = Wanted { method: "session/resume", cwd, servers, session: Some(session_id) };
        let started = self.open(wanted).await?;
        let mut resumed = AcpLoadedSession::new();
        resumed.config_options = started.session.options().into();
        call.answer(resumed.clone());
        started.session.tell_usage();
        started.tell(self);
        Ok(resumed)
    }

    async fn list_sessions(
        &self,
        params: AcpListSessionsParams,
        _: Call<Acp, AcpSessionList>,
    ) -> Result<AcpSessionList, Refusal> {
        let from = match params.cursor.into_option() {
            Some(cursor) => {
                cursor.parse().map_err(|_| invalid("session/list", "`cursor` is none that was given"))?
            }
            None => 0,
        };
        let cwd = params.cwd.into_option();
        if let Some(agents) = self.agents() {
            if let Some(cwd) = &cwd {
                directory("session/list", cwd).await?;
            }
            // Later pages come from the same list as the first one.
            let known = self.listed().take().filter(|(of, _)| from > 0 && *of == cwd);
            let (_, kept) = match known {
                Some(known) => known,
                None => (cwd.clone(), agents.list(cwd.as_deref()).await.map_err(failed)?),
            };
            let found = page(kept.iter().skip(from).take(PAGE + 1).cloned().collect(), from);
            *self.listed() = Some((cwd, kept));
            return Ok(found);
        }
        let Some(store) = self.parts().options.store.clone() else {
            return Ok(AcpSessionList::new(Vec::new()));
        };
        let wanted = move |record: &Record| record.cwd.is_some() && (cwd.is_none() || record.cwd == cwd);
        let found = blocking(move || {
            let all = store.list_by_id(Scope::All).into_iter().filter(wanted);
            all.skip(from).take(PAGE + 1).map(Kept::from).collect()
        });
        Ok(page(found.await, from))
    }

    async fn close_session(&self, params: AcpCloseSessionParams, _: Call<Acp>) -> Result<(), Refusal> {
        match self.close(&params.session_id).await {
            true => Ok(()),
            false => Err(unknown(&params.session_id)),
        }
    }

    async fn delete_session(&self, params: AcpDeleteSessionParams, _: Call<Acp>) -> Result<(), Refusal> {
        let id = params.session_id;
        let agents = self.agents();
        if agents.as_ref().is_some_and(|agents| !agents.abilities().delete) {
            return Err(invalid("session/delete", "the agent deletes no sessions"));
        }
        let closed = self.close(&id).await;
        if let Some(agents) = agents {
            return match agents.delete(&id).await.map_err(failed)? {
                true => Ok(()),
                false => Err(unknown(&id)),
            };
        }
        let store = self.parts().options.store.clone();
        let Some(store) = store else { return if closed { Ok(()) } else { Err(unknown(&id)) } };
        for _ in 0..LOOKS {
            let (store, wanted) = (store.clone(), id.clone());
            match blocking(move || store.delete_in(Scope::All, &wanted)).await {
                Ok(()) => return Ok(()),
                // A session without messages has no file.
                Err(DeleteError::Unknown(_)) if closed => return Ok(()),
                Err(DeleteError::Unknown(_)) => return Err(unknown(&id)),
                // Tasks that still use the file end by themselves.
                Err(DeleteError::Locked { .. }) if closed => tokio::time::sleep(PAUSE).await,
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed("the session is still in use"))
    }

    async fn set_config_option(
        &self,
        params: AcpSetConfigOptionParams,
        _: Call<Acp, AcpConfigOptions>,
    ) -> Result<AcpConfigOptions, Refusal> {
        let session = self.session(&params.session_id)?;
        Ok(AcpConfigOptions::new(session.choose(&params.config_id, &params.value)?))
    }

    async fn set_mode(&self, params: agentese::acp::AcpSetModeParams, _: Call<Acp>) -> Result<(), Refusal> {
        self.session(&params.session_id)?;
        Err(invalid("session/set_mode", &format!("there is no mode \"{}\"", params.mode_id)))
    }

    async fn prompt(
        &self,
        params: AcpPromptParams,
        call: Call<Acp, AcpPromptEnd>,
    ) -> Result<AcpPromptEnd, Refusal> {
        let session = self.session(&params.session_id)?;
        let said = words::said(params.prompt)?;
        let request = Request::open(self, call.id());
        let ended = session.prompt(said, request.token()).await?;
        if request.token().is_cancelled() {
            return Err(Failure::RequestCancelled.refusal(&[]));
        }
        Ok(ended)
    }

    async fn cancel(&self, params: AcpCancelParams, _: Call<Acp>) -> Result<(), Refusal> {
        // The session may have been closed in the meantime.
        if let Ok(session) = self.session(&params.session_id) {
            session.cancel().await;
        }
        Ok(())
    }

    async fn cancel_request(&self, params: AcpCancelRequestParams, _: Call<Acp>) -> Result<(), Refusal> {
        if let Some(request) = self.requests().get(&params.request_id.to_string()) {
            request.cancel();
        }
        Ok(())
    }

    async fn logout(&self, _: NoParams, _: Call<Acp>) -> Result<(), Refusal> {
        Err(failed("nobody is signed in: keys come from the environment and from the agent's own files"))
    }

    async fn shut_down(&self) {
        // A disconnected client receives no events of the stopped work.
        let opened: Vec<_> = self.all().values().cloned().collect();
        opened.iter().for_each(|session| session.silence());
        self.desks.shut_down().await;
    }

    async fn wait_until_idle(&self) {
        self.desks.wait_until_idle().await;
    }
}

/// A request that can be cancelled while this value exists.
struct Request<'a> {
    front: &'a Front,
    id: Option<String>,
    token: tokio_util::sync::CancellationToken,
}

impl<'a> Request<'a> {
    fn open(front: &'a Front, id: Option<&str>) -> Self {
        // The same form as in the notification that cancels the request.
        let id =
            id.and_then(|id| serde_json::from_str::<serde_json::Value>(id).ok()).map(|id| id.to_string());
        let token = tokio_util::sync::CancellationToken::new();
        if let Some(id) = &id {
            front.requests().insert(id.clone(), token.clone());
        }
        Self { front, id, token }
    }

    fn token(&self) -> tokio_util::sync::CancellationToken {
        self.token.clone()
    }
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            self.front.requests().remove(id);
        }
    }
}

/// Returns a page of a list. An additional entry in `found` means that another page follows.
fn page(mut found: Vec<Kept>, from: usize) -> AcpSessionList {
    let more = found.len() > PAGE;
    found.truncate(PAGE);
    let mut list = AcpSessionList::new(found.into_iter().map(info).collect());
    list.next_cursor = more.then(|| (from + PAGE).to_string()).into();
    list
}

fn info(kept: Kept) -> AcpSessionInfo {
    let mut info = AcpSessionInfo::new(kept.id, kept.cwd);
    (info.title, info.updated_at) = (kept.title.into(), kept.modified.into());
    info
}
