//! The model to begin with.

use agentese::types::Model;

use super::catalog::find_in;
use super::{Catalog, Chosen};

/// What there is to go by, most telling first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// The provider that was named (`--provider`).
    pub provider: Option<&'a str>,
    /// The model that was named (`--model`), as [`Catalog::find`] reads it.
    pub model: Option<&'a str>,
    /// The models that cycling goes through (`--models`).
    pub scope: &'a [Chosen],
    /// Provider and id of the model of the session that is resumed. The scope does not count then.
    pub resumed: Option<(&'a str, &'a str)>,
    /// Provider and id of the settings.
    pub default: Option<(&'a str, &'a str)>,
}

/// The model to begin with.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Selected {
    /// The model; none where none can be asked.
    pub chosen: Option<Chosen>,
    /// What the user should know about it.
    pub warning: Option<String>,
}

/// Why what was named means nothing. The texts are pi's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// No model.
    #[error("Model \"{0}\" not found. Use --list-models to see available models.")]
    UnknownModel(String),
    /// No provider.
    #[error("Unknown provider \"{0}\". Use --list-models to see available providers/models.")]
    UnknownProvider(String),
}

/// The model of each provider that is taken where nothing is said, in the order of the providers.
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
    /// Selects the model to begin with. What was named counts whether it has a key or not; all else has
    /// to be available. Fails for a name that means nothing.
    pub fn select(&self, wanted: Wanted<'_>) -> Result<Selected, SelectError> {
        let chosen = |model: &Model| Chosen { model: model.clone(), thinking: None };
        let certain = |chosen: Chosen| Selected { chosen: Some(chosen), warning: None };
        match (wanted.provider, wanted.model) {
            (None, None) => {}
            (provider, Some(pattern)) => return self.named(provider, pattern),
            (Some(provider), None) => {
                let found = self.provider_named(provider);
                let found = found.ok_or_else(|| SelectError::UnknownProvider(provider.to_owned()))?;
                let first = preferred(found.name(), found.models().iter()).or(found.models().first());
                return Ok(Selected { chosen: first.map(chosen), warning: None });
            }
        }
        if let (None, Some(first)) = (wanted.resumed, wanted.scope.first()) {
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
        let model = wanted.resumed.and_then(get).or_else(|| wanted.default.and_then(get)).or_else(any);
        let gone = wanted.resumed.filter(|resumed| get(*resumed).is_none());
        let warning =
            gone.map(|(provider, id)| format!("The session's model {provider}/{id} cannot be asked now."));
        Ok(Selected { chosen: model.map(chosen), warning })
    }

    fn named(&self, provider: Option<&str>, pattern: &str) -> Result<Selected, SelectError> {
        let certain = |chosen: Chosen| Ok(Selected { chosen: Some(chosen), warning: None });
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
        // An id may begin with what is the name of another provider.
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
        Ok(Selected { chosen: Some(Chosen { model, thinking }), warning: Some(warning) })
    }
}

fn preferred<'a>(provider: &str, mut models: impl Iterator<Item = &'a Model>) -> Option<&'a Model> {
    let (_, id) = PREFERRED.iter().find(|(name, _)| *name == provider)?;
    models.find(|model| model.id == *id)
}
