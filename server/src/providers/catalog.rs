//! Models by name.

use std::sync::Arc;

use agentese::types::{Model, ThinkingLevel};

use super::Provider;

/// The thinking levels that a model has, weakest first.
pub fn levels(model: &Model) -> &'static [ThinkingLevel] {
    use ThinkingLevel::{High, Low, Medium, Minimal, Off};
    if model.reasoning { &[Off, Minimal, Low, Medium, High] } else { &[Off] }
}

/// The level that a model has and that is nearest to the one asked for: the next stronger one, or
/// else the strongest.
pub fn nearest_level(model: &Model, wanted: ThinkingLevel) -> ThinkingLevel {
    let rank = |level: &ThinkingLevel| {
        ThinkingLevel::ALL.iter().position(|known| known == level).unwrap_or_default()
    };
    let levels = levels(model);
    let stronger = levels.iter().find(|level| rank(level) >= rank(&wanted));
    stronger.or(levels.last()).copied().unwrap_or(ThinkingLevel::Off)
}

/// A model, and the level that came with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// The model.
    pub model: Model,
    /// The level, as in `NAME:high`.
    pub thinking: Option<ThinkingLevel>,
}

/// All models of all providers, in order.
#[derive(Clone, Default)]
pub struct Catalog {
    providers: Vec<Arc<dyn Provider>>,
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
    /// The models of those providers.
    pub fn new(providers: Vec<Arc<dyn Provider>>) -> Self {
        Self { providers }
    }

    /// Every model.
    pub fn models(&self) -> impl Iterator<Item = &Model> {
        self.providers.iter().flat_map(|provider| provider.models())
    }

    /// Their names, as `provider/id`, for texts that say what there is.
    pub fn names(&self) -> Vec<String> {
        self.models().map(name).collect()
    }

    /// The model of that provider with that id.
    pub fn get(&self, provider: &str, id: &str) -> Option<&Model> {
        self.models().find(|model| model.provider == provider && model.id == id)
    }

    /// The models that can be asked.
    pub fn available(&self) -> impl Iterator<Item = &Model> {
        self.models()
    }

    /// As [`Catalog::get`], of those that can be asked.
    pub fn get_available(&self, provider: &str, id: &str) -> Option<&Model> {
        self.get(provider, id)
    }

    /// Whether a model can be asked.
    pub fn ready(&self, _: &Model) -> Result<(), String> {
        Ok(())
    }

    /// Whoever answers for a model.
    pub fn provider_of(&self, model: &Model) -> Option<&Arc<dyn Provider>> {
        self.providers.iter().find(|provider| provider.name() == model.provider)
    }

    /// The model that a pattern means: `provider/id`, an id, or a part of either, with an optional
    /// `:level`. Whole names win over parts, and the first of several over the others.
    pub fn find(&self, pattern: &str) -> Option<Chosen> {
        let chosen = |pattern: &str, thinking| {
            let pattern = pattern.to_lowercase();
            let whole =
                |model: &&Model| name(model).to_lowercase() == pattern || model.id.to_lowercase() == pattern;
            let part = |model: &&Model| !pattern.is_empty() && name(model).to_lowercase().contains(&pattern);
            let model = self.models().find(whole).or_else(|| self.models().find(part))?;
            Some(Chosen { model: model.clone(), thinking })
        };
        // An id may have a colon of its own.
        chosen(pattern, None).or_else(|| {
            let (pattern, level) = pattern.rsplit_once(':')?;
            chosen(pattern, Some(level.parse().ok()?))
        })
    }

    /// The models that a list of patterns means, each once, in the order of the patterns; and the
    /// patterns that mean none.
    pub fn scope<'a>(&self, patterns: impl IntoIterator<Item = &'a str>) -> (Vec<Chosen>, Vec<&'a str>) {
        let mut chosen: Vec<Chosen> = Vec::new();
        let mut unknown = Vec::new();
        for pattern in patterns {
            match self.find(pattern) {
                Some(found) if chosen.iter().any(|known| known.model == found.model) => {}
                Some(found) => chosen.push(found),
                None => unknown.push(pattern),
            }
        }
        (chosen, unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::scripted::Scripted;

    #[test]
    fn a_model_is_found_by_whole_name_part_and_level() {
        let catalog = Catalog::new(vec![Arc::new(Scripted::built_in())]);
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
    fn a_level_goes_up_and_then_down_to_one_that_the_model_has() {
        let catalog = Catalog::new(vec![Arc::new(Scripted::built_in())]);
        let mut model = catalog.find("scripted").unwrap().model;
        assert_eq!(nearest_level(&model, ThinkingLevel::Xhigh), ThinkingLevel::High);
        assert_eq!(nearest_level(&model, ThinkingLevel::Minimal), ThinkingLevel::Minimal);
        model.reasoning = false;
        assert_eq!(nearest_level(&model, ThinkingLevel::Medium), ThinkingLevel::Off);
    }
}
