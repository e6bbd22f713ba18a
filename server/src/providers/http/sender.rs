//! Sender of requests.

use std::sync::Arc;

use super::client::Client;
use crate::providers::Settings;
use crate::providers::apis::KnownForms;
use crate::world::Clock;

/// Whatever sends.
#[derive(Clone)]
pub(in crate::providers) struct Sender {
    pub client: Arc<Client>,
    pub settings: Arc<Settings>,
    pub clock: Arc<dyn Clock>,
    pub forms: Arc<KnownForms>,
}
