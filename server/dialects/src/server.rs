//! One agent and the service for one client.

use std::time::Duration;

use agentese::serve::{Options as ServeOptions, ServeEnd};
use agentese::transport::Transport;

use crate::desk::Parts;
use crate::fronts::Frontend;
use crate::providers::SecretString;

mod builder;
#[cfg(test)]
mod tests;

pub use builder::Builder;

/// Maximum waiting time at the end for background tasks.
const CHORES: Duration = Duration::from_secs(5);

/// One agent, ready to serve one client.
pub struct Server {
    frontend: &'static Frontend,
    parts: Parts,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Server")
            .field("frontend", &self.frontend)
            .field("options", &self.parts.options)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Returns the reason for a missing initial model, or `None` if there is a model.
    pub fn no_model(&self) -> Option<&str> {
        let options = &self.parts.options;
        options.model.is_none().then_some(options.no_model.as_str())
    }

    /// Returns the reason for which the agent does not start without a model. Returns `None` if there is a
    /// model, or if the agent of the dialect starts without a model.
    pub fn cannot_begin(&self) -> Option<&str> {
        let led = self.parts.options.lead.is_some();
        self.no_model().filter(|_| self.frontend.customs().needs_model && !led)
    }

    /// Sets a key for the provider of the selected model. The key takes precedence over all others and is not
    /// stored.
    pub fn give_key(&self, key: SecretString) {
        if let Some(chosen) = &self.parts.options.model {
            self.parts.options.catalog.set_api_key(&chosen.model.provider, key);
        }
    }

    /// Serves one client until its input ends. Invalid input is answered and never makes this fail.
    pub async fn serve(self, transport: Transport) -> ServeEnd {
        self.serve_with(transport, ServeOptions::default()).await
    }

    /// Works like [`Server::serve`], with limits and a way to stop the server.
    pub async fn serve_with(self, transport: Transport, options: ServeOptions) -> ServeEnd {
        self.serve_to_the_end(transport, options).await.ended
    }

    /// Works like [`Server::serve_with`]; also returns the reason for a part of the conversation that was not
    /// stored.
    pub async fn serve_to_the_end(self, transport: Transport, options: ServeOptions) -> Served {
        let unsaved = self.parts.options.unsaved.clone();
        let chores = self.parts.options.context.chores.clone();
        let ended = self.frontend.serve(self.parts, transport, options).await;
        chores.close();
        if tokio::time::timeout(CHORES, chores.wait()).await.is_err() {
            tracing::debug!("what calls have left is being put away, or the next start goes on with it");
        }
        Served { ended, unsaved: unsaved.reason() }
    }
}

/// Result of serving a client.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Served {
    /// The cause of the end.
    pub ended: ServeEnd,
    /// The reason for a part of the conversation that is in no session file; `None` if all of it is stored.
    pub unsaved: Option<String>,
}
