//! Run of a subagent until it submits its result.

use std::sync::Arc;

use agentese::types::StopReason;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use super::agent::{AgentDefinition, SpawnPolicy};
use super::arguments::NAME;
use super::call::NestedTool;
use super::isolation::Worktree;
use super::policy::SharedPolicy;
use super::prompts::{MAX_REMINDERS, reminder_prompt};
use super::submit::{Submission, SubmitTool};
use crate::tools::{Child, ChildAnswer, NOT_STARTED, Parent, Tool, ToolContext, ToolOutput, ToolSet};

/// Returns the tools of a subagent. Its definition selects tools of its parent and read-only tools; without a selection
/// it has all tools of its parent. It also has the tool that submits its result. It has the tool `task` if its
/// definition and the limit on generations allow this.
pub fn tools(
    parent: &Parent,
    definition: &AgentDefinition,
    policies: &SharedPolicy,
    nested: NestedTool,
    worktree: Option<&Worktree>,
    submit: &SubmitTool,
) -> ToolSet {
    let mut tools = ToolSet::none();
    let mut add = |tool: &Arc<dyn Tool>| match worktree {
        Some(worktree) => {
            tools.add(Arc::new(DeferredTool { tool: tool.clone(), worktree: worktree.clone() }))
        }
        None => tools.add(tool.clone()),
    };
    let named = |name: &str| definition.tools.iter().flatten().any(|wanted| wanted == name);
    for tool in parent.tools.iter().filter(|tool| tool.name() != NAME) {
        if definition.tools.is_none() || named(tool.name()) {
            add(tool);
        }
    }
    if parent.tools.get("read").is_some() {
        let looks = ToolSet::available();
        let looks = looks.iter().filter(|tool| tool.read_only() && named(tool.name()));
        looks.filter(|tool| parent.tools.get(tool.name()).is_none()).for_each(&mut add);
    }
    if parent.generations > 1 && definition.spawn_policy != SpawnPolicy::NoAgents {
        add(&nested(policies.clone(), definition.spawn_policy.clone()));
    }
    tools.add(Arc::new(submit.clone()));
    tools
}

/// Result of a subagent's run.
pub struct RunResult {
    pub answer: ChildAnswer,
    pub submission: Option<Submission>,
    /// True if the subagent was stopped.
    pub aborted: bool,
    /// Reason for a failure.
    pub error: Option<String>,
}

/// Runs a subagent with a prompt. If it stops without submitting a result, it receives a reminder, up to a maximum
/// number. Fails if the subagent rejects the prompt.
pub async fn run_to_result(
    child: &dyn Child,
    prompt: &str,
    submit: &SubmitTool,
    context: &ToolContext,
) -> Result<RunResult, String> {
    let mut answer = child.prompt(prompt).await.map_err(|error| error.to_string())?;
    for number in 1..=MAX_REMINDERS {
        let done = submit.submission().is_some() || context.abort.is_cancelled();
        if done || matches!(answer.stop, StopReason::Error | StopReason::Aborted) {
            break;
        }
        answer = child.prompt(&reminder_prompt(number)).await.map_err(|error| error.to_string())?;
    }
    let submitted = submit.submission();
    let aborted = submitted.is_none() && (context.abort.is_cancelled() || answer.stop == StopReason::Aborted);
    let error = match (&submitted, answer.stop) {
        (Some(_), _) => None,
        _ if aborted => None,
        (None, StopReason::Error) => {
            Some(answer.error.clone().unwrap_or_else(|| "The model failed".to_owned()))
        }
        (None, _) => {
            Some(format!("The subagent stopped without handing in a result, after {MAX_REMINDERS} reminders"))
        }
    };
    Ok(RunResult { answer, submission: submitted, aborted, error })
}

/// A tool of an isolated subagent. Its calls wait until the copy of the repository is complete.
struct DeferredTool {
    tool: Arc<dyn Tool>,
    worktree: Worktree,
}

impl Tool for DeferredTool {
    fn name(&self) -> &str {
        self.tool.name()
    }

    fn description(&self) -> &str {
        self.tool.description()
    }

    fn parameters(&self) -> Value {
        self.tool.parameters()
    }

    fn normalize_arguments(&self, arguments: Value) -> Value {
        self.tool.normalize_arguments(arguments)
    }

    fn read_only(&self) -> bool {
        self.tool.read_only()
    }

    fn shared(&self) -> bool {
        self.tool.shared()
    }

    fn ends_run(&self) -> bool {
        self.tool.ends_run()
    }

    fn snippet(&self) -> Option<&str> {
        self.tool.snippet()
    }

    fn guidelines(&self) -> &[String] {
        self.tool.guidelines()
    }

    fn execute<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        async move {
            let ready = tokio::select! {
                biased;
                () = context.abort.cancelled() => return ToolOutput::error(NOT_STARTED),
                ready = self.worktree.ready.clone() => ready,
            };
            match ready {
                Ok(()) => self.tool.execute(context, arguments).await,
                Err(reason) => ToolOutput::error(format!("There is no copy of the repository: {reason}")),
            }
        }
        .boxed()
    }
}
