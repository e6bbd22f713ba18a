//! The run of a subagent until it submits its result.

use std::sync::Arc;

use agentese::types::StopReason;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use super::agent::{Definition, Spawns};
use super::arguments::NAME;
use super::assignment::{REMINDERS, reminder};
use super::call::NestedTool;
use super::isolate::Worktree;
use super::policy::Policies;
use super::submit::{Submit, Submitted};
use crate::tools::{Child, ChildAnswer, NOT_STARTED, Parent, Tool, ToolContext, ToolOutput, ToolSet};

/// Returns the tools of a subagent. These are the tools of its parent and read-only tools, as far as its
/// definition names them, and the tool that submits its result. The tool that starts subagents is included if
/// the definition allows it and another generation is permitted.
pub fn tools(
    parent: &Parent,
    definition: &Definition,
    policies: &Policies,
    nested: NestedTool,
    worktree: Option<&Worktree>,
    submit: &Submit,
) -> ToolSet {
    let mut tools = ToolSet::none();
    let mut add = |tool: &Arc<dyn Tool>| match worktree {
        Some(worktree) => tools.add(Arc::new(Late { tool: tool.clone(), worktree: worktree.clone() })),
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
    if parent.generations > 1 && definition.spawns != Spawns::Nobody {
        add(&nested(policies.clone(), definition.spawns.clone()));
    }
    tools.add(Arc::new(submit.clone()));
    tools
}

/// Result of the run of a subagent.
pub struct Ended {
    pub answer: ChildAnswer,
    pub submitted: Option<Submitted>,
    /// True if the subagent was stopped.
    pub aborted: bool,
    /// Reason for a failure.
    pub error: Option<String>,
}

/// Runs a subagent with a prompt, and reminds it if it stops without a result. Fails if the
/// subagent cannot handle a prompt.
pub async fn work(
    child: &dyn Child,
    prompt: &str,
    submit: &Submit,
    context: &ToolContext,
) -> Result<Ended, String> {
    let mut answer = child.say(prompt).await.map_err(|error| error.to_string())?;
    for number in 1..=REMINDERS {
        let done = submit.submitted().is_some() || context.abort.is_cancelled();
        if done || matches!(answer.stop, StopReason::Error | StopReason::Aborted) {
            break;
        }
        answer = child.say(&reminder(number)).await.map_err(|error| error.to_string())?;
    }
    let submitted = submit.submitted();
    let aborted = submitted.is_none() && (context.abort.is_cancelled() || answer.stop == StopReason::Aborted);
    let error = match (&submitted, answer.stop) {
        (Some(_), _) => None,
        _ if aborted => None,
        (None, StopReason::Error) => {
            Some(answer.error.clone().unwrap_or_else(|| "The model failed".to_owned()))
        }
        (None, _) => {
            Some(format!("The subagent stopped without handing in a result, after {REMINDERS} reminders"))
        }
    };
    Ok(Ended { answer, submitted, aborted, error })
}

/// A tool whose calls wait until the copy of the repository is complete.
struct Late {
    tool: Arc<dyn Tool>,
    worktree: Worktree,
}

impl Tool for Late {
    fn name(&self) -> &str {
        self.tool.name()
    }

    fn description(&self) -> &str {
        self.tool.description()
    }

    fn parameters(&self) -> Value {
        self.tool.parameters()
    }

    fn prepared(&self, arguments: Value) -> Value {
        self.tool.prepared(arguments)
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
