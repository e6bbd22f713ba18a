//! Differences between agents in the behavior of an engine. A dialect server defines them once; the engine never
//! checks the dialect.

use std::time::Duration;

use agentese::spec::Behavior;
use agentese::types::{InterruptMode, ThinkingLevel, ToolCall};

use super::policies::compaction::NothingToCompactError;
use crate::providers::ThinkingLevelRules;

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

/// The effect of a branch of the session on the current run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BranchEffect {
    /// The run is stopped first.
    #[default]
    StopsRun,
    /// The run continues, and its later messages belong to the branch.
    MovesRun,
}

/// Treatment of an answer that was stopped in the middle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InterruptedAnswer {
    /// The open block is closed if the model's API does so, and the calls get no results.
    #[default]
    Closed,
    /// The answer stays as it is, and each of its calls gets an error as its result.
    WithErrorResults,
}

/// The behavior in which an agent differs from other agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BehaviorProfile {
    /// Behavior that the revision declares.
    pub behavior: Behavior,
    /// The order of execution for the calls of one answer.
    pub call_order: CallOrder,
    /// Initial moment at which steering reaches the run; clients may change it.
    pub interrupt_mode: InterruptMode,
    /// Default thinking level of models.
    pub default_thinking: ThinkingLevel,
    /// Rules for the thinking levels of models.
    pub thinking_levels: ThinkingLevelRules,
    /// The effect of a branch on the current run.
    pub branch_effect: BranchEffect,
    /// The end of an answer that was stopped.
    pub interrupted_answer: InterruptedAnswer,
    /// `true` if an answer that was interrupted by a compaction is removed from the context. The session file keeps
    /// it.
    pub compaction_drops_interrupted_answer: bool,
    /// `true` if the tokens that a compaction keeps are counted as the provider counts them; `false` if they are
    /// estimated.
    pub keeps_provider_tokens: bool,
    /// `true` if clients receive events about messages that extensions add to an idle conversation.
    pub emits_idle_messages: bool,
    /// `true` if hooks of extensions run when an extension's message starts a run, as they do for user input.
    pub idle_messages_run_hooks: bool,
    /// `true` if a session without messages can be exported.
    pub exports_empty_sessions: bool,
    /// `true` if files that a prompt mentions with `@` are read for the model.
    pub reads_mentions: bool,
    /// `true` if each line of a mentioned file has a mark before it: its number, and two letters derived from its
    /// text.
    pub hashes_mentioned_lines: bool,
    /// `true` if the agent only starts with an available model.
    pub requires_model: bool,
    /// `true` if a command of the user inherits the directory and the variables of the previous command.
    pub keeps_shell_state: bool,
    /// `true` if a message with an empty text is accepted; the model receives a note that the message is empty.
    /// Otherwise it is rejected like every other blank message.
    pub accepts_empty_input: bool,
    /// Name of the argument in which a model states the purpose of a call. The argument stays in the model's answer;
    /// tools and events about calls omit it.
    pub purpose_argument: Option<&'static str>,
    /// Default prefix for the name of an exported page.
    pub export_prefix: &'static str,
    /// Names of the default tools.
    pub default_tools: &'static [&'static str],
    /// `true` if the tool `edit` takes a list of replacements; otherwise one replacement. See
    /// [`crate::tools::EditTool`].
    pub edit_takes_list: bool,
    /// `true` if a conversation starts with a message that contains the sections of the system prompt, and the tools.
    pub declares_instructions: bool,
    /// `true` if the start of an answer is emitted when its first content arrives; `false` if it is emitted with
    /// the request to the model.
    pub starts_answers_with_content: bool,
    /// `true` if a change of model or thinking level during a run takes effect in the next turn. Otherwise it
    /// takes effect in the next run.
    pub switches_model_between_turns: bool,
    /// `true` if blocks that grow at the same time are all closed at the end of the answer. Applies only to models
    /// whose API lets blocks grow at the same time.
    pub closes_blocks_together: bool,
    /// Minimum interval between emitted pieces of an answer. Pieces within the interval are joined and emitted before
    /// any other event. Zero if each piece is emitted at once.
    pub min_update_interval: Duration,
    /// `true` if a request with a transient failure is repeated at first without any event.
    pub provider_retries: bool,
    /// `true` if an answer that had already begun is requested again after its connection broke.
    pub retries_started_answers: bool,
    /// `true` if the session stores an entry, and emits an event, when an answer leaves the context before it is
    /// requested again. Otherwise only the running process knows this.
    pub records_context_edits: bool,
    /// `true` if an answer leaves the context before the compaction after which it is requested again. Clients then
    /// see no retry. In that case, an answer that was cut off below the output limit of the model is requested
    /// again as well.
    pub drops_answer_before_compaction: bool,
    /// `true` if answers and results store their duration. Answers then also store the thinking level of their
    /// request.
    pub stores_durations: bool,
    /// `true` if answers store details of the provider (see [`crate::providers::Assembler::with_details`]) and
    /// summaries store their usage.
    pub stores_provider_details: bool,
    /// `true` if a run includes the retries and automatic compactions that follow it, with the pauses before the
    /// retries.
    pub runs_until_settled: bool,
    /// `true` if a prompt without a delivery is rejected during the pause before a retry, as it is during a run.
    /// Otherwise it waits for the following run.
    pub retry_pause_rejects_prompts: bool,
    /// `true` if the statistics of a session cover its whole file; otherwise the context of the model.
    pub stats_cover_file: bool,
    /// `true` if clients receive events about automatic compactions that had nothing to do.
    pub emits_idle_compactions: bool,
    /// `true` if the end of an automatic compaction gives no reason when the conversation has just been compacted.
    pub omits_already_compacted: bool,
    /// `true` if the parts of a summary are requested one after the other; otherwise side by side.
    pub summarizes_sequentially: bool,
    /// `true` if a tool with progress output emits an empty update at its start.
    pub emits_empty_update_first: bool,
    /// `true` if results are also given as data; see [`crate::tools::ToolContext::wants_structured`].
    pub structured_results: bool,
    /// `true` if a command of the user that was ended by a signal has the exit code that shells use for the signal.
    /// Otherwise the command is treated as stopped.
    pub signal_exit_codes: bool,
    /// `true` if commands of the user end with their session, and add nothing to the next one.
    pub shell_ends_with_session: bool,
    /// `true` if switching to a session requires its directory to exist.
    pub requires_directory: bool,
    /// `true` if, at the end of input, prompts that wait for extensions are started before all work is stopped.
    pub starts_waiting_prompts: bool,
    /// `true` if extensions receive the request about the context before earlier events of the same step. Otherwise
    /// extensions receive them in the order in which they occurred.
    pub context_request_first: bool,
    /// `true` if extensions receive a change of session as two events: the end of one session and the start of the
    /// next. Otherwise they receive it as a change.
    pub session_change_restarts: bool,
}

impl BehaviorProfile {
    /// The profile of pi.
    pub const PI: Self = Self {
        behavior: Behavior::FIRST,
        call_order: CallOrder::Sequential,
        interrupt_mode: InterruptMode::Immediate,
        default_thinking: ThinkingLevel::Medium,
        thinking_levels: ThinkingLevelRules::PI,
        branch_effect: BranchEffect::StopsRun,
        interrupted_answer: InterruptedAnswer::Closed,
        compaction_drops_interrupted_answer: false,
        keeps_provider_tokens: false,
        emits_idle_messages: true,
        idle_messages_run_hooks: false,
        exports_empty_sessions: false,
        reads_mentions: false,
        hashes_mentioned_lines: false,
        requires_model: false,
        keeps_shell_state: false,
        accepts_empty_input: false,
        purpose_argument: None,
        export_prefix: "pi-session",
        default_tools: &["read", "bash", "edit", "write"],
        edit_takes_list: false,
        declares_instructions: false,
        starts_answers_with_content: false,
        switches_model_between_turns: false,
        closes_blocks_together: false,
        min_update_interval: Duration::ZERO,
        provider_retries: true,
        retries_started_answers: true,
        records_context_edits: false,
        drops_answer_before_compaction: false,
        stores_durations: false,
        stores_provider_details: false,
        runs_until_settled: false,
        retry_pause_rejects_prompts: false,
        stats_cover_file: false,
        emits_idle_compactions: true,
        omits_already_compacted: false,
        summarizes_sequentially: false,
        emits_empty_update_first: false,
        structured_results: false,
        signal_exit_codes: false,
        shell_ends_with_session: false,
        requires_directory: false,
        starts_waiting_prompts: false,
        context_request_first: true,
        session_change_restarts: false,
    };
}

impl BehaviorProfile {
    /// Returns `true` if the end event of an automatic compaction that did nothing leaves out `reason`.
    pub(super) fn omits_reason(&self, reason: &str) -> bool {
        self.omits_already_compacted && reason == NothingToCompactError::AlreadyCompacted.to_string()
    }

    /// Returns a call as tools receive it, without the purpose argument.
    pub(super) fn without_purpose(&self, call: &ToolCall) -> ToolCall {
        let mut call = call.clone();
        if let Some(intent) = self.purpose_argument {
            call.arguments.shift_remove(intent);
        }
        call
    }
}

impl Default for BehaviorProfile {
    fn default() -> Self {
        Self::PI
    }
}
