//! One tool call.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use agentese::types::{
    AgentMessage, ImageContent, InputBlock, InputKind, TextContent, ToolCall, ToolResultMessage,
    ToolResultMessageBuilder,
};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::agent_loop::Verdict;
use super::driver::{Run, unless_cancelled};
use crate::engine::Hooks as _;
use crate::engine::subagents::ChildSpawner;
use crate::engine::{Event, Shared};
use crate::tools::{Conversation, NOT_STARTED, ToolContent, ToolOutput, ToolUpdate, Updates};

/// Result of a call that is skipped because of a message of the user. The text is that of the pi family.
const SKIPPED: &str = "Skipped due to queued user message.";
const TOOL_ABORTED: &str = "Operation aborted";
/// Result of a call that did not start because the run had reached a limit.
const NOT_STARTED_BY_LIMIT: &str = "Not started: the run had reached a limit.";
const TOOL_PANICKED: &str = "The tool failed inside the agent.";

/// Time limit for a tool to end after an abort. It leaves time for the agent to respond to an abort within five
/// seconds.
const ABORT_GRACE: Duration = Duration::from_secs(4);

/// Access of a tool to the conversation before its call.
struct PriorConversation(Weak<Shared>);

impl Conversation for PriorConversation {
    fn last_details(&self, tool: &str) -> Option<Value> {
        let shared = self.0.upgrade()?;
        let state = shared.state();
        state.session.last_result(tool)?.details.as_option().cloned()
    }

    fn has_file(&self) -> bool {
        self.0.upgrade().is_some_and(|shared| shared.state().session.file().is_some())
    }
}

/// The newest partial result that was not emitted yet. A newer result replaces it, so a slow client receives fewer
/// results and no queue grows.
#[derive(Default)]
struct LatestUpdate {
    update: Mutex<Option<ToolUpdate>>,
    changed: Notify,
}

impl LatestUpdate {
    fn put(&self, update: ToolUpdate) {
        *self.update.lock().unwrap_or_else(PoisonError::into_inner) = Some(update);
        self.changed.notify_one();
    }

    fn take(&self) -> Option<ToolUpdate> {
        self.update.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Run {
    /// Answers calls according to their verdicts, several at the same time. Emits their starts and updates, and
    /// their ends in the order of the calls. If steering interrupts the calls, running ones are stopped and treated
    /// as skipped.
    pub(in crate::engine) async fn execute_calls(&mut self, calls: Vec<(ToolCall, Verdict)>) {
        for (call, verdict) in &calls {
            self.wait_for_capacity().await;
            self.push(Event::ToolStarted(call));
            if *verdict == Verdict::Execute {
                self.shared.options.usage_tracker.count_tool_call();
                self.shared.emit_due_notices();
            }
        }
        let stop = self.abort.child_token();
        let answers = calls.iter().enumerate().map(|(index, (call, verdict))| {
            let stop = &stop;
            let run = &*self;
            async move { (index, run.answer_call(call, verdict, stop).await) }
        });
        let mut running: FuturesUnordered<_> = answers.collect();
        let mut outputs: Vec<Option<ToolOutput>> = calls.iter().map(|_| None).collect();
        let mut emitted = Vec::new();
        let (mut interrupted, mut ends_run) = (false, false);
        let tools = self.shared.tools();
        while let Some((index, output)) = running.next().await {
            outputs[index] = Some(if interrupted { ToolOutput::error(SKIPPED) } else { output });
            if !interrupted && !running.is_empty() && self.shared.state().queues.interrupts() {
                interrupted = true;
                stop.cancel();
            }
            while let Some(mut output) = outputs.get_mut(emitted.len()).and_then(Option::take) {
                let (call, verdict) = &calls[emitted.len()];
                if matches!(verdict, Verdict::Execute | Verdict::Refuse(_)) && !stop.is_cancelled() {
                    self.shared.options.usage_tracker.count_result(call, &mut output);
                }
                self.wait_for_capacity().await;
                self.push(Event::ToolEnded(call, &output));
                let executed = *verdict == Verdict::Execute && !output.is_error;
                ends_run |= executed && tools.get(&call.name).is_some_and(|tool| tool.ends_run());
                let took = output.took.filter(|_| self.shared.options.profile.answers.stores_durations);
                let mut result = result_message(call, output, self.shared.options.clock.now_ms());
                result.duration_ms = took.map(|took| milliseconds(took).into());
                let message = self.emit_message(AgentMessage::from(result.clone())).await;
                emitted.push((result, message));
            }
        }
        drop(running);
        if ends_run {
            self.finish();
        }
        for (result, message) in emitted {
            self.record_message(Some(result), message);
        }
    }

    async fn answer_call(&self, call: &ToolCall, verdict: &Verdict, stop: &CancellationToken) -> ToolOutput {
        let hooks = &self.shared.options.hooks;
        match verdict {
            Verdict::Execute if call.arguments_error.is_some() => {
                let error = call.arguments_error.as_deref().unwrap_or_default();
                ToolOutput::error(format!("Invalid arguments for tool \"{}\": {error}", call.name))
            }
            Verdict::Execute => match unless_cancelled(stop, hooks.tool_call(call)).await {
                None => self.not_started(),
                Some(Err(reason)) => ToolOutput::error(reason),
                Some(Ok(())) => {
                    let clock = &self.shared.options.clock;
                    let began = clock.now_ms();
                    let output = self.execute_tool(call, stop).await;
                    let took = u64::try_from(clock.now_ms().saturating_sub(began)).unwrap_or_default();
                    let took = output.took.map(|_| Duration::from_millis(took));
                    let kept = output.clone();
                    let output =
                        unless_cancelled(stop, hooks.tool_result(call, output)).await.unwrap_or(kept);
                    ToolOutput { took, ..output }
                }
            },
            Verdict::Skip => ToolOutput::error(SKIPPED),
            Verdict::Refuse(reason) => ToolOutput::error(reason.clone()),
            Verdict::Abort => self.not_started(),
        }
    }

    /// Returns the result of a call that did not start.
    fn not_started(&self) -> ToolOutput {
        ToolOutput::error(match self.limit_reached() {
            Some(_) => NOT_STARTED_BY_LIMIT,
            None => NOT_STARTED,
        })
    }

    async fn execute_tool(&self, call: &ToolCall, stop: &CancellationToken) -> ToolOutput {
        let options = &self.shared.options;
        let latest = Arc::new(LatestUpdate::default());
        let mut context = self.shared.context().clone();
        context.wants_structured = options.profile.tool_calls.structured_results;
        context.no_vision_details = options.profile.behavior.blind_model_detail.and_then(|member| {
            let state = self.shared.state();
            let model = state.model.as_ref().filter(|model| !model.input.contains(&InputKind::Image))?;
            Some(json!({ member: model.id }))
        });
        context.abort = stop.child_token();
        context.call_id = Some(call.id.clone());
        context.subagents =
            Some(Arc::new(ChildSpawner { shared: Arc::downgrade(&self.shared), stop: stop.child_token() }));
        context.conversation = Some(Arc::new(PriorConversation(Arc::downgrade(&self.shared))));
        context.updates = Updates::to({
            let latest = latest.clone();
            move |update| latest.put(update)
        });
        let arguments = Value::Object(call.arguments.clone());
        let tools = self.shared.tools();
        if options.profile.tool_calls.emits_empty_update_first
            && tools.get(&call.name).is_some_and(|tool| tool.shows_progress())
        {
            self.push(Event::ToolUpdated(call, &ToolUpdate { content: Vec::new(), details: None }));
        }
        let work = AssertUnwindSafe(tools.call(&context, &call.name, arguments)).catch_unwind();
        let mut work = std::pin::pin!(work);
        let given_up = async {
            stop.cancelled().await;
            options.clock.sleep(ABORT_GRACE).await;
        };
        let mut given_up = std::pin::pin!(given_up);
        let output = loop {
            tokio::select! {
                biased;
                output = &mut work => break output,
                () = latest.changed.notified() => {
                    self.wait_for_capacity().await;
                    self.emit_update(call, &latest);
                }
                () = &mut given_up => {
                    tracing::error!(tool = call.name, "a tool did not stop after an abort and is dropped");
                    break Ok(ToolOutput { took: Some(Duration::ZERO), ..ToolOutput::error(TOOL_ABORTED) });
                }
            }
        };
        // The last update may have arrived together with the end.
        self.wait_for_capacity().await;
        self.emit_update(call, &latest);
        output.unwrap_or_else(|_| {
            tracing::error!(tool = call.name, "a tool panicked");
            ToolOutput { took: Some(Duration::ZERO), ..ToolOutput::error(TOOL_PANICKED) }
        })
    }

    fn emit_update(&self, call: &ToolCall, latest: &LatestUpdate) {
        if let Some(update) = latest.take() {
            self.push(Event::ToolUpdated(call, &update));
        }
    }
}

/// Returns the message for a result.
pub(in crate::engine) fn result_message(call: &ToolCall, output: ToolOutput, now: i64) -> ToolResultMessage {
    let content = content_blocks(&output.content);
    let mut message = ToolResultMessageBuilder {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        content,
        is_error: output.is_error,
        timestamp: now,
    }
    .build();
    message.details = output.details.into();
    message
}

/// Returns a duration in whole milliseconds.
pub fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the content of a tool result as blocks of a message.
pub fn content_blocks(content: &[ToolContent]) -> Vec<InputBlock> {
    let block = |content: &ToolContent| match content {
        ToolContent::Text(text) => InputBlock::from(TextContent::new(text)),
        ToolContent::Image { data, mime_type } => ImageContent::new(data, mime_type).into(),
    };
    content.iter().map(block).collect()
}
