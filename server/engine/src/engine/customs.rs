//! Differences between agents in the behavior of an engine. A front defines them once; the engine never checks the
//! dialect.

use std::time::Duration;

use agentese::spec::Behavior;
use agentese::types::{InterruptMode, ThinkingLevel, ToolCall};

use super::compaction::NothingToDo;
use crate::providers::LevelCustoms;

/// The order of execution for the tool calls of one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Calls {
    /// One after another.
    #[default]
    OneByOne,
    /// Shared calls ([`crate::tools::Tool::shared`]) side by side, the others alone. Ends and results keep the order of
    /// the calls.
    SideBySide,
    /// All of them side by side. Ends and results keep the order of the calls.
    Together,
}

/// The effect of a branch on the current run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Branching {
    /// The run is stopped first.
    #[default]
    StopsTheRun,
    /// The run continues, and its later messages belong to the branch.
    TakesItAlong,
}

/// The end of an answer that was stopped in the middle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CutAnswer {
    /// The open block is closed if the model's API does so, and the calls get no results.
    #[default]
    Closed,
    /// The answer stays as it is, and each of its calls gets an error as its result.
    WithResults,
}

/// The customs of an agent: its differences from other agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Customs {
    /// Behavior that the revision declares.
    pub behavior: Behavior,
    /// The order of execution for the calls of one answer.
    pub calls: Calls,
    /// Initial moment at which steering reaches the run; clients may change it.
    pub interrupt: InterruptMode,
    /// Default thinking level of models.
    pub thinking: ThinkingLevel,
    /// Rules for the thinking levels of models.
    pub levels: LevelCustoms,
    /// The effect of a branch on the current run.
    pub branching: Branching,
    /// The end of an answer that was stopped.
    pub cut_answer: CutAnswer,
    /// `true` if an answer that a compaction stopped leaves the context; the session file keeps it.
    pub compaction_drops_cut_answer: bool,
    /// `true` if a compaction keeps a number of tokens in the provider's count; otherwise in estimated tokens.
    pub keeps_by_count: bool,
    /// `true` if clients receive events about messages that extensions add to an idle conversation.
    pub tells_of_notes: bool,
    /// `true` if hooks of extensions run for runs that start with such a message, as for runs that start with user
    /// input.
    pub notes_are_prompts: bool,
    /// `true` if a session without messages can be exported.
    pub exports_empty: bool,
    /// `true` if files that a prompt mentions with `@` are read for the model.
    pub reads_mentions: bool,
    /// `true` if each line of such a file has a mark before it: its number, and two letters derived from its text.
    pub marks_mentions: bool,
    /// `true` if the agent only starts with an available model.
    pub needs_model: bool,
    /// `true` if a command of the user inherits the directory and the variables of the previous command.
    pub keeps_shell: bool,
    /// `true` if a message with an empty text is accepted, with a note to the model that it is empty. Otherwise the
    /// message is rejected, as every other blank message is.
    pub empty_messages: bool,
    /// Name of the argument in which a model states the purpose of a call. The argument stays in the model's answer;
    /// tools and events about calls omit it.
    pub intent: Option<&'static str>,
    /// Default prefix for the name of an exported page.
    pub page_name: &'static str,
    /// Names of the default tools.
    pub tools: &'static [&'static str],
    /// `true` if the tool `edit` takes a list of replacements; otherwise one replacement. See [`crate::tools::Edit`].
    pub lists_edits: bool,
    /// `true` if a conversation starts with a message that contains the sections of the system prompt, and the tools.
    pub tells_instructions: bool,
    /// `true` if the start of an answer is emitted with its first content; otherwise with the request to the model.
    pub answers_begin_late: bool,
    /// `true` if a change of model or thinking level during a run takes effect in its next turn; otherwise in the next
    /// run.
    pub models_change_in_runs: bool,
    /// `true` if blocks of an answer that grow side by side close together at its end, if the model's API permits that.
    pub closes_together: bool,
    /// Minimum interval between emitted pieces of an answer. Pieces within the interval are joined and emitted before
    /// any other event. Zero if each piece is emitted at once.
    pub pieces_apart: Duration,
    /// `true` if a request with a transient failure is repeated before any event about the failure.
    pub repeats_quietly: bool,
    /// `true` if an answer is requested again after a broken connection although it had begun.
    pub repeats_begun: bool,
    /// `true` if the session records, in an entry with an event, that an answer leaves the context before its
    /// repetition. Otherwise that information is lost with the process.
    pub notes_edits: bool,
    /// `true` if an answer that is repeated after a compaction leaves the context before the compaction, and clients
    /// see no retry. An answer that was cut off below the output limit of the model is then repeated in the same way.
    pub takes_back_first: bool,
    /// `true` if answers and results store their duration, and answers the thinking level of the request.
    pub notes_times: bool,
    /// `true` if answers store details of the provider; see [`crate::providers::Assembler::keeping_details`]. Summaries
    /// then store their usage.
    pub keeps_details: bool,
    /// `true` if a run lasts until no work follows it: also during the pause before a retry, and during an automatic
    /// compaction.
    pub runs_until_settled: bool,
    /// `true` if the pause before a retry rejects a prompt without a delivery, as a run does.
    /// Otherwise the prompt waits for the following run.
    pub pauses_refuse_prompts: bool,
    /// `true` if the statistics of a session cover its whole file; otherwise the context of the model.
    pub counts_whole_file: bool,
    /// `true` if clients receive events about automatic compactions that had nothing to do.
    pub tells_of_idle_compactions: bool,
    /// `true` if the end of an automatic compaction gives no reason when the conversation has just been compacted.
    pub silent_if_compacted: bool,
    /// `true` if the parts of a summary are requested one after the other; otherwise side by side.
    pub summarizes_in_turn: bool,
    /// `true` if a tool with progress output emits an empty update at its start.
    pub shows_beginnings: bool,
    /// `true` if results are also given as data; see [`crate::tools::ToolContext::as_data`].
    pub results_as_data: bool,
    /// `true` if a command of the user that a signal ended has the exit code that shells give it.
    /// Otherwise the command is treated as stopped.
    pub signals_have_codes: bool,
    /// `true` if commands of the user end with their session, and add nothing to the next one.
    pub commands_end_with_session: bool,
    /// `true` if switching to a session requires its directory to exist.
    pub needs_directory: bool,
    /// `true` if prompts that wait for starting extensions are started before the end of input stops all work.
    pub begins_what_waits: bool,
    /// `true` if extensions receive the request about the context before the events of the same moment; otherwise in
    /// the order of occurrence.
    pub context_comes_first: bool,
    /// `true` if extensions see a change of session as the end of one session and the start of the next; otherwise as a
    /// change.
    pub sessions_start_anew: bool,
}

impl Customs {
    /// The customs of pi.
    pub const PI: Self = Self {
        behavior: Behavior::FIRST,
        calls: Calls::OneByOne,
        interrupt: InterruptMode::Immediate,
        thinking: ThinkingLevel::Medium,
        levels: LevelCustoms::PI,
        branching: Branching::StopsTheRun,
        cut_answer: CutAnswer::Closed,
        compaction_drops_cut_answer: false,
        keeps_by_count: false,
        tells_of_notes: true,
        notes_are_prompts: false,
        exports_empty: false,
        reads_mentions: false,
        marks_mentions: false,
        needs_model: false,
        keeps_shell: false,
        empty_messages: false,
        intent: None,
        page_name: "pi-session",
        tools: &["read", "bash", "edit", "write"],
        lists_edits: false,
        tells_instructions: false,
        answers_begin_late: false,
        models_change_in_runs: false,
        closes_together: false,
        pieces_apart: Duration::ZERO,
        repeats_quietly: true,
        repeats_begun: true,
        notes_edits: false,
        takes_back_first: false,
        notes_times: false,
        keeps_details: false,
        runs_until_settled: false,
        pauses_refuse_prompts: false,
        counts_whole_file: false,
        tells_of_idle_compactions: true,
        silent_if_compacted: false,
        summarizes_in_turn: false,
        shows_beginnings: false,
        results_as_data: false,
        signals_have_codes: false,
        commands_end_with_session: false,
        needs_directory: false,
        begins_what_waits: false,
        context_comes_first: true,
        sessions_start_anew: false,
    };
}

impl Customs {
    /// Returns `true` if `reason` is omitted from the end of an automatic compaction that had nothing to do.
    pub(super) fn gives_no_reason(&self, reason: &str) -> bool {
        self.silent_if_compacted && reason == NothingToDo::AlreadyCompacted.to_string()
    }

    /// Returns a call in the form for tools.
    pub(super) fn as_tools_see(&self, call: &ToolCall) -> ToolCall {
        let mut call = call.clone();
        if let Some(intent) = self.intent {
            call.arguments.shift_remove(intent);
        }
        call
    }
}

impl Default for Customs {
    fn default() -> Self {
        Self::PI
    }
}
