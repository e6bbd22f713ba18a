//! Switches of a session for features of the agent and for tools.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agentese::opal::{Failure, OpalConfig, OpalFeatures, OpalTools};
use agentese::serve::CommandError;

use super::tools::names;
use crate::engine::Hooks;
use crate::tools::ToolSet;

/// The switches for the features of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FeatureSwitches {
    sub_agents: bool,
    skills: bool,
    mcp: bool,
    debug: bool,
}

impl FeatureSwitches {
    const DEFAULT: Self = Self { sub_agents: true, skills: true, mcp: true, debug: false };

    fn merge(&mut self, wanted: &OpalFeatures) {
        self.sub_agents = wanted.sub_agents.unwrap_or(self.sub_agents);
        self.skills = wanted.skills.unwrap_or(self.skills);
        self.mcp = wanted.mcp.unwrap_or(self.mcp);
        self.debug = wanted.debug.unwrap_or(self.debug);
    }
}

#[derive(Debug, Clone)]
struct FeatureState {
    switches: FeatureSwitches,
    /// Names of the tools that are switched off, because the list from the client did not contain them.
    disabled: BTreeSet<String>,
    /// Names of tools from other sources, such as MCP servers, at the time of the last request to the model.
    other_tools: Vec<String>,
}

/// The switches of one session. They are also a hook that removes the tools that are switched off.
#[derive(Debug)]
pub(super) struct Features {
    state: Mutex<FeatureState>,
    /// The agent's own tools.
    own_tools: Vec<String>,
    has_skills: bool,
}

impl Features {
    /// Creates the switches of a new session.
    pub fn new(own_tools: Vec<String>, has_skills: bool) -> Self {
        let state = FeatureState {
            switches: FeatureSwitches::DEFAULT,
            disabled: BTreeSet::new(),
            other_tools: Vec::new(),
        };
        Self { state: Mutex::new(state), own_tools, has_skills }
    }

    fn state(&self) -> MutexGuard<'_, FeatureState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the names of all tools, including tools that are switched off.
    pub fn all(&self) -> Vec<String> {
        self.own_tools.iter().cloned().chain(self.state().other_tools.clone()).collect()
    }

    /// Sets the given features, and switches on exactly the listed tools. Fails if a name is unknown; nothing
    /// changes then.
    pub fn set(&self, features: Option<&OpalFeatures>, tools: Option<&[String]>) -> Result<(), CommandError> {
        let all = self.all();
        if let Some(features) = features.filter(|features| !features.extra.is_empty()) {
            let unknown: Vec<&str> = features.extra.iter().map(|(name, _)| name.as_ref()).collect();
            let data = format!("unknown features: {}", unknown.join(", "));
            return Err(Failure::UnknownFeature.command_error(&[]).with_data(data));
        }
        let unknown = tools.unwrap_or_default().iter().filter(|name| !all.contains(name));
        let unknown: Vec<&str> = unknown.map(String::as_str).collect();
        if !unknown.is_empty() {
            let data = format!("unknown tools: {}", unknown.join(", "));
            return Err(Failure::UnknownTool.command_error(&[]).with_data(data));
        }
        let mut state = self.state();
        if let Some(features) = features {
            state.switches.merge(features);
        }
        if let Some(tools) = tools {
            state.disabled = all.into_iter().filter(|name| !tools.contains(name)).collect();
        }
        Ok(())
    }

    fn is_on(&self, state: &FeatureState, tool: &str) -> bool {
        let part = match tool {
            names::SUB_AGENT => state.switches.sub_agents,
            names::USE_SKILL => state.switches.skills && self.has_skills,
            names::DEBUG_STATE => state.switches.debug,
            _ => true,
        };
        part && !state.disabled.contains(tool)
    }

    /// Returns true if MCP servers are switched on.
    pub fn mcp(&self) -> bool {
        self.state().switches.mcp
    }

    /// Returns the switches in the form of Opal.
    pub fn config(&self) -> OpalConfig {
        let all = self.all();
        let state = self.state();
        let FeatureSwitches { sub_agents, skills, mcp, debug } = state.switches;
        let mut features = OpalFeatures::new();
        (features.sub_agents, features.skills) = (Some(sub_agents), Some(skills));
        (features.mcp, features.debug) = (Some(mcp), Some(debug));
        let enabled = all.iter().filter(|name| self.is_on(&state, name)).cloned().collect();
        let disabled = all.iter().filter(|name| state.disabled.contains(*name)).cloned().collect();
        OpalConfig::new(features, OpalTools::new(all, enabled, disabled))
    }
}

impl Hooks for Features {
    fn tools(&self, own: &ToolSet) -> ToolSet {
        let mut state = self.state();
        // A subagent has fewer tools, so its list does not replace the other tools.
        if self.own_tools.iter().all(|name| own.get(name).is_some()) {
            let others = own.names().filter(|name| !self.own_tools.iter().any(|known| known == name));
            state.other_tools = others.map(str::to_owned).collect();
        }
        let mut tools = own.clone();
        tools.retain(|name| self.is_on(&state, name));
        tools
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features() -> Features {
        let own = ["read_file", "shell", names::SUB_AGENT, names::USE_SKILL, names::DEBUG_STATE];
        Features::new(own.map(str::to_owned).to_vec(), false)
    }

    fn wanted(json: serde_json::Value) -> OpalFeatures {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn feature_switches_and_tool_lists_select_tools() {
        let features = features();
        assert_eq!(features.config().tools.enabled, ["read_file", "shell", "sub_agent"]);
        features.set(Some(&wanted(serde_json::json!({"debug": true, "sub_agents": false}))), None).unwrap();
        let config = features.config();
        assert_eq!(config.tools.enabled, ["read_file", "shell", "debug_state"]);
        assert_eq!((config.tools.disabled.len(), config.features.mcp), (0, Some(true)));
        features.set(None, Some(&["shell".to_owned()])).unwrap();
        let config = features.config();
        assert_eq!(config.tools.enabled, ["shell"]);
        assert_eq!(config.tools.disabled, ["read_file", "sub_agent", "use_skill", "debug_state"]);
    }

    #[test]
    fn unknown_names_are_rejected_without_a_change() {
        let features = features();
        let refused = features.set(None, Some(&["shell".to_owned(), "teleport".to_owned()])).unwrap_err();
        assert_eq!((refused.code, refused.data), (Some(-32602), Some("unknown tools: teleport".into())));
        let both = wanted(serde_json::json!({"warp": true, "debug": true}));
        let refused = features.set(Some(&both), None).unwrap_err();
        assert_eq!(refused.message, "Unknown feature keys");
        assert_eq!(features.config().features.debug, Some(false));
    }
}
