//! An agent that can be started as a subagent.

use agentese::types::ThinkingLevel;
use serde_json::Value;

/// The agents that an agent may start as its subagents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpawnPolicy {
    NoAgents,
    AnyAgent,
    Named(Vec<String>),
}

impl SpawnPolicy {
    pub fn allows(&self, name: &str) -> bool {
        match self {
            Self::NoAgents => false,
            Self::AnyAgent => true,
            Self::Named(names) => names.iter().any(|known| known == name),
        }
    }
}

/// An agent that can be started as a subagent.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentDefinition {
    pub name: String,
    pub description: String,
    /// Names of the agent's tools. `None` if it has the tools of its parent.
    pub tools: Option<Vec<String>>,
    pub spawn_policy: SpawnPolicy,
    pub model: Option<String>,
    pub thinking: Option<ThinkingLevel>,
    /// The JSON Schema of the agent's result.
    pub output: Option<Value>,
    pub instructions: String,
    /// Origin of the definition, as reported to clients.
    pub source: &'static str,
}
