//! Permission for commands from the model. They can do the same as calls of the tool `bash`, so they need the same
//! permission.

use serde_json::Map;

use super::VerificationPlan;
use crate::tools::{BashTool, Parent, SubagentHost};

const NO_BASH: &str =
    "The agent has no tool bash, so verify.commands is not available. Name a profile of the settings.";

/// Requests permission for each command as for a call of `bash`, from the guards of the parent's calls. Commands of a
/// profile come from the settings and need no permission. `call_id` is the id of the call with the verification. Fails
/// with a message for the model.
pub async fn check_permission(
    plan: &VerificationPlan,
    parent: &Parent,
    agents: &dyn SubagentHost,
    call_id: Option<&str>,
) -> Result<(), String> {
    if !plan.from_call {
        return Ok(());
    }
    if parent.tools.get(BashTool::NAME).is_none() {
        return Err(NO_BASH.to_owned());
    }
    for (index, command) in plan.commands.iter().enumerate() {
        let mut arguments = Map::new();
        arguments.insert("command".to_owned(), command.command.clone().into());
        if let Some(limit) = command.timeout_ms {
            arguments.insert("timeout".to_owned(), limit.div_ceil(1000).into());
        }
        let id = format!("{}-verify-{}", call_id.unwrap_or_default(), index + 1);
        let call = agentese::types::ToolCall::new(&id, BashTool::NAME, arguments);
        let refused = |reason| format!("The verification command \"{}\" was refused. {reason}", command.name);
        agents.authorize(&call).await.map_err(refused)?;
    }
    Ok(())
}
