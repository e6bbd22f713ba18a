//! The models and thinking levels of an ACP agent, from the options of its session.

use agentese::acp::{AcpConfigCategory, AcpConfigOption, AcpSelectOption};
use agentese::types::{Model, ThinkingLevel};
use serde_json::{Value, json};

use super::super::convert::{self, PROVIDER};

/// The model option and the thinking level option of a session, each with its possible values and its current value.
#[derive(Debug, Clone, Default)]
pub(super) struct Choices {
    model: Option<AcpSelectOption>,
    thinking: Option<AcpSelectOption>,
}

impl Choices {
    /// Finds the model option and the thinking level option among the options of a session.
    pub fn of(options: Vec<AcpConfigOption>) -> Self {
        let mut choices = Self::default();
        for option in options {
            let AcpConfigOption::Select(option) = option else { continue };
            match option.category.as_option() {
                Some(AcpConfigCategory::Model) => choices.model = Some(option),
                Some(AcpConfigCategory::ThoughtLevel) => choices.thinking = Some(option),
                _ => {}
            }
        }
        choices
    }

    /// Returns all models.
    pub fn models(&self) -> Vec<Model> {
        let values = self.model.iter().flat_map(|option| values(&option.options));
        values.filter_map(|(value, name)| self.describe_model(&value, &name)).collect()
    }

    /// Returns the current model. If the agent offers no choice of models, returns a placeholder named after the
    /// provider.
    pub fn current(&self) -> Option<Model> {
        self.model().or_else(|| self.describe_model(PROVIDER, PROVIDER))
    }

    /// Returns the chosen model. Returns `None` if the agent offers no choice of models.
    pub fn model(&self) -> Option<Model> {
        let current = &self.model.as_ref()?.current_value;
        let known = self.models().into_iter().find(|model| model.id == *current);
        known.or_else(|| self.describe_model(current, current))
    }

    fn describe_model(&self, id: &str, name: &str) -> Option<Model> {
        let reasoning = self.thinking.is_some();
        let description = json!({"id": id, "name": name, "provider": PROVIDER, "reasoning": reasoning});
        serde_json::from_value(description).ok().map(|told| convert::model(&told))
    }

    /// Returns the current thinking level. Returns `None` if the agent offers no levels, or if the current level is
    /// unknown here.
    pub fn level(&self) -> Option<ThinkingLevel> {
        let current = self.thinking.as_ref().map(|option| Value::from(option.current_value.as_str()))?;
        serde_json::from_value(current).ok()
    }

    /// Returns the id of the model option and the id of the thinking level option.
    pub fn names(&self) -> (Option<String>, Option<String>) {
        let name = |option: &Option<AcpSelectOption>| option.as_ref().map(|option| option.id.clone());
        (name(&self.model), name(&self.thinking))
    }
}

/// Returns the value and the name of each choice of an option. Grouped choices are included.
fn values(options: &[agentese::acp::AcpConfigValue]) -> impl Iterator<Item = (String, String)> + '_ {
    options.iter().map(|value| (value.value.clone(), value.name.clone()))
}
