//! The tool that loads the instructions of a skill.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::names::{SKILL, USE_SKILL, VALUE};
use crate::resources::Resources;
use crate::tools::{Tool, ToolContext, ToolOutput};

/// Loads a skill once.
pub(super) struct UseSkillTool {
    resources: Arc<Resources>,
    description: String,
    loaded: Mutex<HashSet<String>>,
}

impl UseSkillTool {
    pub fn new(resources: Arc<Resources>) -> Self {
        let (skills, _) = resources.for_model();
        let list: String =
            skills.iter().map(|skill| format!("\n- {}: {}", skill.name(), skill.description())).collect();
        let description = format!(
            "Loads the instructions of a skill. Use it before a task that a skill is for. There is:{}",
            if list.is_empty() { " none" } else { &list }
        );
        Self { resources, description, loaded: Mutex::default() }
    }

    fn load(&self, name: &str) -> Result<ToolOutput, String> {
        let skills = self.resources.skills();
        let Some(skill) = skills.iter().find(|skill| skill.name == name) else {
            let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
            return Err(format!("Unknown skill \"{name}\"; known: {}", names.join(", ")));
        };
        if self.loaded.lock().unwrap_or_else(PoisonError::into_inner).contains(name) {
            return Ok(ToolOutput::text(format!("The skill {name} is already loaded.")));
        }
        let text = self.resources.expand(&format!("/skill:{name}")).map_err(|error| error.to_string())?;
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        let skill_details = json!({"name": skill.name, "description": skill.description});
        let shown = format!("The skill {name} is loaded; the model has its instructions.");
        let details = json!({SKILL: skill_details, VALUE: shown});
        Ok(ToolOutput::text(text.unwrap_or_default()).with_details(details))
    }
}

impl Tool for UseSkillTool {
    fn name(&self) -> &str {
        USE_SKILL
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"skill_name": {"type": "string", "description": "The skill's name"}},
            "required": ["skill_name"],
        })
    }

    fn read_only(&self) -> bool {
        true
    }

    fn execute<'a>(&'a self, _: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        async move { self.load(arguments["skill_name"].as_str().unwrap_or_default()).into() }.boxed()
    }
}
