//! Differences between agents in runs, in the answers of models and in the calls of tools.

use std::time::Duration;

use agentese::types::{InterruptMode, ToolCall};

/// The work that a run includes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RunSpan {
    /// The run includes only the turns. A prompt that names no queue waits for the following run if it
    /// arrives between two runs.
    #[default]
    Turns,
    /// The run includes the turns, and for prompts also the pauses before retries. During such a pause, a
    /// prompt that names no queue is rejected, as during a run.
    TurnsAndRetryPauses,
    /// The run includes the turns, and the retries and automatic compactions that follow, with the pauses
    /// before the retries.
    UntilSettled,
}

/// Differences between agents in their runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPolicy {
    /// Initial moment at which steering reaches the run; clients may change it.
    pub interrupt_mode: InterruptMode,
    /// The work that a run includes.
    pub span: RunSpan,
    /// `true` if a conversation starts with a message that contains the sections of the system prompt, and the tools.
    pub declares_instructions: bool,
    /// `true` if a change of model or thinking level during a run takes effect in the next turn. Otherwise it
    /// takes effect in the next run.
    pub switches_model_between_turns: bool,
}

impl Default for RunPolicy {
    fn default() -> Self {
        Self {
            interrupt_mode: InterruptMode::Immediate,
            span: RunSpan::default(),
            declares_instructions: false,
            switches_model_between_turns: false,
        }
    }
}

/// Treatment of an answer that was stopped in the middle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InterruptedAnswer {
    /// The agent closes the open block if the model's API does so. The calls of the answer get no results.
    #[default]
    Closed,
    /// The answer stays as it is. Each call of the answer gets an error as its result.
    WithErrorResults,
}

/// Differences between agents in the answers of models.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerPolicy {
    /// The end of an answer that was stopped.
    pub interrupted: InterruptedAnswer,
    /// `true` if the start of an answer is emitted when its first content arrives; `false` if it is emitted with
    /// the request to the model.
    pub starts_with_content: bool,
    /// `true` if blocks that the API streams at the same time are all closed at the end of the answer. Has no
    /// effect for APIs that stream one block after the other.
    pub closes_blocks_together: bool,
    /// Minimum interval between emitted pieces of an answer. Pieces within the interval are joined and emitted before
    /// any other event. Zero if each piece is emitted at once.
    pub min_update_interval: Duration,
    /// `true` if answers and results store their duration. Answers then also store the thinking level of their
    /// request.
    pub stores_durations: bool,
    /// `true` if answers store details of the provider (see [`crate::providers::Assembler::with_details`]) and summaries
    /// store their usage.
    pub stores_provider_details: bool,
}

/// The order of execution for the tool calls of one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CallOrder {
    /// One after another.
    #[default]
    Sequential,
    /// Successive shared calls ([`crate::tools::Tool::shared`]) run side by side; every other call runs alone. Ends
    /// and results keep the order of the calls.
    SharedInParallel,
    /// All calls run side by side. Ends and results keep the order of the calls.
    AllInParallel,
}

/// Differences between agents in the calls of tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolCallPolicy {
    /// The order of execution for the calls of one answer.
    pub order: CallOrder,
    /// Name of the argument in which a model states the purpose of a call. The argument stays in the model's answer;
    /// tools and events about calls omit it.
    pub purpose_argument: Option<&'static str>,
    /// `true` if a tool with progress output emits an empty update at its start.
    pub emits_empty_update_first: bool,
    /// `true` if results are also given as data; see [`crate::tools::ToolContext::wants_structured`].
    pub structured_results: bool,
}

impl ToolCallPolicy {
    /// Returns a call as tools receive it, without the purpose argument.
    pub(in crate::engine) fn without_purpose(&self, call: &ToolCall) -> ToolCall {
        let mut call = call.clone();
        if let Some(purpose) = self.purpose_argument {
            call.arguments.shift_remove(purpose);
        }
        call
    }
}
