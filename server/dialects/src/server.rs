//! One agent, and how it is served to a client.

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

/// How long the end waits for what goes on behind calls that are over.
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
    /// Why there is no model to begin with; none where there is one.
    pub fn no_model(&self) -> Option<&str> {
        let options = &self.parts.options;
        options.model.is_none().then_some(options.no_model.as_str())
    }

    /// Why it does not begin without a model; none where there is one, and where the dialect's agent begins without.
    pub fn cannot_begin(&self) -> Option<&str> {
        let led = self.parts.options.lead.is_some();
        self.no_model().filter(|_| self.frontend.customs().needs_model && !led)
    }

    /// Gives a key for the provider of the model that was selected, before all others; it is not
    /// stored.
    pub fn give_key(&self, key: SecretString) {
        if let Some(chosen) = &self.parts.options.model {
            self.parts.options.catalog.set_api_key(&chosen.model.provider, key);
        }
    }

    /// Serves one client until its input ends. Bad input is answered, it never fails.
    pub async fn serve(self, transport: Transport) -> ServeEnd {
        self.serve_with(transport, ServeOptions::default()).await
    }

    /// As [`Server::serve`], with limits and a way to stop it.
    pub async fn serve_with(self, transport: Transport, options: ServeOptions) -> ServeEnd {
        self.serve_to_the_end(transport, options).await.ended
    }

    /// As [`Server::serve_with`]; says too what of the conversation could not be kept.
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

/// How serving ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Served {
    /// Why.
    pub ended: ServeEnd,
    /// Why something that was said is in no session file, where that is so.
    pub unsaved: Option<String>,
}
