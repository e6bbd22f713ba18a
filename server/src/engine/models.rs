//! Which model is asked, and how hard it thinks.

use agentese::types::{Model, ThinkingLevel};

use super::Engine;
use crate::config::Change;
use crate::providers::{Chosen, levels, nearest_level};

impl Engine {
    /// All models that there are.
    pub fn models(&self) -> Vec<Model> {
        self.shared.options.catalog.models().cloned().collect()
    }

    /// Switches to a model; runs that are going on keep theirs. None where there is no such model.
    pub fn set_model(&self, provider: &str, id: &str) -> Option<Model> {
        let model = self.shared.options.catalog.get(provider, id)?.clone();
        let mut state = self.shared.state();
        state.thinking = nearest_level(&model, state.thinking);
        state.model = Some(model.clone());
        drop(state);
        self.keep_model(&model);
        Some(model)
    }

    /// Switches to the next model, of the chosen ones where models were chosen. Gives the model, its
    /// level, and whether models were chosen; none where there is no other.
    pub fn cycle_model(&self) -> Option<(Model, ThinkingLevel, bool)> {
        let options = &self.shared.options;
        let scoped = !options.scope.is_empty();
        let all = || options.catalog.models().map(|model| Chosen { model: model.clone(), thinking: None });
        let choices: Vec<Chosen> = if scoped { options.scope.clone() } else { all().collect() };
        let mut state = self.shared.state();
        let current = choices.iter().position(|chosen| Some(&chosen.model) == state.model.as_ref());
        if choices.len() < 2 && (current.is_some() || choices.is_empty()) {
            return None;
        }
        let next = &choices[current.map_or(0, |at| (at + 1) % choices.len())];
        state.thinking = nearest_level(&next.model, next.thinking.unwrap_or(state.thinking));
        state.model = Some(next.model.clone());
        let level = state.thinking;
        drop(state);
        self.keep_model(&next.model);
        Some((next.model.clone(), level, scoped))
    }

    /// Sets how hard the model thinks: the nearest level that it has.
    pub fn set_thinking(&self, level: ThinkingLevel) {
        let mut state = self.shared.state();
        state.thinking = state.model.as_ref().map_or(ThinkingLevel::Off, |model| nearest_level(model, level));
        self.shared.options.persist.save(Change::DefaultThinkingLevel(state.thinking));
    }

    /// Switches to the next level that the model has; none where it has only one.
    pub fn cycle_thinking(&self) -> Option<ThinkingLevel> {
        let mut state = self.shared.state();
        let levels = levels(state.model.as_ref()?);
        if levels.len() < 2 {
            return None;
        }
        let current = levels.iter().position(|level| *level == state.thinking);
        state.thinking = levels[current.map_or(0, |at| (at + 1) % levels.len())];
        self.shared.options.persist.save(Change::DefaultThinkingLevel(state.thinking));
        Some(state.thinking)
    }

    fn keep_model(&self, model: &Model) {
        let change = Change::DefaultModel { provider: model.provider.clone(), id: model.id.clone() };
        self.shared.options.persist.save(change);
    }
}
