//! The shell around [`AgentLoop`]: carries its steps out.

use std::sync::Arc;

use agentese::types::{AgentMessage, AssistantBlock, Model, StopReason, ThinkingLevel, ToolResultMessage};
use tokio_util::sync::CancellationToken;

use super::agent_loop::{AgentLoop, Step};
use super::state::Running;
use super::{Event, Shared};
use crate::providers::{Answer, Assembler, Provider};

/// What an answer that was aborted says, as pi 0.55 does.
pub(super) const ABORTED: &str = "Request was aborted.";

/// One run, from its first event to its last.
pub(super) struct Run {
    pub(super) shared: Arc<Shared>,
    steps: AgentLoop,
    pub(super) model: Model,
    pub(super) provider: Arc<dyn Provider>,
    pub(super) thinking: ThinkingLevel,
    pub(super) abort: CancellationToken,
    /// All messages of the run.
    messages: Vec<Arc<AgentMessage>>,
    /// The answer of the turn that is going on, and the results of its calls.
    answer: Option<Arc<AgentMessage>>,
    results: Vec<ToolResultMessage>,
    /// Last, so that nobody hears of the end before everything else is put away.
    end: End,
}

/// Makes the engine idle when a run ends, however it ends.
struct End {
    shared: Arc<Shared>,
    number: u64,
    ended: CancellationToken,
}

impl Drop for End {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        // A run that ended in good order is gone already, and another may have begun.
        if state.run.as_ref().is_some_and(|run| run.number == self.number) {
            state.queues.put_back();
            state.run = None;
        }
        drop(state);
        self.ended.cancel();
    }
}

impl Run {
    pub fn new(
        shared: Arc<Shared>,
        steps: AgentLoop,
        model: Model,
        provider: Arc<dyn Provider>,
        thinking: ThinkingLevel,
        running: &Running,
    ) -> Self {
        let end = End { shared: shared.clone(), number: running.number, ended: running.ended.clone() };
        Self {
            shared,
            steps,
            model,
            provider,
            thinking,
            abort: running.abort.clone(),
            messages: Vec::new(),
            answer: None,
            results: Vec::new(),
            end,
        }
    }

    /// Starts the run as a task.
    pub fn start(self) {
        let (shared, number) = (self.shared.clone(), self.number());
        let task = tokio::spawn(self.drive()).abort_handle();
        if let Some(running) = shared.state().run.as_mut().filter(|running| running.number == number) {
            running.task = Some(task);
        }
    }

    fn number(&self) -> u64 {
        self.end.number
    }

    /// Carries out step after step until the run is over.
    async fn drive(mut self) {
        loop {
            self.room().await;
            // A run that never has to wait would keep everything else on its thread from working.
            tokio::task::consume_budget().await;
            match self.next() {
                Step::StartRun => self.push(Event::RunStarted),
                Step::StartTurn => {
                    self.answer = None;
                    self.results.clear();
                    self.push(Event::TurnStarted);
                }
                Step::Inject(message) => self.add(AgentMessage::from(message)).await,
                Step::Ask => {
                    let answer = self.ask().await;
                    self.answered(answer).await;
                }
                Step::AskNobody => {
                    let assembler = Assembler::new(&self.model, self.shared.options.clock.now_ms());
                    self.push(Event::MessageStarted(&assembler.message().clone().into()));
                    self.answered(assembler.aborted(ABORTED)).await;
                }
                Step::Call(call, verdict) => {
                    let output = self.call(&call, verdict).await;
                    self.room().await;
                    self.push(Event::ToolEnded(&call, &output));
                    let now = self.shared.options.clock.now_ms();
                    let result = super::call::result(&call, output, now);
                    self.results.push(result.clone());
                    self.add(AgentMessage::from(result)).await;
                }
                Step::EndTurn => {
                    if let Some(answer) = &self.answer {
                        self.push(Event::TurnEnded { message: answer, results: &self.results });
                    }
                }
                Step::EndRun => return,
            }
        }
    }

    /// The next step. The end of a run is told in the same moment in which the engine becomes idle:
    /// whoever hears of it can send the next prompt, and whatever was queued before it belongs to
    /// this run.
    fn next(&mut self) -> Step {
        let mut state = self.shared.state();
        let step = self.steps.next(&mut state.queues, self.abort.is_cancelled());
        if step == Step::EndRun {
            self.shared.sink.push(Event::RunEnded { messages: &self.messages });
            state.run = None;
        }
        step
    }

    /// Waits until events are wanted; an abort ends the waiting.
    pub(super) async fn room(&self) {
        tokio::select! {
            biased;
            () = self.abort.cancelled() => {}
            () = self.shared.sink.room() => {}
        }
    }

    pub(super) fn push(&self, event: Event<'_>) {
        self.shared.sink.push(event);
    }

    /// Adds a message that is complete from the start.
    async fn add(&mut self, message: AgentMessage) {
        self.push(Event::MessageStarted(&message));
        self.room().await;
        self.commit(Arc::new(message));
    }

    /// A message is complete: it stands in the session before anybody is told.
    fn commit(&mut self, message: Arc<AgentMessage>) {
        self.shared.state().session.append(message.clone());
        self.push(Event::MessageEnded(&message));
        self.messages.push(message);
    }

    async fn answered(&mut self, Answer { message, cut, failure: _ }: Answer) {
        let stop: StopReason = message.stop_reason;
        let calls: Vec<_> = message
            .content
            .iter()
            .filter_map(|block| match block {
                AssistantBlock::ToolCall(call) => Some((call.clone(), cut.contains(&call.id))),
                _ => None,
            })
            .collect();
        self.room().await;
        let message = Arc::new(AgentMessage::from(message));
        self.answer = Some(message.clone());
        self.commit(message);
        self.steps.answered(stop, calls);
    }
}
