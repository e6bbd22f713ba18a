//! Selection of the initial model.

use agentese::types::Model;

use super::catalog::find_in;
use super::{Catalog, ModelSelection};

/// The sources of the initial model, highest precedence first.
#[derive(Debug, Clone, Copy, Default)]
pub struct SelectOptions<'a> {
    /// The provider from `--provider`.
    pub provider: Option<&'a str>,
    /// The model from `--model`, as a pattern of [`Catalog::find`].
    pub model: Option<&'a str>,
    /// Models that a client can cycle through, from `--models`.
    pub scope: &'a [ModelSelection],
    /// Provider and id of the model of a resumed session. If set, `scope` is ignored.
    pub resumed: Option<(&'a str, &'a str)>,
    /// Provider and id from the settings.
    pub default: Option<(&'a str, &'a str)>,
}

/// The selected initial model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InitialModel {
    /// The model; `None` if no model is available.
    pub selection: Option<ModelSelection>,
    /// A warning for the user.
    pub warning: Option<String>,
}

/// The error for an unknown provider or model. The texts are the same as in pi.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// No model has this name.
    #[error("Model \"{0}\" not found. Use --list-models to see available models.")]
    UnknownModel(String),
    /// No provider has this name.
    #[error("Unknown provider \"{0}\". Use --list-models to see available providers/models.")]
    UnknownProvider(String),
}

/// The default model of each provider. The first available model applies.
const PREFERRED: &[(&str, &str)] = &[
    ("anthropic", "claude-opus-4-6"),
    ("openai", "gpt-5.2"),
    ("google", "gemini-2.5-pro"),
    ("openrouter", "openai/gpt-5.2"),
    ("xai", "grok-4"),
    ("groq", "openai/gpt-oss-120b"),
    ("mistral", "devstral-medium-latest"),
];

impl Catalog {
    /// Selects the initial model. A provider or model from the command line is selected even without a key. All others
    /// must be available. Fails if a name is unknown.
    pub fn select(&self, options: SelectOptions<'_>) -> Result<InitialModel, SelectError> {
        let chosen = |model: &Model| ModelSelection { model: model.clone(), thinking: None };
        let certain = |chosen: ModelSelection| InitialModel { selection: Some(chosen), warning: None };
        match (options.provider, options.model) {
            (None, None) => {}
            (provider, Some(pattern)) => return self.named(provider, pattern),
            (Some(provider), None) => {
                let found = self.provider_named(provider);
                let found = found.ok_or_else(|| SelectError::UnknownProvider(provider.to_owned()))?;
                let first = preferred(found.name(), found.models().iter()).or(found.models().first());
                return Ok(InitialModel { selection: first.map(chosen), warning: None });
            }
        }
        if let (None, Some(first)) = (options.resumed, options.scope.first()) {
            return Ok(certain(first.clone()));
        }
        let available = self.available();
        let get = |(provider, id): (&str, &str)| {
            available.iter().copied().find(|model| model.provider == provider && model.id == id)
        };
        let any = || {
            let mut preferred = PREFERRED.iter().copied().filter_map(get);
            preferred.next().or_else(|| available.first().copied())
        };
        let model = options.resumed.and_then(get).or_else(|| options.default.and_then(get)).or_else(any);
        let gone = options.resumed.filter(|resumed| get(*resumed).is_none());
        let warning =
            gone.map(|(provider, id)| format!("The session's model {provider}/{id} is not available now."));
        Ok(InitialModel { selection: model.map(chosen), warning })
    }

    fn named(&self, provider: Option<&str>, pattern: &str) -> Result<InitialModel, SelectError> {
        let certain = |chosen: ModelSelection| Ok(InitialModel { selection: Some(chosen), warning: None });
        let explicit = match provider {
            Some(name) => {
                let found = self.provider_named(name);
                Some(found.ok_or_else(|| SelectError::UnknownProvider(name.to_owned()))?)
            }
            None => None,
        };
        let inferred = pattern.split_once('/').and_then(|(name, _)| self.provider_named(name));
        let Some(provider) = explicit.or(inferred) else {
            let found = self.find(pattern);
            return found.map_or_else(|| Err(SelectError::UnknownModel(pattern.to_owned())), certain);
        };
        let prefix = format!("{}/", provider.name());
        let has_prefix = pattern.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(&prefix));
        let id = if has_prefix { &pattern[prefix.len()..] } else { pattern };
        if let Some(found) = find_in(&provider.models().iter().collect::<Vec<_>>(), id) {
            return certain(found);
        }
        // An id may begin with the name of another provider.
        if let (None, Some(found)) = (explicit, self.find(pattern)) {
            return certain(found);
        }
        let Some(base) = preferred(provider.name(), provider.models().iter()).or(provider.models().first())
        else {
            return Err(SelectError::UnknownModel(format!("{prefix}{id}")));
        };
        if id.is_empty() {
            return Err(SelectError::UnknownModel(pattern.to_owned()));
        }
        let (id, thinking) = match id.rsplit_once(':').map(|(id, level)| (id, level.parse())) {
            Some((id, Ok(level))) => (id, Some(level)),
            _ => (id, None),
        };
        let mut model = base.clone();
        model.id = id.to_owned();
        model.name = id.to_owned();
        let warning =
            format!("Model \"{id}\" not found for provider \"{}\". Using custom model id.", provider.name());
        Ok(InitialModel { selection: Some(ModelSelection { model, thinking }), warning: Some(warning) })
    }
}

fn preferred<'a>(provider: &str, mut models: impl Iterator<Item = &'a Model>) -> Option<&'a Model> {
    let (_, id) = PREFERRED.iter().find(|(name, _)| *name == provider)?;
    models.find(|model| model.id == *id)
}
