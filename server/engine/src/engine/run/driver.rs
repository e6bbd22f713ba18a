//! Execution of the steps of an [`AgentLoop`], up to the end of the run.

use std::sync::Arc;

use agentese::types::{
    AgentMessage, AssistantBlock, Model, StopReason, ThinkingLevel, ToolDeclaration, ToolResultMessage,
};
use tokio_util::sync::CancellationToken;

use super::agent_loop::{AgentLoop, RequestedCall, Step};
use super::policy::{CallOrder, InterruptedAnswer};
use crate::dialect_messages;
use crate::engine::Hooks as _;
use crate::engine::accounting::run_limits::RunLimitError;
use crate::engine::api::user_input::OriginalInput;
use crate::engine::policies::retry::{classify_by_text, excessive_delay};
use crate::engine::state::EngineState;
use crate::engine::{Event, Shared};
use crate::providers::{Answer, Assembler, Provider, ProviderError, ProviderErrorKind};
use crate::session::EntryId;

/// Error text of an aborted answer, as in pi 0.55.
pub(in crate::engine) const REQUEST_ABORTED: &str = "Request was aborted.";

/// One run without its last event. The caller emits that event, because the caller decides about the work after the
/// run.
pub(in crate::engine) struct Run {
    pub(in crate::engine) shared: Arc<Shared>,
    steps: AgentLoop,
    pub(in crate::engine) model: Model,
    pub(in crate::engine) provider: Arc<dyn Provider>,
    pub(in crate::engine) thinking: ThinkingLevel,
    /// System prompt; constant for the whole run, so that caches stay valid.
    pub(in crate::engine) system_prompt: String,
    pub(in crate::engine) abort: CancellationToken,
    /// Results of the calls in the current turn.
    results: Vec<ToolResultMessage>,
    outcome: RunOutcome,
    /// Original input of the user that starts the run.
    original_input: Option<OriginalInput>,
    /// `true` before the first turn.
    before_first_turn: bool,
}

/// Outcome of a run.
pub(in crate::engine) struct RunOutcome {
    /// All messages of the run.
    pub messages: Vec<Arc<AgentMessage>>,
    /// The last answer of the run.
    pub answer: Option<Arc<AgentMessage>>,
    /// Failure of the last answer, if it failed.
    pub failure: Option<ProviderError>,
    /// Number of retries since the last successful answer.
    pub attempt: u64,
    /// `true` if the run has a message of the user.
    pub has_user_input: bool,
    /// `true` if a hook stopped the last answer.
    pub stopped: bool,
    /// The model of the run.
    pub model: Model,
}

impl Run {
    /// Creates a run with the current model and thinking level. Returns `None` without a model.
    pub fn new(
        shared: &Arc<Shared>,
        state: &EngineState,
        steps: AgentLoop,
        abort: CancellationToken,
    ) -> Option<Self> {
        let model = state.model.clone()?;
        let provider = shared.options.catalog.provider_of(&model)?.clone();
        let outcome = RunOutcome {
            messages: Vec::new(),
            answer: None,
            failure: None,
            attempt: 0,
            has_user_input: false,
            stopped: false,
            model: model.clone(),
        };
        Some(Self {
            shared: shared.clone(),
            steps,
            model,
            provider,
            thinking: state.thinking,
            system_prompt: shared.system_prompt(),
            abort,
            results: Vec::new(),
            outcome,
            original_input: None,
            before_first_turn: true,
        })
    }

    /// Sets the original input of the user that starts the run.
    pub fn with_original_input(mut self, original_input: Option<OriginalInput>) -> Self {
        self.original_input = original_input;
        self
    }

    /// Carries out all steps of the run. `attempt` is the number of retries since the last successful answer.
    pub async fn drive(mut self, attempt: u64) -> RunOutcome {
        self.outcome.attempt = attempt;
        loop {
            self.wait_for_capacity().await;
            // A run that never waits would block all other work on its thread.
            tokio::task::consume_budget().await;
            let stopped = self.abort.is_cancelled() || self.is_stopped_by_limit();
            let step = self.steps.next(&mut self.shared.state().queues, stopped);
            match step {
                Step::StartRun => {
                    self.run_start_hooks().await;
                    self.push(Event::RunStarted);
                }
                Step::StartTurn => {
                    let first = std::mem::take(&mut self.before_first_turn);
                    self.outcome.answer = None;
                    self.results.clear();
                    if !first && self.shared.options.profile.run.switches_model_between_turns {
                        self.adopt_selected_model();
                    }
                    self.shared.options.hooks.turn_started(&self.shared.state().session, first);
                    self.push(Event::TurnStarted);
                    if first {
                        self.add_instructions().await;
                    }
                }
                Step::Inject(message) => {
                    self.shared.emit_queue_changes(&mut self.shared.state());
                    self.outcome.has_user_input = true;
                    self.add(message).await;
                }
                Step::RequestAnswer => {
                    let entry = self.reserve();
                    let (answer, stopped) = self.request_answer(&entry).await;
                    self.outcome.stopped = stopped;
                    self.finish_answer(entry, answer).await;
                }
                Step::SkipRequest => {
                    let entry = self.reserve();
                    let answer = match self.limit_reached() {
                        Some(failure) => self.answer_without_request(&entry, failure),
                        None => self.aborted_without_request(&entry),
                    };
                    self.finish_answer(entry, answer).await;
                }
                Step::Call(calls) => self.execute_calls(calls).await,
                Step::EndTurn => {
                    if let Some(answer) = &self.outcome.answer {
                        // A turn is counted at its end.
                        if let AgentMessage::Assistant(answer) = &**answer {
                            self.shared.options.usage_tracker.count_answer(&answer.usage);
                        }
                        self.push(Event::TurnEnded { message: answer, results: &self.results });
                        self.shared.emit_due_notices();
                    }
                }
                Step::EndRun => return self.outcome,
            }
        }
    }

    /// Returns `true` if a limit prevents the next step of the run. Calls of a complete answer are still carried
    /// out, unless one of them has failed too often. A run that ends within its last permitted turn is not stopped.
    fn is_stopped_by_limit(&self) -> bool {
        let usage_tracker = &self.shared.options.usage_tracker;
        match self.steps.is_calling() {
            true => usage_tracker.reached().is_some(),
            false if !self.steps.needs_turn(&self.shared.state().queues) => false,
            false => usage_tracker.reached_before_turn(self.shared.options.clock.now_ms()).is_some(),
        }
    }

    /// Returns the limit that ends the run, as the failure of its last answer. Returns `None` if the run continues or
    /// was aborted.
    pub(in crate::engine) fn limit_reached(&self) -> Option<ProviderError> {
        let reached = self.shared.options.usage_tracker.reached()?;
        let is_its_end = !self.abort.is_cancelled() || matches!(reached, RunLimitError::Time(_));
        is_its_end.then(|| ProviderError::new(ProviderErrorKind::Limit, reached.to_string()))
    }

    /// Returns the empty answer of a run that was aborted before the request to the model, and emits its start.
    fn aborted_without_request(&self, entry: &EntryId) -> Answer {
        let assembler = Assembler::new(&self.model, self.shared.options.clock.now_ms());
        let start_message = assembler.message().clone();
        let answer = self.with_timing(assembler.aborted(REQUEST_ABORTED));
        let stores_durations = self.shared.options.profile.answers.stores_durations;
        let message = &if stores_durations { answer.message.clone() } else { start_message }.into();
        self.push(Event::MessageStarted { entry, message });
        answer
    }

    /// Ends an answer in the middle, after an abort or because the time of the run has elapsed.
    pub(in crate::engine) fn end_early(&self, assembler: Assembler) -> Answer {
        match self.limit_reached() {
            Some(failure) => assembler.failed(failure),
            None => assembler.aborted(REQUEST_ABORTED),
        }
    }

    /// Adopts the model and the thinking level that a client has selected meanwhile.
    fn adopt_selected_model(&mut self) {
        let state = self.shared.state();
        let Some(model) = state.model.clone() else { return };
        let Some(provider) = self.shared.options.catalog.provider_of(&model).cloned() else { return };
        self.thinking = state.thinking;
        drop(state);
        self.outcome.model = model.clone();
        (self.model, self.provider) = (model, provider);
    }

    /// Adds the messages and the system prompt of hooks, before the first event of the run.
    async fn run_start_hooks(&mut self) {
        let Some(input) = self.original_input.take() else { return };
        let additions = self.shared.options.hooks.before_run(&input.text, &input.images, &self.system_prompt);
        let Some(additions) = self.unless_aborted(additions).await else { return };
        let now = self.shared.options.clock.now_ms();
        self.steps.add(additions.messages.into_iter().map(|mut message| {
            message.timestamp = now;
            AgentMessage::from(message)
        }));
        if let Some(prompt) = additions.system_prompt {
            self.system_prompt = prompt;
        }
    }

    /// Adds a message with the system prompt and the tools, if the profile enables it and the conversation has no such
    /// message.
    async fn add_instructions(&mut self) {
        if !self.shared.options.profile.run.declares_instructions {
            return;
        }
        if self.shared.state().session.instructions().is_some() {
            return;
        }
        let sections = match self.shared.system_prompt() == self.system_prompt {
            true => self.shared.prompt_sections(),
            // A hook replaced the system prompt.
            false => vec![("preamble", self.system_prompt.clone())],
        };
        let tools = self.shared.tools();
        let declared = tools.iter().map(|tool| {
            let parameters = tool.parameters().as_object().cloned().unwrap_or_default();
            ToolDeclaration::new(tool.name(), tool.description(), parameters)
        });
        let now = self.shared.options.clock.now_ms();
        self.add(dialect_messages::system_message(sections, declared.collect(), now)).await;
    }

    /// Returns the result of a hook. Returns `None` if the run is aborted first.
    pub(in crate::engine) async fn unless_aborted<T>(&self, hook: impl Future<Output = T>) -> Option<T> {
        unless_cancelled(&self.abort, hook).await
    }

    /// Waits until the receiver can take more events. An abort ends the wait.
    pub(in crate::engine) async fn wait_for_capacity(&self) {
        tokio::select! {
            biased;
            () = self.abort.cancelled() => {}
            () = self.shared.sink.wait_for_capacity() => {}
        }
    }

    pub(in crate::engine) fn push(&self, event: Event<'_>) {
        self.shared.sink.push(event);
    }

    /// Reserves an entry id for a message that will be stored later.
    fn reserve(&self) -> EntryId {
        self.shared.state().session.reserve_id()
    }

    /// Adds a message that is complete from the start.
    async fn add(&mut self, message: AgentMessage) {
        let message = self.emit_message(message).await;
        self.record_message(None, message);
    }

    /// Emits a message that is complete from the start.
    pub(in crate::engine) async fn emit_message(&self, message: AgentMessage) -> Arc<AgentMessage> {
        let entry = self.reserve();
        self.push(Event::MessageStarted { entry: &entry, message: &message });
        self.wait_for_capacity().await;
        let message = Arc::new(message);
        self.commit(entry, &message).await;
        message
    }

    /// Stores a complete message and emits its end. The message reaches the session file before the event, unless the
    /// run is aborted.
    async fn commit(&self, entry: EntryId, message: &Arc<AgentMessage>) {
        self.shared.state().session.append_as(entry.clone(), message.clone());
        let _ = self.unless_aborted(self.shared.wait_until_written()).await;
        self.push(Event::MessageEnded { entry: &entry, message });
        self.shared.emit_storage_status(&mut self.shared.state());
    }

    /// Marks the run as finished: no further request to the model follows.
    pub(in crate::engine) fn finish(&mut self) {
        self.steps.finish();
    }

    /// Adds a message to the run. If the message is a tool result, adds `result` to the turn.
    pub(in crate::engine) fn record_message(
        &mut self,
        result: Option<ToolResultMessage>,
        message: Arc<AgentMessage>,
    ) {
        self.results.extend(result);
        self.outcome.messages.push(message);
    }

    /// Returns the answer with its duration and thinking level, if the profile enables it.
    pub(in crate::engine) fn with_timing(&self, mut answer: Answer) -> Answer {
        if self.shared.options.profile.answers.stores_durations {
            let message = &mut answer.message;
            let took = self.shared.options.clock.now_ms().saturating_sub(message.timestamp).max(0);
            message.duration_ms = Some(took.into());
            message.thinking_level = Some(self.thinking);
        }
        answer
    }

    async fn finish_answer(
        &mut self,
        entry: EntryId,
        Answer { mut message, unusable, error: failure }: Answer,
    ) {
        let stop: StopReason = message.stop_reason;
        let profile = &self.shared.options.profile;
        let failure = failure.map(|failure| classify_by_text(failure, profile.behavior.retried_words));
        let tools = self.shared.tools();
        let shared = |name: &str| match profile.tool_calls.order {
            CallOrder::Sequential => false,
            CallOrder::SharedInParallel => tools.get(name).is_some_and(|tool| tool.shared()),
            CallOrder::AllInParallel => true,
        };
        let failed = matches!(stop, StopReason::Error | StopReason::Aborted);
        let answers = !failed || profile.answers.interrupted == InterruptedAnswer::WithErrorResults;
        let calls: Vec<_> = message
            .content
            .iter()
            .filter(|_| answers)
            .filter_map(|block| match block {
                AssistantBlock::ToolCall(call) => Some(RequestedCall {
                    unusable: unusable.iter().find(|it| it.id == call.id).map(|it| it.reason.clone()),
                    shared: shared(&call.name),
                    call: profile.tool_calls.without_purpose(call),
                }),
                _ => None,
            })
            .collect();
        if let Some(pause) =
            failure.as_ref().and_then(|failure| excessive_delay(&self.shared.state().retry, failure))
        {
            let text = message.error_message.get_or_insert_default();
            text.push_str(&format!(
                " (the provider requests a pause of {} s, which is too long)",
                pause.as_secs()
            ));
        }
        self.wait_for_capacity().await;
        let message = Arc::new(AgentMessage::from(message));
        self.outcome.answer = Some(message.clone());
        self.outcome.failure = failure;
        self.commit(entry, &message).await;
        self.record_message(None, message);
        if !failed {
            self.shared.options.usage_tracker.count_turn();
        }
        if self.outcome.attempt > 0 && !failed {
            let attempt = std::mem::take(&mut self.outcome.attempt);
            self.push(Event::RetryEnded { success: true, attempt, error: None });
        }
        self.steps.answered(stop, calls);
    }
}

/// Returns the result of a hook. Returns `None` if `stop` is cancelled first.
pub(in crate::engine) async fn unless_cancelled<T>(
    stop: &CancellationToken,
    hook: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased;
        () = stop.cancelled() => None,
        result = hook => Some(result),
    }
}
