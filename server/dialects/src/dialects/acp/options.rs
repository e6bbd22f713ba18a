//! The options of a session: the model and its thinking level.

use agentese::acp::{
    AcpConfigCategory, AcpConfigOption, AcpConfigValue, AcpSelectOption, AcpSelectOptionBuilder,
};
use agentese::serve::CommandError;
use agentese::types::{Model, ThinkingLevel};
use serde_json::Value;

use super::error::invalid_params;
use crate::conversation::RemoteCapabilities;
use crate::engine::Engine;

const MODEL: &str = "model";
const THINKING: &str = "thinking";

/// The options that a session offers to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OfferedOptions {
    model: bool,
    thinking: bool,
}

impl OfferedOptions {
    /// Returns all options for an agent without a remote agent, otherwise the options that the remote agent
    /// supports.
    pub fn of(capabilities: Option<RemoteCapabilities>) -> Self {
        match capabilities {
            Some(RemoteCapabilities { models: model, thinking, .. }) => Self { model, thinking },
            None => Self { model: true, thinking: true },
        }
    }
}

/// Returns all options with their current values.
pub(super) fn all(engine: &Engine, offered: OfferedOptions) -> Vec<AcpConfigOption> {
    let status = engine.status();
    let mut models = engine.models();
    // The current model is among the choices, even if it is not available.
    if let Some(current) =
        status.model.clone().filter(|model| models.iter().all(|known| name(known) != name(model)))
    {
        models.insert(0, current);
    }
    let mut options = Vec::new();
    if let Some(current) = status.model.as_ref().or(models.first()).map(name).filter(|_| offered.model) {
        let values = models.iter().map(|model| {
            let mut value = AcpConfigValue::new(name(model), model.name.as_str());
            value.description = model.provider.clone().into();
            value
        });
        options.push(select(MODEL, "Model", AcpConfigCategory::Model, current, values.collect()));
    }
    let levels = engine.thinking_levels();
    if levels.len() > 1 && offered.thinking {
        let values = levels.iter().map(|level| AcpConfigValue::new(level.as_str(), capital(level.as_str())));
        let current = status.thinking.as_str().to_owned();
        options.push(select(
            THINKING,
            "Thinking",
            AcpConfigCategory::ThoughtLevel,
            current,
            values.collect(),
        ));
    }
    options
}

/// Sets an option. Fails if the option or the value does not exist.
pub(super) fn set(
    engine: &Engine,
    offered: OfferedOptions,
    option: &str,
    value: &Value,
) -> Result<(), CommandError> {
    let rejected = |reason: &str| invalid_params("session/set_config_option", reason);
    let value = value.as_str().ok_or_else(|| rejected("`value` must be a string"))?;
    match option {
        MODEL if offered.model => {
            let chosen = value.split_once('/').and_then(|(provider, id)| engine.set_model(provider, id));
            chosen.map(drop).ok_or_else(|| rejected(&format!("the model \"{value}\" is not available")))
        }
        THINKING if offered.thinking => {
            let level = serde_json::from_value::<ThinkingLevel>(value.into());
            let level = level.ok().filter(|level| engine.thinking_levels().contains(level));
            engine.set_thinking(level.ok_or_else(|| rejected(&format!("unsupported level \"{value}\"")))?);
            Ok(())
        }
        other => Err(rejected(&format!("unknown option \"{other}\""))),
    }
}

fn name(model: &Model) -> String {
    format!("{}/{}", model.provider, model.id)
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

fn select(
    id: &str,
    name: &str,
    category: AcpConfigCategory,
    current: String,
    options: Vec<AcpConfigValue>,
) -> AcpConfigOption {
    let mut option: AcpSelectOption =
        AcpSelectOptionBuilder { id: id.to_owned(), name: name.to_owned(), current_value: current, options }
            .build();
    option.category = category.into();
    option.into()
}
