//! The provider whose key comes from a login with a device code. It uses the completions API at the address that the
//! login returns.

use agentese::types::{InputKind, Model, ModelBuilder, ModelCostBuilder, ThinkingLevel};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};

use super::auth_entry::DEVICE_LOGIN_PROVIDER;
use super::definitions::{ModelDefinition, ModelDetails};
use super::device_login::DeviceLogin;
use super::http::Sender;
use super::keys::{Keys, ModelUnavailableError};
use super::levels::{Efforts, implies_xhigh, levels_with};
use super::remote_provider::RemoteProvider;
use super::{Provider, ProviderError, ProviderErrorKind, Request, StreamEvent, number};

/// Models as of 2026-11-22. Fields: id, name, context window in tokens, `true` if the model thinks, `true` if it has
/// the level `xhigh`. Other models can be used by their ids.
const MODELS: &[(&str, &str, u64, bool, bool)] = &[
    ("claude-sonnet-4", "Claude Sonnet 4", 128_000, true, false),
    ("claude-opus-4.6", "Claude Opus 4.6", 128_000, true, true),
    ("gpt-4o", "GPT-4o", 64_000, false, false),
];

/// The limit of an answer in a request, in tokens.
const MAX_TOKENS: u64 = 16_384;

/// Address of the models before a login.
const PLACEHOLDER_URL: &str = "https://localhost";

/// The provider for GitHub Copilot.
pub(super) struct Copilot {
    models: Vec<Model>,
    login: DeviceLogin,
    keys: Keys,
    sender: Sender,
}

impl Copilot {
    pub fn new(login: DeviceLogin, keys: Keys, sender: Sender) -> Self {
        let model = |(id, name, window, thinks, _): &(&str, &str, u64, bool, bool)| {
            let free = || number(0.0);
            let cost =
                ModelCostBuilder { input: free(), output: free(), cache_read: free(), cache_write: free() };
            let model = ModelBuilder {
                id: (*id).to_owned(),
                name: (*name).to_owned(),
                api: "openai-completions".to_owned(),
                provider: DEVICE_LOGIN_PROVIDER.to_owned(),
                base_url: PLACEHOLDER_URL.to_owned(),
                reasoning: *thinks,
                input: vec![InputKind::Text, InputKind::Image],
                context_window: *window,
                max_tokens: MAX_TOKENS,
                cost: cost.build(),
            };
            model.build()
        };
        Self { models: MODELS.iter().map(model).collect(), login, keys, sender }
    }
}

impl Provider for Copilot {
    fn name(&self) -> &str {
        DEVICE_LOGIN_PROVIDER
    }

    fn models(&self) -> &[Model] {
        &self.models
    }

    fn ready(&self, _: &Model) -> Result<(), ModelUnavailableError> {
        self.keys.find(DEVICE_LOGIN_PROVIDER, None).map(drop)
    }

    fn levels(&self, model: &Model) -> Vec<ThinkingLevel> {
        let known = MODELS.iter().find(|(id, ..)| *id == model.id);
        let hardest = known.map_or_else(|| implies_xhigh(model), |(.., hardest)| *hardest);
        levels_with(model.reasoning, hardest, &Efforts::default())
    }

    fn stream(&self, mut request: Request) -> BoxStream<'static, StreamEvent> {
        let (login, keys, sender) = (self.login.clone(), self.keys.clone(), self.sender.clone());
        let mut models = self.models.clone();
        if !models.iter().any(|model| model.id == request.model.id) {
            models.push(request.model.clone());
        }
        async move {
            let access = match login.access().await {
                Ok(access) => access,
                Err(error) => {
                    let failure = ProviderError::new(ProviderErrorKind::Auth, error.to_string());
                    return futures::stream::iter([StreamEvent::Start, StreamEvent::Error(failure)]).boxed();
                }
            };
            keys.set_process_key(DEVICE_LOGIN_PROVIDER, access.token);
            let here = |mut model: Model| {
                model.base_url.clone_from(&access.base_url);
                ModelDefinition { model, details: ModelDetails::default() }
            };
            request.model.base_url.clone_from(&access.base_url);
            let models = models.into_iter().map(here).collect();
            RemoteProvider::new(DEVICE_LOGIN_PROVIDER.to_owned(), models, None, keys, sender).stream(request)
        }
        .flatten_stream()
        .boxed()
    }
}
