//! One agent and the service for one client.

use std::time::Duration;

use agentese::serve::{Options as ServeOptions, ServeEnd};
use agentese::transport::Transport;

use crate::conversation::AgentComponents;
use crate::dialects::DialectEntry;
use crate::providers::SecretString;

mod builder;
#[cfg(test)]
mod tests;

pub use builder::Builder;

/// Maximum waiting time at the end for background tasks.
const BACKGROUND_TASKS_TIMEOUT: Duration = Duration::from_secs(5);

/// One agent, ready to serve one client.
pub struct Server {
    dialect: &'static DialectEntry,
    components: AgentComponents,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Server")
            .field("dialect", &self.dialect)
            .field("options", &self.components.options)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Returns the reason for a missing initial model, or `None` if there is a model.
    pub fn missing_model_reason(&self) -> Option<&str> {
        let options = &self.components.options;
        options.model.is_none().then_some(options.no_model_reason.as_str())
    }

    /// Returns the reason for which the agent does not start without a model. Returns `None` if there is a
    /// model, or if the agent of the dialect starts without a model.
    pub fn start_error(&self) -> Option<&str> {
        let is_remote = self.components.options.remote_agent.is_some();
        self.missing_model_reason()
            .filter(|_| self.dialect.behavior_profile().start.requires_model && !is_remote)
    }

    /// Sets a key for the provider of the selected model. The key takes precedence over all others and is not
    /// stored.
    pub fn set_api_key(&self, key: SecretString) {
        if let Some(chosen) = &self.components.options.model {
            self.components.options.catalog.set_api_key(&chosen.model.provider, key);
        }
    }

    /// Serves one client until its input ends. Invalid input is answered and never makes this fail.
    pub async fn serve(self, transport: Transport) -> ServeEnd {
        self.serve_with(transport, ServeOptions::default()).await
    }

    /// Works like [`Server::serve`], with limits and a way to stop the server.
    pub async fn serve_with(self, transport: Transport, options: ServeOptions) -> ServeEnd {
        self.serve_with_outcome(transport, options).await.ended
    }

    /// Works like [`Server::serve_with`]; also returns the reason for a part of the conversation that was not
    /// stored.
    pub async fn serve_with_outcome(self, transport: Transport, options: ServeOptions) -> ServeOutcome {
        let unsaved = self.components.options.unsaved_state.clone();
        let background_tasks = self.components.options.context.background_tasks.clone();
        let ended = self.dialect.serve(self.components, transport, options).await;
        background_tasks.close();
        if tokio::time::timeout(BACKGROUND_TASKS_TIMEOUT, background_tasks.wait()).await.is_err() {
            tracing::debug!("cleanup after calls has not finished; the next start resumes what is left");
        }
        ServeOutcome { ended, unsaved: unsaved.reason() }
    }
}

/// Result of serving a client.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServeOutcome {
    /// The cause of the end.
    pub ended: ServeEnd,
    /// The reason for a part of the conversation that is in no session file; `None` if all of it is stored.
    pub unsaved: Option<String>,
}
