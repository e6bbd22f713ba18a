//! Which result belongs to which question. The records `…Answers` are no frames: each member is named
//! after a question and has the type of its result.

use super::actions::ExtensionMessage;
use super::registration::Initialized;
use super::state::{HostState, SessionEntries};
use crate::dsl::protocol;
use crate::typed::{Any, Bool, List, Opt, OptNull, Str};
use crate::types::content::{ImageContent, InputBlock};
use crate::types::message::AgentMessage;
use crate::types::session::{BashResult, Cancellation, CompactionResult};

protocol! {
    /// What the user chose, entered or wrote.
    record ValueResult {
        /// The text; absent where nobody answered.
        value: Opt<Str>,
        /// What the client answered, where that is no text: `value` is absent then.
        other: Opt<Any>,
        ;
        example {"value": "red"}
    }

    /// Yes or no.
    record ConfirmedResult {
        /// False where nobody answered.
        confirmed: Bool,
        ;
        example {"confirmed": true}
    }

    /// Whether what was named is there.
    record FoundResult {
        /// False where it is not; nothing has changed then.
        found: Bool,
        ;
        example {"found": true}
    }

    /// The results of an extension's questions. Other questions are answered without a result.
    record HostAnswers {
        /// What the user chose.
        select: Opt<ValueResult>,
        /// What the user said.
        confirm: Opt<ConfirmedResult>,
        /// What the user entered.
        input: Opt<ValueResult>,
        /// What the user wrote.
        editor: Opt<ValueResult>,
        /// Whether there is such a model that can be used.
        set_model: Opt<FoundResult>,
        /// The result of a compaction.
        compact: Opt<CompactionResult>,
        /// Whether an extension stopped it.
        new_session: Opt<Cancellation>,
        /// Whether an extension stopped it.
        fork: Opt<Cancellation>,
        /// Whether an extension stopped it.
        switch_session: Opt<Cancellation>,
        /// The full state.
        get_state: Opt<HostState>,
        /// The entries.
        get_entries: Opt<SessionEntries>,
    }

    /// The result of a tool.
    record ToolResult {
        /// Text and images for the model.
        content: List<InputBlock>,
        /// Facts for a front end.
        details: OptNull<Any>,
        /// Whether it failed. A response with an error says the same, with the error as its text.
        isError: Opt<Bool>,
        ;
        example {"content": [{"type": "text", "text": "4 of 6"}], "details": {"roll": 4}}
    }

    /// The results of the agent's questions. A command has none; those of events are [`HookAnswers`].
    record ExtensionAnswers {
        /// Who is there.
        initialize: Opt<Initialized>,
        /// Who is there besides.
        load: Opt<Initialized>,
        /// The tool's result.
        tool: Opt<ToolResult>,
    }

    /// Where more skills and prompt templates are: files, or folders of them. Paths that are not absolute begin at
    /// the working directory.
    record ResourcesDiscoverAnswer {
        /// Skills.
        skillPaths: Opt<List<Str>>,
        /// Prompt templates.
        promptPaths: Opt<List<Str>>,
        /// Themes; they have no effect, for there is nothing to colour.
        themePaths: Opt<List<Str>>,
        ;
        example {"skillPaths": ["/home/user/notes/SKILL.md"], "promptPaths": ["/home/user/notes/prompts"]}
    }

    /// Whether something is stopped.
    record CancelAnswer {
        /// True stops it.
        cancel: Opt<Bool>,
        ;
        example {"cancel": true}
    }

    /// Whether a compaction is stopped, or what its summary is.
    record BeforeCompactAnswer {
        /// True stops it.
        cancel: Opt<Bool>,
        /// Takes the place of what the model would say.
        compaction: Opt<CompactionResult>,
    }

    /// How the user's input is handled.
    strings InputAction(closed) {
        /// They stay as they are.
        "continue",
        /// `text` (and `images`) replace the input.
        "transform",
        /// The extension handled the input: no run begins, and the prompt counts as accepted.
        "handled",
        /// The prompt is refused, and `text` says why.
        "refuse",
    }

    /// How the user's input is handled, with its replacement.
    record InputAnswer {
        /// What becomes of them.
        action: InputAction,
        /// The new text, or why the words are refused.
        text: Opt<Str>,
        /// The new images; the old ones where it is missing.
        images: Opt<List<ImageContent>>,
        ;
        example {"action": "transform", "text": "Briefly: what is this?"}
    }

    /// What is added to a run.
    record BeforeAgentStartAnswer {
        /// A message that goes with the user's.
        message: Opt<ExtensionMessage>,
        /// Replaces the system prompt of this run.
        systemPrompt: Opt<Str>,
    }

    /// What the model gets to see.
    record ContextAnswer {
        /// The messages; those of the event where it is missing.
        messages: Opt<List<AgentMessage>>,
    }

    /// Whether a tool runs.
    record ToolCallAnswer {
        /// True keeps it from running.
        block: Opt<Bool>,
        /// What the model is told instead.
        reason: Opt<Str>,
        ;
        example {"block": true, "reason": "Blocked by user"}
    }

    /// What takes the place of a tool's result; what is missing stays as it is.
    record ToolResultAnswer {
        /// Text and images for the model.
        content: Opt<List<InputBlock>>,
        /// Facts for a front end.
        details: OptNull<Any>,
        /// Whether it failed.
        isError: Opt<Bool>,
    }

    /// What takes the place of running a shell command.
    record UserBashAnswer {
        /// The result; the command does not run then.
        result: Opt<BashResult>,
    }

    /// The results of events, by the event's type. All others are answered without a result.
    record HookAnswers {
        /// Names more skills and prompt templates.
        resources_discover: Opt<ResourcesDiscoverAnswer>,
        /// Stops it.
        session_before_switch: Opt<CancelAnswer>,
        /// Stops it.
        session_before_fork: Opt<CancelAnswer>,
        /// Stops it, or gives the summary.
        session_before_compact: Opt<BeforeCompactAnswer>,
        /// Replaces the input, or drops it.
        input: Opt<InputAnswer>,
        /// Adds a message, replaces the system prompt.
        before_agent_start: Opt<BeforeAgentStartAnswer>,
        /// Replaces what the model gets to see.
        context: Opt<ContextAnswer>,
        /// Blocks it.
        tool_call: Opt<ToolCallAnswer>,
        /// Replaces it.
        tool_result: Opt<ToolResultAnswer>,
        /// Replaces the command: this is its result.
        user_bash: Opt<UserBashAnswer>,
    }
}
