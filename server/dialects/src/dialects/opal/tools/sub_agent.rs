//! The tool that starts a subagent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agentese::types::{AgentMessage, AssistantBlock, StopReason};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::super::convert::as_text;
use super::super::features::Features;
use super::super::sink::{Sink, SubagentInfo};
use super::names::{SUB_AGENT, call_summary, shortened};
use crate::engine::Hooks as _;
use crate::providers::{Catalog, is_blank};
use crate::runtime::Ids;
use crate::tools::{
    ChildAnswer, ChildStep, SpawnRequest, StepCallback, SubagentError, SubagentHost, Tool, ToolContext,
    ToolOutput, ToolSet,
};

/// The time without activity after which a subagent fails. Running tools and open questions are activity.
const INACTIVITY_TIMEOUT: Duration = Duration::from_secs(120);

const INSTRUCTIONS: &str = "You are an agent that another agent has set to work on one task, in the same directory. Do the \
                            task and nothing else, ask nobody, and end with an answer that stands for itself: what you \
                            found or did, and what is open.";

/// Starts a subagent and returns its answer.
pub(super) struct SubAgentTool {
    pub sink: Arc<Sink>,
    pub features: Arc<Features>,
    /// The tools that the subagent can use.
    pub tools: ToolSet,
    pub catalog: Catalog,
    pub ids: Arc<dyn Ids>,
}

impl Tool for SubAgentTool {
    fn name(&self) -> &str {
        SUB_AGENT
    }

    fn description(&self) -> &str {
        "Sets another agent to work on a task of its own, with a conversation of its own, and gives its answer. Use it for \
         work that can be described in one text and whose details you do not need. Several may work side by side."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "prompt": {"type": "string", "description": "The task, with everything that is needed for it"},
                "tools": {"type": "array", "items": {"type": "string"}, "description": "Names of the tools that it has; all by default"},
                "model": {"type": "string", "description": "Its model, as provider:id; yours by default"},
                "system_prompt": {"type": "string", "description": "What it is told beforehand"},
            },
            "required": ["prompt"],
        })
    }

    fn read_only(&self) -> bool {
        false
    }

    fn shared(&self) -> bool {
        true
    }

    fn execute<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        async move { self.run(context, &arguments).await.into() }.boxed()
    }
}

impl SubAgentTool {
    async fn run(&self, context: &ToolContext, arguments: &Value) -> Result<ToolOutput, String> {
        let agents = context.subagents.as_ref().ok_or("Sub-agents cannot be started here.")?;
        let prompt = arguments["prompt"].as_str().unwrap_or_default();
        if is_blank(prompt) {
            return Err("`prompt` is missing or blank: describe the task of the sub-agent.".to_owned());
        }
        let tools = self.tools_of(arguments)?;
        let model = self.model_of(arguments)?;
        let id = format!("sub-{}", self.ids.uuid().replace('-', ""));
        let (activity, calls) = (Arc::new(Notify::new()), OpenCalls::default());
        let child = SubagentInfo {
            call: context.call_id.clone().unwrap_or_default(),
            label: shortened(prompt),
            model: model
                .as_deref()
                .and_then(|name| name.split_once('/'))
                .map_or_else(|| self.own_model(), |(_, id)| id.to_owned()),
            tools: tools.names().map(str::to_owned).collect(),
            activity: activity.clone(),
        };
        let request = SpawnRequest {
            id: id.clone(),
            agent: child.label.clone(),
            instructions: arguments["system_prompt"].as_str().unwrap_or(INSTRUCTIONS).to_owned(),
            tools: Some(tools),
            model,
            thinking: None,
            cwd: None,
            history: None,
            isolated: false,
            resumes: false,
            on_step: Some(calls.watch()),
        };
        self.sink.register_subagent(&id, child);
        let _forget = RegistrationGuard(&self.sink, &id);
        let failed = |error: SubagentError| format!("The sub-agent was not started: {error}");
        let child = agents.start(request).await.map_err(failed)?;
        let mut answer = child.prompt(prompt);
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut answer => break answer,
                () = activity.notified() => {}
                () = calls.inactivity(agents.as_ref()) => {
                    return Err(format!("The sub-agent has done nothing for {} s and was stopped.", INACTIVITY_TIMEOUT.as_secs()));
                }
            }
        };
        tool_output(&answer.map_err(failed)?)
    }

    fn tools_of(&self, arguments: &Value) -> Result<ToolSet, String> {
        let mut tools = self.features.tools(&self.tools);
        if let Some(wanted) = arguments["tools"].as_array() {
            let wanted: Vec<String> = wanted.iter().map(as_text).collect();
            let unknown: Vec<&String> = wanted.iter().filter(|name| tools.get(name).is_none()).collect();
            if let Some(unknown) = unknown.first() {
                let known: Vec<&str> = tools.names().collect();
                return Err(format!("Unknown tool \"{unknown}\"; known: {}", known.join(", ")));
            }
            tools.retain(|name| wanted.iter().any(|wanted| wanted == name));
        }
        Ok(tools)
    }

    /// Returns the model that the arguments request, as `provider/id`.
    fn model_of(&self, arguments: &Value) -> Result<Option<String>, String> {
        let Some(named) = arguments["model"].as_str().filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        let name = match named.split_once(':') {
            Some((provider, id)) if self.catalog.has_provider(provider) => format!("{provider}/{id}"),
            _ => named.to_owned(),
        };
        match self.catalog.find(&name) {
            Some(chosen) => Ok(Some(format!("{}/{}", chosen.model.provider, chosen.model.id))),
            None => Err(format!("Unknown model \"{named}\".")),
        }
    }

    fn own_model(&self) -> String {
        let model = self.sink.engine().and_then(|engine| engine.status().model);
        model.map(|model| model.id).unwrap_or_default()
    }
}

/// The number of tool calls of a subagent that are in progress.
#[derive(Clone, Default)]
struct OpenCalls(Arc<AtomicUsize>);

impl OpenCalls {
    /// Returns an observer that counts the open calls. It receives each step before the event about the step is
    /// emitted.
    fn watch(&self) -> StepCallback {
        let open = self.0.clone();
        Arc::new(move |step| match step {
            ChildStep::Called(_) => drop(open.fetch_add(1, Ordering::AcqRel)),
            ChildStep::Returned(..) => drop(open.fetch_sub(1, Ordering::AcqRel)),
            ChildStep::Answered(_) => {}
        })
    }

    /// Completes after [`INACTIVITY_TIMEOUT`] if no call is open. Never completes if a call is open.
    fn inactivity(&self, agents: &dyn SubagentHost) -> BoxFuture<'static, ()> {
        match self.0.load(Ordering::Acquire) {
            0 => agents.sleep(INACTIVITY_TIMEOUT),
            _ => futures::future::pending().boxed(),
        }
    }
}

/// On drop, removes a subagent from the sink.
struct RegistrationGuard<'a>(&'a Sink, &'a str);

impl Drop for RegistrationGuard<'_> {
    fn drop(&mut self) {
        self.0.remove_subagent(self.1);
    }
}

/// Returns the result for the parent: one line per tool call, then the answer of the subagent.
fn tool_output(answer: &ChildAnswer) -> Result<ToolOutput, String> {
    match answer.stop {
        StopReason::Stop | StopReason::Length => {}
        StopReason::Aborted => return Err("The sub-agent was aborted.".to_owned()),
        StopReason::Error | StopReason::ToolUse | StopReason::Pending | StopReason::Deferred => {
            let reason = answer.error.as_deref().unwrap_or("it ended without an answer");
            return Err(format!("The sub-agent failed: {reason}"));
        }
    }
    let calls = answer.messages.iter().filter_map(|message| match &**message {
        AgentMessage::Assistant(answer) => Some(&answer.content),
        _ => None,
    });
    let calls = calls.flatten().filter_map(|block| match block {
        AssistantBlock::ToolCall(call) => Some(format!("- {}\n", call_summary(&call.name, &call.arguments))),
        _ => None,
    });
    let calls: String = calls.collect();
    Ok(ToolOutput::text(match calls.is_empty() {
        true => answer.text.clone(),
        false => format!("## What it did\n{calls}\n## Its answer\n{}", answer.text),
    }))
}
