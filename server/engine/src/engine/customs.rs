//! How an engine behaves where agents differ. A front says it once; nothing in the engine asks for a dialect.

use std::time::Duration;

use agentese::spec::Behavior;
use agentese::types::{InterruptMode, ThinkingLevel, ToolCall};

use super::compaction::NothingToDo;
use crate::providers::LevelCustoms;

/// In which way the tool calls of one answer are carried out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Calls {
    /// One after another.
    #[default]
    OneByOne,
    /// Those that may ([`crate::tools::Tool::shared`]) side by side, the others alone. Ends and results stand in the order
    /// of the calls.
    SideBySide,
    /// All of them side by side. Ends and results stand in the order of the calls.
    Together,
}

/// What becomes of a run while its conversation goes on in a branch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Branching {
    /// It is stopped first.
    #[default]
    StopsTheRun,
    /// It goes on, and what it still says stands in the branch.
    TakesItAlong,
}

/// How an answer ends that was stopped in the middle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CutAnswer {
    /// The block that was open is closed, where the model's API has it so, and its calls are left alone.
    #[default]
    Closed,
    /// As it is; each of its calls gets an error as its result.
    WithResults,
}

/// The ways of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Customs {
    /// Behavior that the revision declares.
    pub behavior: Behavior,
    /// How the calls of one answer are carried out.
    pub calls: Calls,
    /// When steering reaches the run, until a client says otherwise.
    pub interrupt: InterruptMode,
    /// How hard models think unless somebody says otherwise.
    pub thinking: ThinkingLevel,
    /// What is said of the levels that models have.
    pub levels: LevelCustoms,
    /// What a branch means to the run that is going on.
    pub branching: Branching,
    /// How an answer ends that was stopped.
    pub cut_answer: CutAnswer,
    /// Whether an answer that a compaction has stopped leaves the context with it; the session's file keeps it.
    pub compaction_drops_cut_answer: bool,
    /// Whether a compaction keeps as many tokens as the provider counts; else as many as are estimated.
    pub keeps_by_count: bool,
    /// Whether clients are told of messages that extensions put into an idle conversation.
    pub tells_of_notes: bool,
    /// Whether extensions are asked about runs that begin with such a message, as about those that begin with the user's words.
    pub notes_are_prompts: bool,
    /// Whether a session in which nothing was said can be exported.
    pub exports_empty: bool,
    /// Whether files that a prompt mentions with `@` are read for the model.
    pub reads_mentions: bool,
    /// Whether each line of such a file has a mark before it: its number, and two letters that follow from its text.
    pub marks_mentions: bool,
    /// Whether the agent only starts where there is a model to ask.
    pub needs_model: bool,
    /// Whether a command of the user finds the directory and the variables that the one before it left.
    pub keeps_shell: bool,
    /// True if a message with an empty text is accepted, and the model is informed that it is empty.
    /// Otherwise the message is refused, as every other blank message is.
    pub empty_messages: bool,
    /// The argument in which a model says what a call is for. It stays in the model's answer; tools, and those who are
    /// told of calls, do not see it.
    pub intent: Option<&'static str>,
    /// What the name of an exported page begins with, where the client gives none.
    pub page_name: &'static str,
    /// The names of the tools that are there where nobody chooses.
    pub tools: &'static [&'static str],
    /// Whether the tool `edit` takes a list of replacements; else one. See [`crate::tools::Edit`].
    pub lists_edits: bool,
    /// Whether a conversation begins with a message of what the model is told beforehand: the sections of the prompt, and
    /// the tools.
    pub tells_instructions: bool,
    /// Whether an answer is told of when the first of it is there; else when the model is asked.
    pub answers_begin_late: bool,
    /// Whether a model or a level that is chosen while a run goes on counts from its next turn on; else from the next run.
    pub models_change_in_runs: bool,
    /// Whether the blocks of an answer close together at its end, where the model's API lets them grow side by side.
    pub closes_together: bool,
    /// How long after a piece of an answer the next one is told at the soonest: what comes meanwhile is one piece, and
    /// told before anything else is. Zero where each piece is told as it comes.
    pub pieces_apart: Duration,
    /// Whether a request that fails for now is made again before anybody hears of the failure.
    pub repeats_quietly: bool,
    /// Whether an answer whose connection broke is asked for again although it had begun.
    pub repeats_begun: bool,
    /// Whether an answer that is asked for again is taken from the context by an entry of its own, of which clients are
    /// told. Else that is forgotten with the process.
    pub notes_edits: bool,
    /// Whether an answer that has to be asked for again after a compaction is taken from the context before it, and is no
    /// retry to clients; and whether one that was cut off below what the model can say is such an answer.
    pub takes_back_first: bool,
    /// Whether answers and results keep how long they took, and answers how hard the model was asked to think.
    pub notes_times: bool,
    /// Whether answers keep what only the provider knows of them; see [`crate::providers::Assembler::keeping_details`].
    /// Summaries keep what they took, too.
    pub keeps_details: bool,
    /// Whether a run counts as going on until nothing follows it: also in the pause before a retry, and while the agent
    /// compacts on its own.
    pub runs_until_settled: bool,
    /// Whether a prompt that does not say how it joins a run is refused in the pause before a retry, as in a run; else it
    /// waits for the run that follows.
    pub pauses_refuse_prompts: bool,
    /// Whether the figures of a session are those of its whole file; else of what the model sees.
    pub counts_whole_file: bool,
    /// Whether clients are told of compactions of the agent's own that had nothing to do.
    pub tells_of_idle_compactions: bool,
    /// True if the end of an automatic compaction gives no reason when the conversation has just been
    /// compacted.
    pub silent_if_compacted: bool,
    /// Whether the parts of a summary are asked for one after the other; else side by side.
    pub summarizes_in_turn: bool,
    /// Whether clients are told that a tool begins which shows what it does, before there is anything to show.
    pub shows_beginnings: bool,
    /// Whether results are made as data, too; see [`crate::tools::ToolContext::as_data`].
    pub results_as_data: bool,
    /// Whether a command of the user that a signal ended has the exit code that shells give it; else it counts as
    /// stopped.
    pub signals_have_codes: bool,
    /// Whether commands of the user end with the session in which they run, and leave nothing in the next one.
    pub commands_end_with_session: bool,
    /// Whether a session can only be gone to while its directory is there.
    pub needs_directory: bool,
    /// Whether prompts that wait for extensions which still start are begun before the end of input stops everything.
    pub begins_what_waits: bool,
    /// Whether extensions are asked about the context before they are told what happened in the same moment; else in the
    /// order in which it happened.
    pub context_comes_first: bool,
    /// Whether another session is to extensions the end of one and the start of the next; else it is told as a change.
    pub sessions_start_anew: bool,
}

impl Customs {
    /// Those of pi.
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
    /// Returns true if `reason` is left out of the end of an automatic compaction that had nothing to do.
    pub(super) fn gives_no_reason(&self, reason: &str) -> bool {
        self.silent_if_compacted && reason == NothingToDo::AlreadyCompacted.to_string()
    }

    /// A call as tools see it.
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
