//! A provider on the network.

use agentese::types::{Model, ThinkingLevel};
use futures::FutureExt;
use futures::stream::BoxStream;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use secrecy::ExposeSecret;

use super::apis;
use super::config_value::ConfigValue;
use super::definitions::{ModelDefinition, ModelDetails};
use super::draft::{Draft, Preparation};
use super::http::{Exchange, Sender, answer};
use super::key::{Secrets, secret_header};
use super::keys::{Keys, ModelUnavailableError};
use super::levels::{implies_xhigh, levels, levels_with};
use super::tool_schema::{self, restore_names};
use super::{Provider, ProviderError, ProviderErrorKind, Request, StreamEvent};

/// A provider that is called over HTTP, with its models and its key.
pub(super) struct RemoteProvider {
    name: String,
    models: Vec<Model>,
    /// Further data about each model, in the order of the models.
    details: Vec<ModelDetails>,
    /// The key in `models.json`.
    key: Option<ConfigValue>,
    keys: Keys,
    sender: Sender,
}

impl RemoteProvider {
    pub fn new(
        name: String,
        models: Vec<ModelDefinition>,
        key: Option<ConfigValue>,
        keys: Keys,
        sender: Sender,
    ) -> Self {
        let (models, details) = models.into_iter().map(|entry| (entry.model, entry.details)).unzip();
        Self { name, models, details, key, keys, sender }
    }

    /// Returns the data of a model. An id that is not listed receives the data of the provider's first model. Users may
    /// name a model that is newer than the table.
    fn known_model(&self, model: &Model) -> Option<(&Model, &ModelDetails)> {
        let at = self.models.iter().position(|known| known.id == model.id).unwrap_or(0);
        Some((self.models.get(at)?, self.details.get(at)?))
    }

    fn unavailable(&self, model: &Model) -> ModelUnavailableError {
        ModelUnavailableError::NoApi {
            api: model.api.clone(),
            model: format!("{}/{}", self.name, model.id),
            known: apis::names().join(", "),
        }
    }

    /// Prepares the parts of an exchange that are known before the key is available. Fails if the model cannot be
    /// called.
    fn prepare(&self, mut request: Request) -> Result<Preparation, ProviderError> {
        let Some((known, details)) = self.known_model(&request.model) else {
            return Err(ProviderError::new(ProviderErrorKind::BadRequest, "The provider has no models."));
        };
        let api = apis::named(&known.api).ok_or_else(|| self.unavailable(known))?;
        // The address, to which keys are sent, comes from the configuration and never from the request's model.
        request.model.base_url.clone_from(&known.base_url);
        request.model.api.clone_from(&known.api);
        let renames = tool_schema::adapt_tools(&mut request, api.tool_rules());
        Ok(Preparation {
            api,
            request,
            renames,
            details: details.clone(),
            name: self.name.clone(),
            key: self.key.clone(),
            keys: self.keys.clone(),
            sender: self.sender.clone(),
        })
    }
}

impl Preparation {
    async fn exchange(self) -> Result<Exchange, ProviderError> {
        let mut secrets = Secrets::default();
        let key = self.keys.get(&self.name, self.key.as_ref()).await?;
        secrets.add(key.secret().expose_secret());
        let mut headers = HeaderMap::new();
        if self.details.auth_header {
            headers.insert(AUTHORIZATION, key.header("Bearer ")?);
        }
        let commands = self.keys.command_runner();
        for (header, value) in &self.details.headers {
            let value = value.get(&format!("the header {header} of {}", self.name), &commands).await?;
            secrets.add(value.expose_secret());
            let value = secret_header(value.expose_secret()).ok_or_else(|| {
                let text =
                    format!("The value of the header {header} in models.json is not a valid header value.");
                ProviderError::new(ProviderErrorKind::BadRequest, text)
            })?;
            headers.insert(header, value);
        }
        let draft = Draft { now: self.sender.clock.now_ms(), preparation: self, key, headers };
        let forms = draft.preparation.sender.fallbacks.get(&draft.preparation.request.model);
        let (api, repeats) = (draft.preparation.api, draft.preparation.request.may_retry);
        let (wire, reader, draft, forms) = match draft.preparation.request.messages.is_long() {
            // Writing takes long, so a blocking thread does it and the runtime's threads stay free.
            true => tokio::task::spawn_blocking(move || draft.write(forms)).await.map_err(|error| {
                ProviderError::new(
                    ProviderErrorKind::BadRequest,
                    format!("The request cannot be written: {error}."),
                )
            })??,
            false => draft.write(forms)?,
        };
        Ok(Exchange { api, wire, reader, secrets, may_retry: repeats, fallbacks: forms, draft })
    }
}

impl Provider for RemoteProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn models(&self) -> &[Model] {
        &self.models
    }

    fn describe(&self, model: Model) -> Model {
        match self.known_model(&model) {
            Some((known, details)) if known.id == model.id => details.describe(model),
            _ => model,
        }
    }

    fn ready(&self, model: &Model) -> Result<(), ModelUnavailableError> {
        let known = self.known_model(model).map_or(model, |(known, _)| known);
        if apis::named(&known.api).is_none() {
            return Err(self.unavailable(known));
        }
        self.keys.find(&self.name, self.key.as_ref()).map(drop)
    }

    fn available(&self) -> Vec<&Model> {
        // All models share one key.
        if self.keys.find(&self.name, self.key.as_ref()).is_err() {
            return Vec::new();
        }
        self.models.iter().filter(|model| apis::named(&model.api).is_some()).collect()
    }

    fn levels(&self, model: &Model) -> Vec<ThinkingLevel> {
        let Some((_, details)) = self.known_model(model) else { return levels(model) };
        let xhigh = details.xhigh.unwrap_or_else(|| implies_xhigh(model));
        levels_with(model.reasoning, xhigh, &details.efforts)
    }

    fn interleaves(&self, model: &Model) -> bool {
        let known = self.known_model(model).map(|(known, _)| known);
        known.and_then(|known| apis::named(&known.api)).is_some_and(|api| api.interleaves())
    }

    fn closes_when_aborted(&self, model: &Model) -> bool {
        let known = self.known_model(model).map(|(known, _)| known);
        known.and_then(|known| apis::named(&known.api)).is_some_and(|api| api.closes_when_aborted())
    }

    fn stream(&self, request: Request) -> BoxStream<'static, StreamEvent> {
        match self.prepare(request) {
            Ok(mut preparation) => {
                let early = preparation.api.starts_when_sent();
                let renames = std::mem::take(&mut preparation.renames);
                restore_names(answer(self.sender.clone(), early, preparation.exchange().boxed()), renames)
            }
            Err(failure) => answer(self.sender.clone(), false, async move { Err(failure) }.boxed()),
        }
    }
}
