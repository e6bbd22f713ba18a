//! Credentials: the list of providers, the login with a device code, and API keys.

use agentese::opal::{
    AuthPollParams, AuthSetKeyParams, DeviceCode, DeviceCodeBuilder, Failure, OpalAuth, OpalAuthProvider,
    OpalAuthProviderBuilder, OpalAuthStatus,
};
use agentese::serve::CommandError;

use super::OpalServer;
use crate::dialects::blocking::blocking;
use crate::providers::{DeviceLogin, SecretString};

/// A provider, its login method, and the environment variable that holds its API key.
struct KnownProvider {
    id: &'static str,
    name: &'static str,
    method: &'static str,
    variable: Option<&'static str>,
}

/// The providers, in the order of the list.
const KNOWN_PROVIDERS: [KnownProvider; 4] = [
    KnownProvider { id: "copilot", name: "GitHub Copilot", method: "device_code", variable: None },
    KnownProvider {
        id: "anthropic",
        name: "Anthropic",
        method: "api_key",
        variable: Some("ANTHROPIC_API_KEY"),
    },
    KnownProvider { id: "openai", name: "OpenAI", method: "api_key", variable: Some("OPENAI_API_KEY") },
    KnownProvider {
        id: "google",
        name: "Google Gemini",
        method: "api_key",
        variable: Some("GOOGLE_API_KEY"),
    },
];

fn provider(id: &str, name: &str, method: &str, ready: bool) -> OpalAuthProvider {
    OpalAuthProviderBuilder { id: id.to_owned(), name: name.to_owned(), method: method.to_owned(), ready }
        .build()
}

impl OpalServer {
    /// Returns the providers, each with the state of its credentials.
    pub(super) async fn auth(&self) -> OpalAuth {
        let catalog = self.catalog.clone();
        let providers = blocking(move || {
            let known = KNOWN_PROVIDERS.iter().map(|known| {
                let ready = catalog.has_key(known.id);
                let mut listed = provider(known.id, known.name, known.method, ready);
                listed.env_var = known.variable.map(str::to_owned);
                listed
            });
            let mut providers: Vec<OpalAuthProvider> = known.collect();
            // Other available providers need no further credentials.
            for model in catalog.available() {
                if !providers.iter().any(|provider| provider.id == model.provider) {
                    providers.push(provider(&model.provider, &model.provider, "api_key", true));
                }
            }
            providers
        });
        let providers = providers.await;
        let first = providers.iter().find(|provider| provider.ready).map(|provider| provider.id.clone());
        let status = if first.is_some() { OpalAuthStatus::Ready } else { OpalAuthStatus::SetupRequired };
        let mut auth = OpalAuth::new(status, first);
        auth.providers = Some(providers);
        auth
    }

    fn login(&self) -> Result<&DeviceLogin, String> {
        self.catalog.login().ok_or_else(|| "this server does not support logins".to_owned())
    }

    /// Starts a login.
    pub(super) async fn start_login(&self) -> Result<DeviceCode, CommandError> {
        let failed = |reason: String| Failure::LoginFailed.command_error(&[]).with_data(reason);
        let login = self.login().map_err(failed)?;
        let code = login.start().await.map_err(|error| failed(error.to_string()))?;
        Ok(DeviceCodeBuilder {
            user_code: code.user_code,
            verification_uri: code.verification_uri,
            device_code: code.device_code,
            interval: code.interval,
        }
        .build())
    }

    /// Waits for the end of a login.
    pub(super) async fn poll_login(&self, params: AuthPollParams) -> Result<(), CommandError> {
        let failed = |reason: String| Failure::LoginPollingFailed.command_error(&[]).with_data(reason);
        let login = self.login().map_err(failed)?;
        tokio::select! {
            biased;
            // A disconnected client does not wait for the login.
            () = self.closing.cancelled() => Err(failed("the server is shutting down".to_owned())),
            done = login.poll(&params.device_code, params.interval) => done.map_err(|error| failed(error.to_string())),
        }
    }

    /// Stores an API key.
    pub(super) async fn store_key(&self, params: AuthSetKeyParams) -> Result<(), CommandError> {
        let AuthSetKeyParams { provider, api_key, .. } = params;
        if provider.trim().is_empty() || api_key.trim().is_empty() {
            return Err(Failure::MissingParameters.command_error(&[("params", "provider, api_key")]));
        }
        let (catalog, key) = (self.catalog.clone(), SecretString::from(api_key));
        let kept = blocking(move || catalog.store_key(&provider, &key)).await;
        kept.map_err(|error| Failure::InternalError.command_error(&[]).with_data(error.to_string()))
    }
}
