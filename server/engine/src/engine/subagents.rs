//! Subagents: engines with their own conversation and history, within the limits of their parent. An abort reaches all
//! of them, and the parent counts their usage.

pub(in crate::engine) mod limits;
use std::sync::{Arc, Weak};
use std::time::Duration;

use agentese::types::{AgentMessage, StopReason, ToolCall};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::subagents::limits::ChildSlot;
use super::{ChildEvent, Engine, Event, EventSink, Hooks as _, Options, Shared, UsageTracker, UserInput};
use crate::session::{Session, SessionOptions};
use crate::tools::{
    Child, ChildAnswer, ChildStep, Parent, SpawnRequest, StepCallback, SubagentError, SubagentEvent,
    SubagentHost,
};

/// Starts subagents for one tool call.
pub(super) struct ChildSpawner {
    pub shared: Weak<Shared>,
    /// Cancelled when the call must stop.
    pub stop: CancellationToken,
}

impl SubagentHost for ChildSpawner {
    fn parent(&self) -> Option<Parent> {
        let shared = self.shared.upgrade()?;
        let tools = shared.tools();
        let state = shared.state();
        Some(Parent {
            tools,
            model: state.model.as_ref().map(|model| format!("{}/{}", model.provider, model.id)),
            session_file: state.session.file().map(Into::into),
            generations: shared.options.subagent_limits.remaining_depth(),
        })
    }

    fn emit(&self, id: &str, agent: &str, event: SubagentEvent<'_>) {
        let Some(shared) = self.shared.upgrade() else { return };
        let event = match event {
            SubagentEvent::VerificationStarted(started) => ChildEvent::VerificationStarted(started),
            SubagentEvent::VerificationCommandStarted(started) => {
                ChildEvent::VerificationCommandStarted(started)
            }
            SubagentEvent::VerificationCommandEnded(ended) => ChildEvent::VerificationCommandEnded(ended),
            SubagentEvent::VerificationEnded(ended) => ChildEvent::VerificationEnded(ended),
            SubagentEvent::Ended { exit_code, verification } => ChildEvent::Ended { exit_code, verification },
        };
        shared.sink.push(Event::Child { id, agent, event });
    }

    fn now_ms(&self) -> i64 {
        self.shared.upgrade().map_or(0, |shared| shared.options.clock.now_ms())
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        match self.shared.upgrade() {
            Some(shared) => shared.options.clock.sleep(duration),
            None => futures::future::ready(()).boxed(),
        }
    }

    fn authorize<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let shared = self.shared.upgrade().ok_or("The agent has ended.")?;
            tokio::select! {
                biased;
                () = self.stop.cancelled() => Err("The operation was aborted.".to_owned()),
                result = shared.options.hooks.tool_call(call) => result,
            }
        }
        .boxed()
    }

    fn start(&self, request: SpawnRequest) -> BoxFuture<'_, Result<Box<dyn Child>, SubagentError>> {
        async move {
            let agent_ended = || SubagentError::Unusable("the agent has ended".to_owned());
            let parent = self.shared.upgrade().ok_or_else(agent_ended)?;
            let now = || parent.options.clock.now_ms();
            parent.options.usage_tracker.check_child_budget(now()).map_err(SubagentError::Budget)?;
            let (limits, slot) = parent.options.subagent_limits.reserve_child()?;
            let mut options = child_options(&parent, &request)?;
            options.subagent_limits = limits;
            let session = open_history(&options, &request).await?;
            let SpawnRequest { id, agent, on_step, .. } = request;
            let sink = ChildEventForwarder { parent: self.shared.clone(), id, agent, watch: on_step };
            if !request.resumes {
                parent.options.usage_tracker.start_child(now()).map_err(SubagentError::Budget)?;
                let event = ChildEvent::Started { isolated: request.isolated };
                parent.sink.push(Event::Child { id: &sink.id, agent: &sink.agent, event });
                parent.emit_due_notices();
            }
            let engine = Engine::with_session(options, Some(session), Arc::new(sink));
            let child = ChildHandle { engine, stop: self.stop.clone(), _slot: slot };
            Ok(Box::new(child) as Box<dyn Child>)
        }
        .boxed()
    }
}

/// Returns the options of a child: the parent's options, with the values that the request sets.
fn child_options(parent: &Shared, request: &SpawnRequest) -> Result<Options, SubagentError> {
    let mut options = parent.options.clone();
    {
        let state = parent.state();
        let level = request.thinking.unwrap_or(state.thinking);
        options.thinking = Some(level);
        let chosen = match &request.model {
            Some(pattern) => options.catalog.find(pattern),
            None => {
                state.model.clone().map(|model| crate::providers::ModelSelection { model, thinking: None })
            }
        };
        let missing = || match &request.model {
            Some(pattern) => SubagentError::Unusable(format!("no model matches {pattern}")),
            None => SubagentError::Unusable(options.no_model_reason.clone()),
        };
        options.model = Some(chosen.ok_or_else(missing)?);
    }
    options.context = parent.context().clone();
    if let Some(cwd) = &request.cwd {
        options.context.cwd.clone_from(cwd);
    }
    if let Some(tools) = &request.tools {
        options.tools = tools.clone();
        options.only_these_tools = true;
    }
    (options.store, options.session_name) = (None, None);
    options.system_prompt =
        parent.prompt().for_subagent(request.instructions.clone(), options.context.cwd.clone());
    options.post_run_policies = Vec::new();
    options.hooks = parent.options.hooks.of_child(&mut options.post_run_policies);
    options.usage_tracker = Arc::new(UsageTracker::with_parent(parent.options.usage_tracker.clone()));
    Ok(options)
}

async fn open_history(options: &Options, request: &SpawnRequest) -> Result<Session, SubagentError> {
    let start = SessionOptions::new(&options.context.cwd, options.clock.clone(), options.ids.clone())
        .write_in_background();
    let Some(path) = request.history.clone() else { return Ok(Session::in_memory(start)) };
    let opened = tokio::task::spawn_blocking(move || Session::create_at(&path, start)).await;
    let opened = opened.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
    opened.map_err(|error| SubagentError::Unusable(error.to_string()))
}

/// Forwards the events of a subagent to the subscribers of its parent.
struct ChildEventForwarder {
    parent: Weak<Shared>,
    id: String,
    agent: String,
    watch: Option<StepCallback>,
}

impl ChildEventForwarder {
    fn report_step(&self, event: &Event<'_>) {
        let Some(watch) = &self.watch else { return };
        match event {
            Event::ToolStarted(call) => watch(ChildStep::Called(call)),
            Event::ToolEnded(call, output) => watch(ChildStep::Returned(call, output)),
            Event::MessageEnded { message: AgentMessage::Assistant(answer), .. } => {
                watch(ChildStep::Answered(answer));
            }
            _ => {}
        }
    }
}

impl EventSink for ChildEventForwarder {
    fn wait_for_capacity(&self) -> BoxFuture<'_, ()> {
        async move {
            if let Some(parent) = self.parent.upgrade() {
                parent.sink.wait_for_capacity().await;
            }
        }
        .boxed()
    }

    fn push(&self, event: Event<'_>) {
        self.report_step(&event);
        if let Some(parent) = self.parent.upgrade() {
            let event = ChildEvent::Event(&event);
            parent.sink.push(Event::Child { id: &self.id, agent: &self.agent, event });
        }
    }
}

struct ChildHandle {
    engine: Engine,
    stop: CancellationToken,
    _slot: ChildSlot,
}

impl Child for ChildHandle {
    fn prompt<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<ChildAnswer, SubagentError>> {
        async move {
            let accepted = self.engine.accept_prompt(UserInput::text(text), None);
            let accepted = accepted.map_err(|error| SubagentError::PromptRejected(error.to_string()))?;
            accepted.start();
            let guard = AbortOnDrop(Some(&self.engine));
            tokio::select! {
                biased;
                () = self.engine.wait_until_idle() => {}
                () = self.stop.cancelled() => self.engine.abort().await,
            }
            guard.disarm();
            Ok(last_answer(&self.engine))
        }
        .boxed()
    }
}

/// Stops a subagent on drop, unless its answer was returned.
struct AbortOnDrop<'a>(Option<&'a Engine>);

impl AbortOnDrop<'_> {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for AbortOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(engine) = self.0 {
            // One poll is enough to request the abort; its end needs no wait.
            let _ = engine.abort().now_or_never();
        }
    }
}

fn last_answer(engine: &Engine) -> ChildAnswer {
    let messages = engine.messages();
    let last = messages.iter().rev().find_map(|message| match &**message {
        AgentMessage::Assistant(answer) => Some((answer.stop_reason, answer.error_message.clone())),
        _ => None,
    });
    let (stop, error) = last.unwrap_or((StopReason::Aborted, None));
    ChildAnswer { text: engine.last_assistant_text().unwrap_or_default(), stop, error, messages }
}
