//! The events that extensions are told of. Those whose answer counts say so; all others are told and
//! nobody waits.

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
    /// Why a session starts or ends.
    strings SessionReason(open) {
        /// The agent starts.
        "startup",
        /// The agent ends.
        "quit",
        /// A new session takes the place of another one.
        "new",
        /// One that is there already does.
        "resume",
        /// A fork does.
        "fork",
    }

    /// The extension's first event: the agent is ready. Where the agent is pi from 1.5 on, also whenever another session has
    /// taken the place of the one before; `session_switch` and `session_fork` do not come then. Waited for.
    record SessionStartHook(type = "session_start") {
        /// Why; said where the agent is pi from 1.5 on.
        reason: Opt<SessionReason>,
        /// The file of the session before, where there was one and it had a file.
        previousSessionFile: Opt<Str>,
        ;
        example {"type": "session_start", "reason": "new", "previousSessionFile": "/path/to/session.jsonl"}
    }

    /// Why resources are looked for.
    strings DiscoverReason(open) {
        /// The extension has just begun.
        "startup",
        /// Everything is loaded again.
        "reload",
    }

    /// After `session_start`: skills and prompt templates are looked for. The answer may name more of them.
    record ResourcesDiscoverHook(type = "resources_discover") {
        /// The working directory.
        cwd: Str,
        /// Why.
        reason: DiscoverReason,
        ;
        example {"type": "resources_discover", "cwd": "/home/user/project", "reason": "startup"}
    }

    /// Why the session changes.
    strings SwitchReason(open) {
        /// A new session.
        "new",
        /// One that is there already.
        "resume",
    }

    /// Another session is about to take the place of this one. The answer may stop it.
    record SessionBeforeSwitchHook(type = "session_before_switch") {
        /// Why.
        reason: SwitchReason,
        /// The file of the other session, where it has one already.
        targetSessionFile: Opt<Str>,
        ;
        example {"type": "session_before_switch", "reason": "resume", "targetSessionFile": "/path/to/session.jsonl"}
    }

    /// Another session has taken the place of the one before. Waited for.
    record SessionSwitchHook(type = "session_switch") {
        /// Why.
        reason: SwitchReason,
        /// The file of the one before, where it had one.
        previousSessionFile: Opt<Str>,
        ;
        example {"type": "session_switch", "reason": "new", "previousSessionFile": "/path/to/session.jsonl"}
    }

    /// A fork is about to be made. The answer may stop it.
    record SessionBeforeForkHook(type = "session_before_fork") {
        /// The entry from which it is made.
        entryId: Str,
        ;
        example {"type": "session_before_fork", "entryId": "a1b2c3d4"}
    }

    /// A fork was made and is the session now. Waited for.
    record SessionForkHook(type = "session_fork") {
        /// The file of the session before, where it had one.
        previousSessionFile: Opt<Str>,
        ;
        example {"type": "session_fork", "previousSessionFile": "/path/to/session.jsonl"}
    }

    /// The plan of a compaction.
    record CompactionPlan {
        /// The first session entry that would stay as it is.
        firstKeptEntryId: Str,
        /// Tokens in the context now, estimated.
        tokensBefore: Count,
        /// The messages that the summary would stand for.
        messagesToSummarize: List<AgentMessage>,
        /// The messages at the beginning of a turn that is cut in two; a summary of them stands before the
        /// rest of the turn.
        turnPrefixMessages: List<AgentMessage>,
        /// Whether a turn is cut in two.
        isSplitTurn: Bool,
        /// The summary that stands in the context now, where there is one.
        previousSummary: Opt<Str>,
    }

    /// The conversation is about to be compacted. The answer may stop it, or give the summary.
    record SessionBeforeCompactHook(type = "session_before_compact") {
        /// What is about to be done.
        preparation: CompactionPlan,
        /// The session's entries from the first one to the last.
        branchEntries: List<Object>,
        /// The user's extra instructions for the summary.
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

    /// The conversation was compacted. Waited for.
    record SessionCompactHook(type = "session_compact") {
        /// The session's entry that says so.
        compactionEntry: Object,
        /// Whether the summary came from an extension.
        fromExtension: Bool,
        ;
        example {"type": "session_compact", "compactionEntry": {"type": "compaction", "id": "a1b2c3d4"}, "fromExtension": false}
    }

    /// The session is about to end. Where the agent ends, all extensions together have two seconds; then stdin ends. Where the
    /// agent is pi from 1.5 on, also told when another session takes the place of this one: it is waited for within the limit
    /// of a hook, and `session_start` follows.
    record SessionShutdownHook(type = "session_shutdown") {
        /// Why; said where the agent is pi from 1.5 on.
        reason: Opt<SessionReason>,
        ;
        example {"type": "session_shutdown", "reason": "quit"}
    }

    /// Where input of the user comes from.
    strings InputSource(open) {
        /// From a terminal.
        "interactive",
        /// From a client.
        "rpc",
        /// From an extension.
        "extension",
    }

    /// The user sent input that has not been processed yet. The answer may replace or drop it.
    record InputHook(type = "input") {
        /// The words.
        text: Str,
        /// Images that go with them.
        images: Opt<List<ImageContent>>,
        /// Where they come from.
        source: InputSource,
        ;
        example {"type": "input", "text": "Hello!", "source": "rpc"}
    }

    /// A run is about to begin. The answer may add a message, and replace the system prompt of this run.
    record BeforeAgentStartHook(type = "before_agent_start") {
        /// The user's input after expansion.
        prompt: Str,
        /// Images that go with them.
        images: Opt<List<ImageContent>>,
        /// What the model is told beforehand, with what other extensions made of it.
        systemPrompt: Str,
        ;
        example {"type": "before_agent_start", "prompt": "Hello!", "systemPrompt": "You are a coding agent."}
    }

    /// The model is about to be asked. The answer may replace what it gets to see, this once.
    record ContextHook(type = "context") {
        /// The messages that it would see.
        messages: List<AgentMessage>,
        ;
        example {"type": "context", "messages": [{"role": "user", "content": "Hello!", "timestamp": 1733234567890}]}
    }

    /// A turn begins.
    record TurnStartHook(type = "turn_start") {
        /// Its number in the run, from 0.
        turnIndex: Count,
        /// When, in milliseconds since the epoch.
        timestamp: Int,
        ;
        example {"type": "turn_start", "turnIndex": 0, "timestamp": 1733234567890}
    }

    /// A turn is complete.
    record TurnEndHook(type = "turn_end") {
        /// Its number in the run, from 0.
        turnIndex: Count,
        /// The model's answer.
        message: AgentMessage,
        /// The results of the tools that it asked for.
        toolResults: List<ToolResultMessage>,
    }

    /// A tool is about to run. The answer may block it; without an answer it is blocked.
    record ToolCallHook(type = "tool_call") {
        /// The id of the call.
        toolCallId: Str,
        /// The tool's name.
        toolName: Str,
        /// The arguments.
        input: Object,
        ;
        example {"type": "tool_call", "toolCallId": "call_123", "toolName": "bash", "input": {"command": "rm -rf build"}}
    }

    /// A tool has run. The answer may replace its result.
    record ToolResultHook(type = "tool_result") {
        /// The id of the call.
        toolCallId: Str,
        /// The tool's name.
        toolName: Str,
        /// The arguments.
        input: Object,
        /// Text and images for the model.
        content: List<InputBlock>,
        /// Facts for a front end.
        details: OptNull<Any>,
        /// Whether it failed.
        isError: Bool,
        ;
        example {
            "type": "tool_result", "toolCallId": "call_123", "toolName": "bash", "input": {"command": "ls"},
            "content": [{"type": "text", "text": "total 48"}], "isError": false
        }
    }

    /// The user is about to run a shell command beside the conversation. The answer may give its result.
    record UserBashHook(type = "user_bash") {
        /// The command line.
        command: Str,
        /// True where the model does not get to see it.
        excludeFromContext: Bool,
        /// The working directory.
        cwd: Str,
        ;
        example {"type": "user_bash", "command": "ls -la", "excludeFromContext": false, "cwd": "/home/user/project"}
    }

    /// How a model was chosen.
    strings ModelSource(open) {
        /// By name.
        "set",
        /// As the next one in line.
        "cycle",
        /// With the session that was opened.
        "restore",
    }

    /// Another model is in use than before.
    record ModelSelectHook(type = "model_select") {
        /// The model.
        model: Model,
        /// The one before, or null where there was none.
        previousModel: Nullable<Model>,
        /// How it was chosen.
        source: ModelSource,
    }

    /// An event of the agent, told apart by `type`.
    union HookEvent(type, open) {
        SessionStartHook, ResourcesDiscoverHook, SessionBeforeSwitchHook, SessionSwitchHook, SessionBeforeForkHook, SessionForkHook,
        SessionBeforeCompactHook, SessionCompactHook, SessionShutdownHook, InputHook, BeforeAgentStartHook,
        ContextHook, AgentStart, AgentEnd, TurnStartHook, TurnEndHook, MessageStart, MessageUpdate, MessageEnd,
        ToolExecutionStart, ToolExecutionUpdate, ToolExecutionEnd, ToolCallHook, ToolResultHook, UserBashHook,
        ModelSelectHook
    }
}
