//! Tools of an agent that stand for the tools of model scripts.

use std::collections::BTreeMap;

use agentese::types::{ModelScript, Profile, ProfileTool, ScriptArguments, ScriptBlock, ScriptTool};
use serde_json::{Map, Value};

/// Copies a script. Calls of a tool for which the profile has another one become calls of that tool.
pub(super) fn of_profile(script: &ModelScript, profile: &Profile) -> ModelScript {
    let mut script = script.clone();
    let Some(tools) = &profile.tools else { return script };
    let blocks = script.responses.iter_mut().chain(&mut script.default).filter_map(|it| it.blocks.as_mut());
    for block in blocks.flatten() {
        if let ScriptBlock::Tool(used) = block
            && let Some(tool) = tools.get(&used.tool.name)
        {
            replace(&mut used.tool, tool);
        }
    }
    script
}

fn replace(call: &mut ScriptTool, tool: &ProfileTool) {
    call.name.clone_from(&tool.name);
    // Arguments in pieces of text are those of one agent.
    if let Some(ScriptArguments::Object(arguments)) = &mut call.args {
        *arguments = renamed(std::mem::take(arguments), tool.arguments.as_ref());
        arguments.extend(tool.additional.clone().into_iter().flatten());
    }
}

fn renamed(arguments: Map<String, Value>, names: Option<&BTreeMap<String, String>>) -> Map<String, Value> {
    let name = |old: String| names.and_then(|names| names.get(&old)).cloned().unwrap_or(old);
    arguments.into_iter().map(|(old, value)| (name(old), value)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_become_calls_of_the_agents_own_tools() {
        let script = |tool: Value| -> ModelScript {
            serde_json::from_value(json!({"responses": [{"blocks": [{"text": "a"}, {"tool": tool}]}]}))
                .unwrap()
        };
        let profile: Profile = serde_json::from_value(json!({
            "profile": 1, "name": "p", "dialect": "acp@1", "agent": "a",
            "tools": {"bash": {"name": "shell", "arguments": {"command": "cmd"}, "additional": {"why": "x"}}},
        }))
        .unwrap();
        let bash = script(json!({"name": "bash", "args": {"command": "ls", "timeout": 3}}));
        let shell = script(json!({"name": "shell", "args": {"cmd": "ls", "timeout": 3, "why": "x"}}));
        assert_eq!(of_profile(&bash, &profile), shell);
        let other = script(json!({"name": "read", "args": {"path": "a"}}));
        assert_eq!(of_profile(&other, &profile), other);
    }
}
