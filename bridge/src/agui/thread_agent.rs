//! The agent of a thread. A client of a dialect drives it; between that client and an ACP agent is a server in this
//! process.

use std::sync::Arc;
use std::time::Duration;

use agentese::any::{self, Agent, Intent};
use agentese::spec::Spec;
use futures::FutureExt;

use super::super::acp_client::{self, AcpRemoteAgent};
use super::super::event_loop::reason;
use super::super::fidelity_report::FrameCounts;
use super::super::launch::{child, is_acp};
use super::super::options::BridgeOptions;
use super::questions::Questions;
use agentese_process::stderr::Stderr;

/// The time limit for each response of an agent, except responses to prompts. The first response includes the start of
/// the agent.
const RESPONSE_LIMIT: Duration = Duration::from_secs(120);

/// The agent of a thread.
#[derive(Clone)]
pub(super) struct ThreadAgent {
    /// The client that drives the agent.
    pub client: Agent,
    /// The agent itself, if it speaks ACP.
    acp: Option<Arc<AcpRemoteAgent>>,
}

impl ThreadAgent {
    /// Starts an agent. `spec` is its declared protocol. Fails with an error message for the user.
    pub async fn start(
        options: &BridgeOptions,
        spec: &Spec,
        questions: &Questions,
        counts: &Arc<FrameCounts>,
        stderr: &Stderr,
    ) -> Result<Self, String> {
        let mut connect = any::Options::new().on_question(questions.clone()).timeout(RESPONSE_LIMIT);
        let unusable = |trouble: String| format!("cannot use the agent: {trouble}");
        let agent = if options.from.as_deref().is_some_and(is_acp) {
            connect.dialect = Some(acp_client::default_dialect().spec().id());
            let started = acp_client::serve_in_memory(options, stderr, counts.clone()).await;
            let (transport, acp) = started.map_err(unusable)?;
            let client = Agent::from_transport(transport, connect).await;
            Self { client: client.map_err(|error| unusable(error.to_string()))?, acp: Some(acp) }
        } else {
            if options.report.is_some() {
                connect.tap = Some(counts.clone());
            }
            connect.dialect = Some(options.from.clone().unwrap_or_else(|| spec.name.to_owned()));
            let child = child(options, stderr).map_err(|error| error.to_string())?;
            let client = Agent::spawn(child, connect).await;
            Self { client: client.map_err(|error| unusable(error.to_string()))?, acp: None }
        };
        if let Err(error) = agent.client.session().await {
            agent.close().await;
            return Err(format!("cannot query the session of the agent: {error}"));
        }
        Ok(agent)
    }

    /// Returns `true` if the agent accepts images.
    pub fn accepts_images(&self) -> bool {
        self.client.accepts_param(Intent::Prompt, "images")
            && self.acp.as_ref().is_none_or(|agent| agent.accepts_images())
    }

    /// Returns the reason of the disconnect of an ACP agent, which the client notices only later. Returns `None` while
    /// the agent is connected, and for other agents.
    pub fn disconnect_reason(&self) -> Option<String> {
        self.acp.as_ref()?.disconnect_reason()
    }

    /// Returns `true` if the agent has disconnected.
    pub fn is_disconnected(&self) -> bool {
        self.disconnect_reason().is_some() || self.client.terminated().now_or_never().is_some()
    }

    /// Returns the text of an error of the client. If the agent has disconnected, the text is the reason for that.
    pub fn error_reason(&self, error: &agentese::Error) -> String {
        self.disconnect_reason().unwrap_or_else(|| reason(error))
    }

    /// Ends the agent.
    pub async fn close(&self) {
        self.client.close().await;
        if let Some(agent) = &self.acp {
            agent.close().await;
        }
    }
}
