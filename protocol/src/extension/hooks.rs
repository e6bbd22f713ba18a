//! The events that the agent sends to extensions. An event whose answer has an effect documents it; the agent sends all
//! other events without waiting.

use crate::dialects::pi::events::{
    AgentEnd, AgentStart, MessageEnd, MessageStart, MessageUpdate, ToolExecutionEnd, ToolExecutionStart,
    ToolExecutionUpdate,
};
use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, Int, List, Nullable, Object, Opt, OptNull, Str};
use crate::types::content::{ImageContent, InputBlock};
use crate::types::message::{AgentMessage, ToolResultMessage};
use crate::types::model::Model;

protocol! {
    /// The reason for the start or end of a session.
    strings SessionReason(open) {
        /// The session starts because the agent starts.
        "startup",
        /// The session ends because the agent ends.
        "quit",
        /// A new session replaces another one.
        "new",
        /// A stored session replaces another one.
        "resume",
        /// A fork replaces another session.
        "fork",
    }

    /// The extension's first event: the agent is ready. In pi since 1.5, also sent after each change of the session,
    /// instead of `session_switch` and `session_fork`. The agent waits for the response.
    record SessionStartHook(type = "session_start") {
        /// Reason for the start; present in pi since 1.5.
        reason: Opt<SessionReason>,
        /// Path of the previous session's file, if there is one.
        previousSessionFile: Opt<Str>,
        ;
        example {"type": "session_start", "reason": "new", "previousSessionFile": "/path/to/session.jsonl"}
    }

    /// The reason for the search for resources.
    strings DiscoverReason(open) {
        /// The extension has just started.
        "startup",
        /// All extensions and resources are reloaded.
        "reload",
    }

    /// The search for skills and prompt templates, after `session_start`. The answer may add further ones.
    record ResourcesDiscoverHook(type = "resources_discover") {
        /// Working directory of the session.
        cwd: Str,
        /// Reason for the search.
        reason: DiscoverReason,
        ;
        example {"type": "resources_discover", "cwd": "/home/user/project", "reason": "startup"}
    }

    /// The reason for a change of the session.
    strings SwitchReason(open) {
        /// A new session was requested.
        "new",
        /// A stored session was requested.
        "resume",
    }

    /// Another session is about to replace the current one. The answer may prevent it.
    record SessionBeforeSwitchHook(type = "session_before_switch") {
        /// Reason for the change.
        reason: SwitchReason,
        /// Path of the new session's file, if it exists already.
        targetSessionFile: Opt<Str>,
        ;
        example {"type": "session_before_switch", "reason": "resume", "targetSessionFile": "/path/to/session.jsonl"}
    }

    /// Another session has replaced the previous one. The agent waits for the response.
    record SessionSwitchHook(type = "session_switch") {
        /// Reason for the change.
        reason: SwitchReason,
        /// Path of the previous session's file, if it had one.
        previousSessionFile: Opt<Str>,
        ;
        example {"type": "session_switch", "reason": "new", "previousSessionFile": "/path/to/session.jsonl"}
    }

    /// A fork is about to be made. The answer may prevent it.
    record SessionBeforeForkHook(type = "session_before_fork") {
        /// Id of the entry for the fork.
        entryId: Str,
        ;
        example {"type": "session_before_fork", "entryId": "a1b2c3d4"}
    }

    /// A fork has become the current session. The agent waits for the response.
    record SessionForkHook(type = "session_fork") {
        /// Path of the previous session's file, if it had one.
        previousSessionFile: Opt<Str>,
        ;
        example {"type": "session_fork", "previousSessionFile": "/path/to/session.jsonl"}
    }

    /// The plan of a compaction.
    record CompactionPlan {
        /// Id of the first session entry that would stay unchanged.
        firstKeptEntryId: Str,
        /// Estimated number of tokens in the context now.
        tokensBefore: Count,
        /// The messages that the summary would replace.
        messagesToSummarize: List<AgentMessage>,
        /// The messages at the start of a turn that the compaction splits; a separate summary of them precedes the rest
        /// of the turn.
        turnPrefixMessages: List<AgentMessage>,
        /// `true` if the compaction splits a turn.
        isSplitTurn: Bool,
        /// The previous summary in the context, if there is one.
        previousSummary: Opt<Str>,
    }

    /// A compaction is about to start. The answer may prevent it, or provide the summary.
    record SessionBeforeCompactHook(type = "session_before_compact") {
        /// Plan of the compaction.
        preparation: CompactionPlan,
        /// Entries of the session from the first to the last.
        branchEntries: List<Object>,
        /// Extra instructions of the user for the summary.
        customInstructions: Opt<Str>,
        ;
        example {
            "type": "session_before_compact", "branchEntries": [],
            "preparation": {
                "firstKeptEntryId": "a1b2c3d4", "tokensBefore": 150000, "messagesToSummarize": [],
                "turnPrefixMessages": [], "isSplitTurn": false
            }
        }
    }

    /// The conversation was compacted. The agent waits for the response.
    record SessionCompactHook(type = "session_compact") {
        /// The session entry of the compaction.
        compactionEntry: Object,
        /// `true` if an extension wrote the summary.
        fromExtension: Bool,
        ;
        example {"type": "session_compact", "compactionEntry": {"type": "compaction", "id": "a1b2c3d4"}, "fromExtension": false}
    }

    /// The session is about to end. If the agent itself ends, all extensions together have two seconds before stdin
    /// closes. In pi since 1.5, also sent before another session replaces this one. The agent then waits for the
    /// response within the time limit of a hook, and `session_start` follows.
    record SessionShutdownHook(type = "session_shutdown") {
        /// Reason for the end; present in pi since 1.5.
        reason: Opt<SessionReason>,
        ;
        example {"type": "session_shutdown", "reason": "quit"}
    }

    /// The source of the user's input.
    strings InputSource(open) {
        /// The user typed the input in a terminal.
        "interactive",
        /// A client sent the input.
        "rpc",
        /// An extension sent the input.
        "extension",
    }

    /// Input of the user that is not processed yet. The answer may replace or drop it.
    record InputHook(type = "input") {
        /// Text of the input.
        text: Str,
        /// Images of the input.
        images: Opt<List<ImageContent>>,
        /// Source of the input.
        source: InputSource,
        ;
        example {"type": "input", "text": "Hello!", "source": "rpc"}
    }

    /// A run is about to start. The answer may add a message, and replace the system prompt of this run.
    record BeforeAgentStartHook(type = "before_agent_start") {
        /// The user's input after expansion.
        prompt: Str,
        /// Images of the input.
        images: Opt<List<ImageContent>>,
        /// System prompt, with the changes of other extensions.
        systemPrompt: Str,
        ;
        example {"type": "before_agent_start", "prompt": "Hello!", "systemPrompt": "You are a coding agent."}
    }

    /// A request to the model is about to be sent. The answer may replace its messages for this request only.
    record ContextHook(type = "context") {
        /// Messages of the request.
        messages: List<AgentMessage>,
        ;
        example {"type": "context", "messages": [{"role": "user", "content": "Hello!", "timestamp": 1733234567890}]}
    }

    /// A turn starts.
    record TurnStartHook(type = "turn_start") {
        /// Number of the turn in the run, from 0.
        turnIndex: Count,
        /// Time of the event in milliseconds since the epoch.
        timestamp: Int,
        ;
        example {"type": "turn_start", "turnIndex": 0, "timestamp": 1733234567890}
    }

    /// A turn ends.
    record TurnEndHook(type = "turn_end") {
        /// Number of the turn in the run, from 0.
        turnIndex: Count,
        /// Answer of the model.
        message: AgentMessage,
        /// Results of the tool calls in the answer.
        toolResults: List<ToolResultMessage>,
    }

    /// A tool is about to run. The answer may block it. Without an answer, the tool is blocked.
    record ToolCallHook(type = "tool_call") {
        /// Id of the tool call.
        toolCallId: Str,
        /// Name of the tool.
        toolName: Str,
        /// Arguments of the tool call.
        input: Object,
        ;
        example {"type": "tool_call", "toolCallId": "call_123", "toolName": "bash", "input": {"command": "rm -rf build"}}
    }

    /// A tool has run. The answer may replace its result.
    record ToolResultHook(type = "tool_result") {
        /// Id of the tool call.
        toolCallId: Str,
        /// Name of the tool.
        toolName: Str,
        /// Arguments of the tool call.
        input: Object,
        /// Text and images for the model.
        content: List<InputBlock>,
        /// Details for a client.
        details: OptNull<Any>,
        /// `true` if the tool failed.
        isError: Bool,
        ;
        example {
            "type": "tool_result", "toolCallId": "call_123", "toolName": "bash", "input": {"command": "ls"},
            "content": [{"type": "text", "text": "total 48"}], "isError": false
        }
    }

    /// The user is about to run a shell command outside of the conversation. The answer may provide its result.
    record UserBashHook(type = "user_bash") {
        /// Command line of the shell command.
        command: Str,
        /// `true` if the model does not receive the command and its output.
        excludeFromContext: Bool,
        /// Working directory of the shell command.
        cwd: Str,
        ;
        example {"type": "user_bash", "command": "ls -la", "excludeFromContext": false, "cwd": "/home/user/project"}
    }

    /// The method by which a model was selected.
    strings ModelSource(open) {
        /// Selection by name.
        "set",
        /// Selection as the next model of the cycle.
        "cycle",
        /// Selection with the session that was opened.
        "restore",
    }

    /// The model was changed.
    record ModelSelectHook(type = "model_select") {
        /// New model of the session.
        model: Model,
        /// The previous model, or null if there was none.
        previousModel: Nullable<Model>,
        /// Method of the selection.
        source: ModelSource,
    }

    /// An event for extensions; `type` determines the variant.
    union HookEvent(type, open) {
        SessionStartHook, ResourcesDiscoverHook, SessionBeforeSwitchHook, SessionSwitchHook, SessionBeforeForkHook, SessionForkHook,
        SessionBeforeCompactHook, SessionCompactHook, SessionShutdownHook, InputHook, BeforeAgentStartHook,
        ContextHook, AgentStart, AgentEnd, TurnStartHook, TurnEndHook, MessageStart, MessageUpdate, MessageEnd,
        ToolExecutionStart, ToolExecutionUpdate, ToolExecutionEnd, ToolCallHook, ToolResultHook, UserBashHook,
        ModelSelectHook
    }
}
