//! The models and thinking levels of an agent that speaks ACP: values of its session's options.

use agentese::acp::{AcpConfigCategory, AcpConfigOption, AcpSelectOption};
use agentese::types::{Model, ThinkingLevel};
use serde_json::{Value, json};

use super::super::convert::{self, PROVIDER};

/// What can be chosen, and what is.
#[derive(Debug, Clone, Default)]
pub(super) struct Choices {
    model: Option<AcpSelectOption>,
    thinking: Option<AcpSelectOption>,
}

impl Choices {
    /// Those among the options of a session.
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

    /// All models.
    pub fn models(&self) -> Vec<Model> {
        let values = self.model.iter().flat_map(|option| values(&option.options));
        values.filter_map(|(value, name)| self.told(&value, &name)).collect()
    }

    /// The one in use; where the agent has no choice, one that has its name.
    pub fn current(&self) -> Option<Model> {
        self.model().or_else(|| self.told(PROVIDER, PROVIDER))
    }

    /// The one that was chosen; none where the agent has no choice.
    pub fn model(&self) -> Option<Model> {
        let current = &self.model.as_ref()?.current_value;
        let known = self.models().into_iter().find(|model| model.id == *current);
        known.or_else(|| self.told(current, current))
    }

    fn told(&self, id: &str, name: &str) -> Option<Model> {
        let reasoning = self.thinking.is_some();
        let told = json!({"id": id, "name": name, "provider": PROVIDER, "reasoning": reasoning});
        serde_json::from_value(told).ok().map(|told| convert::model(&told))
    }

    /// How hard the model thinks, where that is one of the known levels.
    pub fn level(&self) -> Option<ThinkingLevel> {
        let current = self.thinking.as_ref().map(|option| Value::from(option.current_value.as_str()))?;
        serde_json::from_value(current).ok()
    }

    /// The option of the model, and that of the thinking level.
    pub fn names(&self) -> (Option<String>, Option<String>) {
        let name = |option: &Option<AcpSelectOption>| option.as_ref().map(|option| option.id.clone());
        (name(&self.model), name(&self.thinking))
    }
}

/// The values of an option with their names, those of groups too.
fn values(options: &[agentese::acp::AcpConfigValue]) -> impl Iterator<Item = (String, String)> + '_ {
    options.iter().map(|value| (value.value.clone(), value.name.clone()))
}
