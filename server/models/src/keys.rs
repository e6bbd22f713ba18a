//! Selection of the key for a provider.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use secrecy::SecretString;

use super::auth_entry::StoredCredential;
use super::auth_file::{AuthError, AuthFile};
use super::config_value::{CommandRunner, ConfigValue};
use super::key::Key;
use super::{ProviderError, ProviderErrorKind};
use crate::config::Environment;
use crate::processes::Spawner;
use crate::runtime::Clock;

/// Variables with keys, by provider. The first variable that is set applies.
const VARIABLES: &[(&str, &[&str])] = &[
    ("anthropic", &["ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_API_KEY"]),
    ("openai", &["OPENAI_API_KEY"]),
    ("google", &["GEMINI_API_KEY", "GOOGLE_API_KEY"]),
    ("groq", &["GROQ_API_KEY"]),
    ("cerebras", &["CEREBRAS_API_KEY"]),
    ("xai", &["XAI_API_KEY"]),
    ("openrouter", &["OPENROUTER_API_KEY"]),
    ("zai", &["ZAI_API_KEY"]),
    ("mistral", &["MISTRAL_API_KEY"]),
    ("vercel-ai-gateway", &["AI_GATEWAY_API_KEY"]),
    ("minimax", &["MINIMAX_API_KEY"]),
    ("minimax-cn", &["MINIMAX_CN_API_KEY"]),
    ("huggingface", &["HF_TOKEN"]),
    ("opencode", &["OPENCODE_API_KEY"]),
    ("kimi-coding", &["KIMI_API_KEY"]),
    ("github-copilot", &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"]),
];

/// Returns the names of all variables that can contain a key, including those of unsupported providers.
pub fn key_variables() -> impl Iterator<Item = &'static str> {
    VARIABLES.iter().flat_map(|(_, names)| names.iter()).chain(super::key_variables::OTHERS).copied()
}

/// Variables that contain the token of a login instead of an API key.
const LOGIN_VARIABLES: &[&str] = &["ANTHROPIC_OAUTH_TOKEN"];

/// The reason why a model is not available.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelUnavailableError {
    /// No key is configured. The text begins as in pi.
    #[error("No API key found for {provider}.\n\n{hint}")]
    NoKey {
        /// Name of the provider without a key.
        provider: String,
        /// A sentence that lists the ways to supply a key.
        hint: String,
    },
    /// A login has expired, and this version cannot renew it.
    #[error(
        "The login for {provider} in auth.json has expired, and this version does not renew logins. Log in again with the program that stored it, or use an API key."
    )]
    Expired {
        /// Name of the provider whose key has expired.
        provider: String,
    },
    /// The file with keys cannot be read.
    #[error("The API key for {provider} cannot be read: {reason}")]
    Unreadable {
        /// Name of the provider.
        provider: String,
        /// Reason why the file cannot be read.
        reason: String,
    },
    /// This version does not support the wire format of the model.
    #[error("The API \"{api}\" of {model} is not available in this version; available: {known}.")]
    NoApi {
        /// Name of the wire format.
        api: String,
        /// The model, as `provider/id`.
        model: String,
        /// Names of the supported wire formats.
        known: String,
    },
}

impl From<ModelUnavailableError> for ProviderError {
    fn from(reason: ModelUnavailableError) -> Self {
        Self::new(ProviderErrorKind::Auth, reason.to_string())
    }
}

/// The places from which keys are read, for all providers.
#[derive(Clone)]
pub struct Keys {
    /// Keys set for this process, by provider.
    process_keys: Arc<Mutex<HashMap<String, SecretString>>>,
    file: Option<AuthFile>,
    environment: Arc<dyn Environment + Send + Sync>,
    clock: Arc<dyn Clock>,
    spawner: Arc<dyn Spawner>,
    /// Keys and headers from `models.json`, each with a description for error messages.
    configured: Arc<[(String, ConfigValue)]>,
}

/// A key, or the place of a key that takes time to read.
pub enum KeySource<'a> {
    Key(Key),
    /// The source is a value from `models.json`, which `ConfigValue::get` reads.
    Configured(&'a ConfigValue),
}

impl Keys {
    pub fn new(
        file: Option<AuthFile>,
        environment: Arc<dyn Environment + Send + Sync>,
        clock: Arc<dyn Clock>,
        spawner: Arc<dyn Spawner>,
    ) -> Self {
        Self { process_keys: Arc::default(), file, environment, clock, spawner, configured: Arc::new([]) }
    }

    /// Sets a key for a provider until this process ends. The key takes precedence over all others.
    pub fn set_process_key(&self, provider: &str, key: SecretString) {
        self.process_keys.lock().unwrap_or_else(PoisonError::into_inner).insert(provider.to_owned(), key);
    }

    /// Returns the key for a provider from the first of these sources that has one: the key set for this process,
    /// `auth.json`, the environment, `models.json`. An unusable entry in `auth.json` (an expired login, an empty or
    /// unknown entry, an unreadable file) is skipped. If no other source has a key, fails with the fault of that entry.
    pub fn find<'a>(
        &self,
        provider: &str,
        configured: Option<&'a ConfigValue>,
    ) -> Result<KeySource<'a>, ModelUnavailableError> {
        let given = self.process_keys.lock().unwrap_or_else(PoisonError::into_inner).get(provider).cloned();
        if let Some(key) = given {
            return Ok(KeySource::Key(Key::new(key)));
        }
        let stored = self.stored(provider);
        if let Ok(Some(key)) = stored {
            return Ok(KeySource::Key(key));
        }
        let variables =
            VARIABLES.iter().find(|(name, _)| *name == provider).map_or(&[][..], |(_, names)| names);
        for name in variables {
            let value = self.environment.get(name).and_then(|value| value.into_string().ok());
            if let Some(value) = value.filter(|value| !value.trim().is_empty()) {
                let login = LOGIN_VARIABLES.contains(name);
                return Ok(KeySource::Key(if login {
                    Key::bearer(value.into())
                } else {
                    Key::new(value.into())
                }));
            }
        }
        let none = || ModelUnavailableError::NoKey { provider: provider.to_owned(), hint: hint(variables) };
        configured.map(KeySource::Configured).ok_or_else(|| stored.err().unwrap_or_else(none))
    }

    /// Returns the key in `auth.json`. Fails if the entry has expired or cannot be read.
    fn stored(&self, provider: &str) -> Result<Option<Key>, ModelUnavailableError> {
        let Some(file) = &self.file else { return Ok(None) };
        let unreadable = |error: AuthError| ModelUnavailableError::Unreadable {
            provider: provider.to_owned(),
            reason: error.to_string(),
        };
        match file.stored(provider).map_err(unreadable)? {
            Some(StoredCredential::Key(key)) => Ok(Some(Key::new(key))),
            Some(StoredCredential::Login { expires, .. }) if expires <= self.clock.now_ms() => {
                Err(ModelUnavailableError::Expired { provider: provider.to_owned() })
            }
            Some(StoredCredential::Login { token, .. } | StoredCredential::Device { token, .. }) => {
                Ok(Some(Key::bearer(token)))
            }
            None => Ok(None),
        }
    }

    /// Returns the key itself. If a command supplies the key, runs the command.
    pub async fn get(&self, provider: &str, configured: Option<&ConfigValue>) -> Result<Key, ProviderError> {
        match self.find(provider, configured)? {
            KeySource::Key(key) => Ok(key),
            KeySource::Configured(value) => {
                let what = format!("the key of {provider}");
                value.get(&what, &self.command_runner()).await.map(Key::new)
            }
        }
    }

    /// Returns `auth.json`, if keys are stored in a file.
    pub fn file(&self) -> Option<&AuthFile> {
        self.file.as_ref()
    }

    /// Returns the environment of commands that print values.
    pub fn command_runner(&self) -> CommandRunner {
        CommandRunner { clock: self.clock.clone(), spawner: self.spawner.clone() }
    }

    /// Sets the values of `models.json` that [`Keys::secrets`] returns too.
    pub fn with_configured(mut self, configured: Vec<(String, ConfigValue)>) -> Self {
        self.configured = configured.into();
        self
    }

    /// Returns every key, in use or not. The sources are: this process, `auth.json`, the environment, and `models.json`
    /// with its headers. Commands in `models.json` run now if they have not run yet. Also returns the reasons for
    /// values that are unknown.
    pub async fn secrets(&self) -> (Vec<SecretString>, Vec<String>) {
        let mut unknown = Vec::new();
        let mut known: Vec<SecretString> =
            self.process_keys.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        match self.file.as_ref().map(AuthFile::secrets) {
            Some(Ok(stored)) => known.extend(stored),
            Some(Err(error)) => unknown.push(error.to_string()),
            None => {}
        }
        let variables = key_variables().filter_map(|name| self.environment.get(name)?.into_string().ok());
        known.extend(variables.map(SecretString::from));
        let commands = self.command_runner();
        let values = self.configured.iter().map(|(what, value)| value.get(what, &commands));
        for value in futures::future::join_all(values).await {
            match value {
                Ok(value) => known.push(value),
                Err(failure) => unknown.push(failure.text),
            }
        }
        (known, unknown)
    }
}

fn hint(variables: &[&str]) -> String {
    let places = "auth.json or models.json of the agent directory";
    match variables.last() {
        Some(name) => {
            format!(
                "Set the environment variable {name}, store a key in {places}, or give one with --api-key."
            )
        }
        None => format!("Store a key in {places}, or give one with --api-key."),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use secrecy::ExposeSecret;
    use serde_json::json;

    use super::*;
    use crate::processes::LocalSpawner;
    use crate::runtime::SystemClock;

    #[tokio::test]
    async fn keys_have_an_order() {
        let directory = tempfile::tempdir().unwrap();
        let file = AuthFile::in_dir(directory.path());
        let keys = |variables: &'static [(&str, &str)]| {
            let environment = move |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
            };
            Keys::new(
                Some(file.clone()),
                Arc::new(environment),
                Arc::new(SystemClock),
                Arc::new(LocalSpawner::new(None)),
            )
        };
        let configured = ConfigValue::new("configured", &|_: &str| None);
        let found = async |keys: &Keys, provider: &str, configured: Option<&ConfigValue>| match keys
            .get(provider, configured)
            .await
        {
            Ok(key) => format!("{} {}", key.secret().expose_secret(), key.is_bearer()),
            Err(failure) => failure.text.lines().next().unwrap_or_default().to_owned(),
        };
        let bare = keys(&[]);
        assert_eq!(found(&bare, "anthropic", None).await, "No API key found for anthropic.");
        assert_eq!(found(&bare, "anthropic", Some(&configured)).await, "configured false");
        let set = keys(&[("ANTHROPIC_API_KEY", "env"), ("GH_TOKEN", "gh"), ("XAI_API_KEY", " ")]);
        assert_eq!(found(&set, "anthropic", Some(&configured)).await, "env false");
        assert_eq!(found(&set, "github-copilot", None).await, "gh false");
        assert_eq!(found(&set, "xai", None).await, "No API key found for xai.");
        let token = keys(&[("ANTHROPIC_API_KEY", "env"), ("ANTHROPIC_OAUTH_TOKEN", "token")]);
        assert_eq!(found(&token, "anthropic", None).await, "token true");
        file.set_key("anthropic", &"stored".into()).unwrap();
        assert_eq!(found(&set, "anthropic", Some(&configured)).await, "stored false");
        set.set_process_key("anthropic", "given".into());
        assert_eq!(found(&set, "anthropic", Some(&configured)).await, "given false");
        let login = |expires: i64| json!({"openai": {"type": "oauth", "access": "a", "refresh": "r", "expires": expires}});
        std::fs::write(directory.path().join("auth.json"), login(i64::MAX).to_string()).unwrap();
        assert_eq!(found(&bare, "openai", None).await, "a true");
        std::fs::write(directory.path().join("auth.json"), login(1000).to_string()).unwrap();
        let expired = found(&bare, "openai", None).await;
        assert!(expired.starts_with("The login for openai in auth.json has expired"), "{expired}");
    }

    #[tokio::test]
    async fn fm_f121_an_entry_that_cannot_be_used_hides_no_other_key() {
        let directory = tempfile::tempdir().unwrap();
        let file = AuthFile::in_dir(directory.path());
        let keys = |variable: Option<&'static str>| {
            let environment =
                move |name: &str| variable.filter(|_| name == "OPENAI_API_KEY").map(OsString::from);
            Keys::new(
                Some(file.clone()),
                Arc::new(environment),
                Arc::new(SystemClock),
                Arc::new(LocalSpawner::new(None)),
            )
        };
        let configured = ConfigValue::new("configured", &|_: &str| None);
        for text in [
            json!({"openai": {"type": "oauth", "access": "a", "refresh": "r", "expires": 1000}}).to_string(),
            json!({"openai": {"type": "oauth", "access": "a"}}).to_string(),
            json!({"openai": {"type": "oauth", "expires": i64::MAX}}).to_string(),
            json!({"openai": {"type": "novel", "key": "x"}}).to_string(),
            json!({"openai": {"type": "api_key", "key": ""}}).to_string(),
            json!({"openai": {"type": "api_key", "key": " \n"}}).to_string(),
            json!({"openai": {"type": "api_key", "key": 7}}).to_string(),
            json!({"openai": {}}).to_string(),
            json!({"openai": null}).to_string(),
            json!({"openai": "x"}).to_string(),
            "{".to_owned(),
            "[]".to_owned(),
            String::new(),
        ] {
            std::fs::write(directory.path().join("auth.json"), &text).unwrap();
            let key = keys(Some("env")).get("openai", Some(&configured)).await.unwrap();
            assert_eq!((key.secret().expose_secret(), key.is_bearer()), ("env", false), "{text}");
            let key = keys(None).get("openai", Some(&configured)).await.unwrap();
            assert_eq!(key.secret().expose_secret(), "configured", "{text}");
            // Without another key, the fault of the entry is reported.
            let failure = keys(None).get("openai", None).await.unwrap_err();
            assert!(failure.text.contains("auth.json"), "{text}: {}", failure.text);
            assert!(!failure.text.starts_with("No API key"), "{text}: {}", failure.text);
        }
        std::fs::remove_file(directory.path().join("auth.json")).unwrap();
        std::fs::create_dir(directory.path().join("auth.json")).unwrap();
        assert!(keys(Some("env")).find("openai", None).is_ok());
        assert!(matches!(keys(None).find("openai", None), Err(ModelUnavailableError::Unreadable { .. })));
    }
}
