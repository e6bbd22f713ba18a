//! The results of requests. The records `…Answers` are not frames: each member is named after a request and has the
//! type of its result.

use super::actions::ExtensionMessage;
use super::registration::InitializeResult;
use super::state::{HostState, SessionEntries};
use crate::dsl::protocol;
use crate::typed::{Any, Bool, List, Opt, OptNull, Str};
use crate::types::content::{ImageContent, InputBlock};
use crate::types::message::AgentMessage;
use crate::types::session::{BashResult, Cancellation, CompactionResult};

protocol! {
    /// The choice or text of the user.
    record ValueResult {
        /// The text; absent if the user did not answer.
        value: Opt<Str>,
        /// The client's answer if it is not text; `value` is then absent.
        other: Opt<Any>,
        ;
        example {"value": "red"}
    }

    /// The user's answer with yes or no.
    record ConfirmationResult {
        /// `true` for yes; `false` for no or if the user did not answer.
        confirmed: Bool,
        ;
        example {"confirmed": true}
    }

    /// The outcome of a request to switch to another model.
    record SetModelResult {
        /// `true` if the model was found. If `false`, the request had no effect.
        found: Bool,
        ;
        example {"found": true}
    }

    /// The results of an extension's requests. Requests without a member are answered without a result.
    record HostAnswers {
        /// The choice of the user.
        select: Opt<ValueResult>,
        /// The answer of the user.
        confirm: Opt<ConfirmationResult>,
        /// The entered text of the user.
        input: Opt<ValueResult>,
        /// The edited text of the user.
        editor: Opt<ValueResult>,
        /// `true` in `found` if the model exists and is available.
        set_model: Opt<SetModelResult>,
        /// The result of a compaction.
        compact: Opt<CompactionResult>,
        /// Result of the new session; an extension can prevent it.
        new_session: Opt<Cancellation>,
        /// Result of the fork; an extension can prevent it.
        fork: Opt<Cancellation>,
        /// Result of the switch; an extension can prevent it.
        switch_session: Opt<Cancellation>,
        /// Complete state of the agent.
        get_state: Opt<HostState>,
        /// Entries of the session.
        get_entries: Opt<SessionEntries>,
    }

    /// The result of a tool.
    record ToolResult {
        /// Text and images for the model.
        content: List<InputBlock>,
        /// Details for a client.
        details: OptNull<Any>,
        /// `true` if the tool failed. A response with an error has the same effect, with the error as its text.
        isError: Opt<Bool>,
        ;
        example {"content": [{"type": "text", "text": "4 of 6"}], "details": {"roll": 4}}
    }

    /// The results of the agent's requests. A command has no result; the results of events are in [`HookAnswers`].
    record ExtensionAnswers {
        /// The extensions of the process.
        initialize: Opt<InitializeResult>,
        /// The additionally loaded extensions.
        load: Opt<InitializeResult>,
        /// Result of the tool.
        tool: Opt<ToolResult>,
    }

    /// The locations of additional skills and prompt templates: files, or folders of files. Relative paths start at the
    /// working directory.
    record ResourcesDiscoverAnswer {
        /// Paths of skills.
        skillPaths: Opt<List<Str>>,
        /// Paths of prompt templates.
        promptPaths: Opt<List<Str>>,
        /// Paths of themes; they have no effect.
        themePaths: Opt<List<Str>>,
        ;
        example {"skillPaths": ["/home/user/notes/SKILL.md"], "promptPaths": ["/home/user/notes/prompts"]}
    }

    /// The decision of an extension to prevent an operation.
    record CancelAnswer {
        /// `true` to prevent the operation.
        cancel: Opt<Bool>,
        ;
        example {"cancel": true}
    }

    /// The decision of an extension to prevent a compaction, or a summary for it.
    record BeforeCompactAnswer {
        /// `true` to prevent the compaction.
        cancel: Opt<Bool>,
        /// Result that replaces the summary of the model.
        compaction: Opt<CompactionResult>,
    }

    /// The handling of the user's input.
    strings InputAction(closed) {
        /// The input stays unchanged.
        "continue",
        /// `text` (and `images`) replace the input.
        "transform",
        /// The extension handled the input: no run starts, and the prompt is accepted.
        "handled",
        /// The prompt is rejected, and `text` states the reason.
        "refuse",
    }

    /// The handling of the user's input, with a replacement.
    record InputAnswer {
        /// Handling of the input.
        action: InputAction,
        /// The new text, or the reason for the rejection.
        text: Opt<Str>,
        /// The new images; the old ones if absent.
        images: Opt<List<ImageContent>>,
        ;
        example {"action": "transform", "text": "Briefly: what is this?"}
    }

    /// Additions to a run.
    record BeforeAgentStartAnswer {
        /// Message to add to the user's message.
        message: Opt<ExtensionMessage>,
        /// Text that replaces the system prompt of this run.
        systemPrompt: Opt<Str>,
    }

    /// The messages that the model receives.
    record ContextAnswer {
        /// The messages; the messages of the event if absent.
        messages: Opt<List<AgentMessage>>,
    }

    /// The decision of an extension about a tool call.
    record ToolCallAnswer {
        /// `true` to block the tool.
        block: Opt<Bool>,
        /// Reason for the model if the tool is blocked.
        reason: Opt<Str>,
        ;
        example {"block": true, "reason": "Blocked by user"}
    }

    /// The replacement for a tool's result; absent members stay unchanged.
    record ToolResultAnswer {
        /// Text and images for the model.
        content: Opt<List<InputBlock>>,
        /// Details for a client.
        details: OptNull<Any>,
        /// `true` if the tool failed.
        isError: Opt<Bool>,
    }

    /// The replacement for the execution of a shell command.
    record UserBashAnswer {
        /// The result; if present, the command does not run.
        result: Opt<BashResult>,
    }

    /// The results of events, by the event's type. All other events are answered without a result.
    record HookAnswers {
        /// Additional skills and prompt templates.
        resources_discover: Opt<ResourcesDiscoverAnswer>,
        /// Decision to prevent the switch.
        session_before_switch: Opt<CancelAnswer>,
        /// Decision to prevent the fork.
        session_before_fork: Opt<CancelAnswer>,
        /// Decision to prevent the compaction, or its summary.
        session_before_compact: Opt<BeforeCompactAnswer>,
        /// Replacement or rejection of the input.
        input: Opt<InputAnswer>,
        /// Additional message, or replacement of the system prompt.
        before_agent_start: Opt<BeforeAgentStartAnswer>,
        /// Replacement of the messages for the model.
        context: Opt<ContextAnswer>,
        /// Decision to block the tool.
        tool_call: Opt<ToolCallAnswer>,
        /// Replacement of the tool's result.
        tool_result: Opt<ToolResultAnswer>,
        /// Result that replaces the execution of the command.
        user_bash: Opt<UserBashAnswer>,
    }
}
