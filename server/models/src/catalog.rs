//! The catalogue of all models, and the search for a model by name.

use std::sync::Arc;

use agentese::types::{Model, ThinkingLevel};
use globset::{GlobBuilder, GlobMatcher};
use secrecy::SecretString;

use super::auth_file::AuthError;
use super::device_login::DeviceLogin;
use super::keys::{Keys, ModelUnavailableError};
use super::levels::{levels, nearest};
use super::provider::Provider;

/// A model, with the thinking level that was requested with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSelection {
    /// The selected model.
    pub model: Model,
    /// The thinking level, as in `NAME:high`; `None` if the name has no level.
    pub thinking: Option<ThinkingLevel>,
}

/// The reason why a key was not stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreKeyError {
    /// There is no file for keys.
    #[error("keys cannot be stored: there is no home directory")]
    NoFile,
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] AuthError),
}

/// All models of all providers, in the order of the providers.
#[derive(Clone, Default)]
pub struct Catalog {
    providers: Vec<Arc<dyn Provider>>,
    keys: Option<Keys>,
    login: Option<DeviceLogin>,
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.models().map(name)).finish()
    }
}

fn name(model: &Model) -> String {
    format!("{}/{}", model.provider, model.id)
}

impl Catalog {
    /// Creates a catalogue of the models of `providers`.
    pub fn new(providers: Vec<Arc<dyn Provider>>) -> Self {
        Self { providers, keys: None, login: None }
    }

    /// Sets the source of keys.
    #[doc(hidden)]
    pub fn with_keys(mut self, keys: Keys) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Sets the login with a device code, if there is one.
    #[doc(hidden)]
    pub fn with_login(mut self, login: Option<DeviceLogin>) -> Self {
        self.login = login;
        self
    }

    /// Returns the login with a device code, if the catalogue has one.
    pub fn login(&self) -> Option<&DeviceLogin> {
        self.login.as_ref()
    }

    /// Returns true if the catalogue has a provider with this name.
    pub fn has_provider(&self, name: &str) -> bool {
        self.provider(name).is_some()
    }

    /// Returns true if a provider has a key in `auth.json` or in the environment, or one set for this process. Does not
    /// wait for a slow disk.
    pub fn has_key(&self, provider: &str) -> bool {
        self.keys.as_ref().is_some_and(|keys| keys.find(provider, None).is_ok())
    }

    /// Stores a key for a provider in `auth.json`. Blocks. Fails if the catalogue has no `auth.json`, or if the file
    /// cannot be read or written.
    pub fn store_key(&self, provider: &str, key: &SecretString) -> Result<(), StoreKeyError> {
        let file = self.keys.as_ref().and_then(Keys::file).ok_or(StoreKeyError::NoFile)?;
        Ok(file.set_key(provider, key)?)
    }

    /// Returns the providers with keys in `auth.json`. Returns an empty list if the file cannot be read. Blocks.
    pub fn stored_keys(&self) -> Vec<String> {
        let file = self.keys.as_ref().and_then(Keys::file);
        file.and_then(|file| file.providers_with_keys().ok()).unwrap_or_default()
    }

    /// Returns the model `id` of a provider, even if the provider does not list it. An unlisted model has the
    /// properties of the provider's first model. Returns `None` if the provider is unknown or has no models.
    pub fn model_like(&self, provider: &str, id: &str) -> Option<Model> {
        if let Some(model) = self.get(provider, id) {
            return Some(model.clone());
        }
        let mut model = self.provider(provider)?.models().first()?.clone();
        (model.id, model.name) = (id.to_owned(), id.to_owned());
        Some(model)
    }

    /// Returns every model, available or not.
    pub fn models(&self) -> impl Iterator<Item = &Model> {
        self.providers.iter().flat_map(|provider| provider.models())
    }

    /// Returns the models that can be used: their provider has a key, or does not need one. Each call checks the stored
    /// keys.
    pub fn available(&self) -> Vec<&Model> {
        self.providers.iter().flat_map(|provider| provider.available()).collect()
    }

    /// Returns the names of all models as `provider/id`, for messages that list them.
    pub fn names(&self) -> Vec<String> {
        self.models().map(name).collect()
    }

    /// Returns the model `id` of a provider, or `None` if the provider does not list it.
    pub fn get(&self, provider: &str, id: &str) -> Option<&Model> {
        self.models().find(|model| model.provider == provider && model.id == id)
    }

    /// Returns the model as [`Catalog::get`] does, or `None` if the model is not available.
    pub fn get_available(&self, provider: &str, id: &str) -> Option<&Model> {
        self.get(provider, id).filter(|model| self.ready(model).is_ok())
    }

    /// Returns the provider of a model.
    pub fn provider_of(&self, model: &Model) -> Option<&Arc<dyn Provider>> {
        self.provider(&model.provider)
    }

    fn provider(&self, name: &str) -> Option<&Arc<dyn Provider>> {
        self.providers.iter().find(|provider| provider.name() == name)
    }

    /// Checks that a model is available. A key that a command supplies counts as present. Fails with a text for the
    /// user if the key is missing.
    pub fn ready(&self, model: &Model) -> Result<(), ModelUnavailableError> {
        self.provider_of(model).map_or(Ok(()), |provider| provider.ready(model))
    }

    /// Returns the thinking levels of a model as configured, weakest first.
    pub fn levels(&self, model: &Model) -> Vec<ThinkingLevel> {
        self.provider_of(model).map_or_else(|| levels(model), |provider| provider.levels(model))
    }

    /// Adds information to a model that only some clients receive.
    pub fn describe(&self, model: Model) -> Model {
        match self.provider_of(&model).cloned() {
            Some(provider) => provider.describe(model),
            None => model,
        }
    }

    /// Returns the level of the model that is nearest to `wanted`: the same or the next stronger, or else the
    /// strongest.
    pub fn nearest_level(&self, model: &Model, wanted: ThinkingLevel) -> ThinkingLevel {
        nearest(&self.levels(model), wanted)
    }

    /// Sets a key for a provider until this catalogue and its clones are dropped. The key takes precedence over all
    /// others and is not stored in a file.
    pub fn set_api_key(&self, provider: &str, key: SecretString) {
        if let Some(keys) = &self.keys {
            keys.set_process_key(provider, key);
        }
    }

    /// Returns every key, in use or not, so that the keys can be removed from output. Also returns the reasons for keys
    /// that are unknown. Commands in `models.json` run for this, each only once.
    pub async fn secrets(&self) -> (Vec<SecretString>, Vec<String>) {
        match &self.keys {
            Some(keys) => keys.secrets().await,
            None => Default::default(),
        }
    }

    /// Returns the provider with this name, in upper or lower case.
    pub fn provider_named(&self, wanted: &str) -> Option<&Arc<dyn Provider>> {
        self.providers.iter().find(|provider| provider.name().eq_ignore_ascii_case(wanted))
    }

    /// Returns the model for a pattern: `provider/id`, an id, or a part of these or of a name. A pattern can end in
    /// `:level`. A whole id takes precedence over a part. If several models contain the part, ids without a date come
    /// first, and of these the alphabetically last.
    pub fn find(&self, pattern: &str) -> Option<ModelSelection> {
        find_in(&self.models().collect::<Vec<_>>(), pattern)
    }

    /// Returns the models for a list of patterns, and the patterns without a match. The models have the order of the
    /// patterns, each model once. A pattern with `*`, `?` or `[` stands for all models whose `provider/id` or id
    /// matches. Each pattern can end in `:level`.
    pub fn scope<'a>(
        &self,
        patterns: impl IntoIterator<Item = &'a str>,
    ) -> (Vec<ModelSelection>, Vec<&'a str>) {
        let mut chosen: Vec<ModelSelection> = Vec::new();
        let mut unknown = Vec::new();
        for pattern in patterns {
            let found = if pattern.contains(['*', '?', '[']) {
                self.matching(pattern)
            } else {
                self.find(pattern).into_iter().collect()
            };
            if found.is_empty() {
                unknown.push(pattern);
            }
            for found in found {
                if !chosen.iter().any(|known| known.model == found.model) {
                    chosen.push(found);
                }
            }
        }
        (chosen, unknown)
    }

    fn matching(&self, pattern: &str) -> Vec<ModelSelection> {
        let (glob, thinking) = match pattern.rsplit_once(':').map(|(glob, level)| (glob, level.parse())) {
            Some((glob, Ok(level))) => (glob, Some(level)),
            _ => (pattern, None),
        };
        let Some(glob) = matcher(glob) else { return Vec::new() };
        let matches = |model: &&Model| glob.is_match(name(model)) || glob.is_match(&model.id);
        let chosen = |model: &Model| ModelSelection { model: model.clone(), thinking };
        self.models().filter(matches).map(chosen).collect()
    }
}

fn matcher(glob: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(glob).case_insensitive(true).literal_separator(true).build();
    glob.ok().map(|glob| glob.compile_matcher())
}

/// Returns the model for a pattern as [`Catalog::find`] does, but only from `models`.
pub fn find_in(models: &[&Model], pattern: &str) -> Option<ModelSelection> {
    let chosen = |pattern: &str, thinking| {
        let pattern = pattern.to_lowercase();
        let whole =
            |model: &Model| name(model).to_lowercase() == pattern || model.id.to_lowercase() == pattern;
        let part = |model: &Model| {
            let has = |text: &str| text.to_lowercase().contains(&pattern);
            !pattern.is_empty() && (has(&name(model)) || has(&model.name))
        };
        let best = || {
            let parts = models.iter().copied().filter(|model| part(model));
            // Of equal models the first is chosen.
            parts.reduce(|best, model| if rank(model) > rank(best) { model } else { best })
        };
        let model = models.iter().copied().find(|model| whole(model)).or_else(best)?;
        Some(ModelSelection { model: model.clone(), thinking })
    };
    // An id may contain a colon itself.
    chosen(pattern, None).or_else(|| {
        let (pattern, level) = pattern.rsplit_once(':')?;
        chosen(pattern, Some(level.parse().ok()?))
    })
}

fn rank(model: &Model) -> (bool, &str) {
    (!is_dated(&model.id), &model.id)
}

/// Returns true if an id ends in the date of a version, as in `-20250929` or `-2025-04-14`.
fn is_dated(id: &str) -> bool {
    let digits =
        |text: &str, count: usize| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = id.rsplit('-');
    let (last, month, year) = (parts.next(), parts.next(), parts.next());
    last.is_some_and(|last| digits(last, 8))
        || last.is_some_and(|day| digits(day, 2))
            && month.is_some_and(|month| digits(month, 2))
            && year.is_some_and(|year| digits(year, 4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::ScriptedProvider;

    #[test]
    fn a_model_is_found_by_whole_name_part_and_level() {
        let catalog = Catalog::new(vec![Arc::new(ScriptedProvider::built_in())]);
        let level = |pattern: &str| catalog.find(pattern).map(|chosen| chosen.thinking);
        assert_eq!(level("scripted/scripted"), Some(None));
        assert_eq!(level("Scripted"), Some(None));
        assert_eq!(level("script"), Some(None));
        assert_eq!(level("scripted:low"), Some(Some(ThinkingLevel::Low)));
        assert_eq!(level("scripted:loud"), None);
        assert_eq!(level("nosuch/model"), None);
        assert_eq!(level(""), None);
    }

    #[test]
    fn a_dated_name_ends_with_a_date() {
        assert!(is_dated("gpt-4.1-2025-04-14") && is_dated("a-20250929"));
        assert!(!is_dated("claude-opus-4-6") && !is_dated("gpt-5.2"));
    }
}
