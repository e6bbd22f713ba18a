//! Sender of requests: the HTTP client with its settings.

use std::sync::Arc;

use agentese_server_models::http::Client;

use crate::Settings;
use crate::apis::FallbackCache;
use crate::runtime::Clock;

/// The HTTP client with its settings, clock and cache of fallbacks.
#[derive(Clone)]
pub(crate) struct Sender {
    pub client: Arc<Client>,
    pub settings: Arc<Settings>,
    pub clock: Arc<dyn Clock>,
    pub fallbacks: Arc<FallbackCache>,
}
