//! The model and the thinking level of an engine.

use agentese::types::{Model, ThinkingLevel};

use crate::config::SettingsChange;
use crate::engine::Hooks as _;
use crate::engine::state::EngineState;
use crate::engine::{Engine, Event, SelectionReason, Shared};
use crate::providers::ModelSelection;
use crate::session::BranchSettings;

impl Engine {
    /// Returns the available models.
    pub fn models(&self) -> Vec<Model> {
        self.shared.options.catalog.available().into_iter().cloned().collect()
    }

    /// Returns the model with additional details, for clients whose dialect has them.
    pub fn describe(&self, model: Model) -> Model {
        self.shared.options.catalog.describe(model)
    }

    /// Switches to a model; current runs keep theirs. Returns `None` if the model is not available.
    pub fn set_model(&self, provider: &str, id: &str) -> Option<Model> {
        let model = self.shared.options.catalog.get_available(provider, id)?.clone();
        let mut state = self.shared.state();
        let (thinking, previous) = (state.thinking, state.model.clone());
        self.shared.switch_model(&mut state, model.clone(), thinking);
        drop(state);
        self.shared.notify_model_selected(&model, previous.as_ref(), SelectionReason::Set);
        Some(model)
    }

    /// Switches to a model even if it is not available. Used by dialects that report an unavailable model with the
    /// next prompt. Current runs keep their model.
    pub fn use_model(&self, model: Model) {
        let mut state = self.shared.state();
        let (thinking, previous) = (state.thinking, state.model.clone());
        self.shared.switch_model(&mut state, model.clone(), thinking);
        drop(state);
        self.shared.notify_model_selected(&model, previous.as_ref(), SelectionReason::Set);
    }

    /// Switches to the next model. If models were selected for cycling, switches among these. Returns the model,
    /// its level, and `true` if models were selected. Returns `None` if there is no other model.
    pub fn cycle_model(&self) -> Option<(Model, ThinkingLevel, bool)> {
        let options = &self.shared.options;
        let scoped = !options.scope.is_empty();
        let all = || {
            options
                .catalog
                .available()
                .into_iter()
                .map(|model| ModelSelection { model: model.clone(), thinking: None })
        };
        let choices: Vec<ModelSelection> = if scoped { options.scope.clone() } else { all().collect() };
        let mut state = self.shared.state();
        let current = choices.iter().position(|chosen| Some(&chosen.model) == state.model.as_ref());
        if choices.len() < 2 && (current.is_some() || choices.is_empty()) {
            return None;
        }
        let next = &choices[current.map_or(0, |at| (at + 1) % choices.len())];
        let thinking = next.thinking.unwrap_or(state.thinking);
        let previous = state.model.clone();
        self.shared.switch_model(&mut state, next.model.clone(), thinking);
        let thinking = state.thinking;
        drop(state);
        self.shared.notify_model_selected(&next.model, previous.as_ref(), SelectionReason::Cycled);
        Some((next.model.clone(), thinking, scoped))
    }

    /// Sets the thinking level, to the nearest level that the model supports.
    pub fn set_thinking(&self, level: ThinkingLevel) {
        let mut state = self.shared.state();
        let level = self.shared.options.nearest_level(state.model.as_ref(), level);
        self.shared.set_thinking_level(&mut state, level);
    }

    /// Returns the thinking levels of the current model. Returns only `off` if there is no model, or if the model
    /// does not think.
    pub fn thinking_levels(&self) -> Vec<ThinkingLevel> {
        let state = self.shared.state();
        let levels = state.model.as_ref().map(|model| self.shared.options.catalog.levels(model));
        levels.filter(|levels| !levels.is_empty()).unwrap_or_else(|| vec![ThinkingLevel::Off])
    }

    /// Switches to the next level of the model. Returns `None` if there is only one.
    pub fn cycle_thinking(&self) -> Option<ThinkingLevel> {
        let mut state = self.shared.state();
        let levels = self.shared.options.catalog.levels(state.model.as_ref()?);
        if levels.len() < 2 {
            return None;
        }
        let current = levels.iter().position(|level| *level == state.thinking);
        let next = levels[current.map_or(0, |at| (at + 1) % levels.len())];
        self.shared.set_thinking_level(&mut state, next);
        Some(next)
    }
}

impl Shared {
    /// Reports a newly selected model to the hooks. As in pi, a model that was already in use is not reported.
    pub(in crate::engine) fn notify_model_selected(
        &self,
        model: &Model,
        previous: Option<&Model>,
        selection: SelectionReason,
    ) {
        let is_it = |previous: &Model| previous.provider == model.provider && previous.id == model.id;
        if !previous.is_some_and(is_it) {
            self.options.hooks.model_selected(model, previous, selection);
        }
    }

    /// Switches to a model, with the nearest level to `wanted`. The session stores both.
    fn switch_model(&self, state: &mut EngineState, model: Model, wanted: ThinkingLevel) {
        state.session.record_model(&model.provider, &model.id);
        state.session.wait_briefly();
        self.options
            .persist
            .save(SettingsChange::DefaultModel { provider: model.provider.clone(), id: model.id.clone() });
        let level = self.options.catalog.nearest_level(&model, wanted);
        state.model = Some(model);
        self.set_thinking_level(state, level);
    }

    /// Sets the level. The session stores a changed level.
    fn set_thinking_level(&self, state: &mut EngineState, level: ThinkingLevel) {
        if state.thinking != level {
            state.thinking = level;
            state.session.record_thinking_level(level);
            state.session.wait_briefly();
            self.sink.push(Event::ThinkingChanged { level });
            self.options.persist.save(SettingsChange::DefaultThinkingLevel(level));
        }
    }

    /// Records a change of model by the remote agent.
    pub(in crate::engine) fn record_remote_model(&self, model: Model) {
        let mut state = self.state();
        let is_it = |known: &Model| known.provider == model.provider && known.id == model.id;
        match state.model.as_mut().filter(|known| is_it(known)) {
            // Some agents report the size of the context window later than the model.
            Some(known) if model.context_window > 0 => known.context_window = model.context_window,
            Some(_) => {}
            None => {
                state.session.record_model(&model.provider, &model.id);
                state.model = Some(model);
            }
        }
    }

    /// Records a change of the thinking level by the remote agent.
    pub(in crate::engine) fn record_remote_thinking(&self, level: ThinkingLevel) {
        let mut state = self.state();
        if state.thinking != level {
            state.thinking = level;
            state.session.record_thinking_level(level);
            self.sink.push(Event::ThinkingChanged { level });
        }
    }

    /// Adopts the model and the thinking level of an opened session, if they are available.
    pub(in crate::engine) fn restore(&self, state: &mut EngineState, restored: BranchSettings) {
        if let Some((provider, id)) = &restored.model {
            match self.options.catalog.get_available(provider, id) {
                Some(model) => state.model = Some(model.clone()),
                None => tracing::warn!(
                    provider,
                    id,
                    "the model of the session is not available; the current model stays"
                ),
            }
        }
        let wanted = restored.thinking.unwrap_or(state.thinking);
        state.thinking = self.options.nearest_level(state.model.as_ref(), wanted);
    }
}
