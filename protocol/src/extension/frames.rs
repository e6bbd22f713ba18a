//! Frames that an extension process sends.

use super::actions::{
    DoAbort, DoAppendEntry, DoCompact, DoFork, DoGetEntries, DoGetState, DoNewSession, DoRegister,
    DoSendMessage, DoSendUserMessage, DoSetActiveTools, DoSetLabel, DoSetModel, DoSetSessionName,
    DoSetThinkingLevel, DoShutdown, DoSwitchSession, DoWaitForIdle,
};
use super::dialogs::{
    AskConfirm, AskEditor, AskInput, AskSelect, AskWithdraw, ShowEditorText, ShowNotice, ShowStatus,
    ShowTitle, ShowWidget,
};
use crate::dsl::protocol;
use crate::typed::{Any, List, Opt, OptNull, Str};
use crate::types::content::InputBlock;

protocol! {
    /// The answer to a question of the agent: a result as `ExtensionAnswers` and `HookAnswers` say, or
    /// an error.
    record ExtensionResponse(type = "response") {
        /// The id of the question.
        id: Str,
        /// The result; absent or null where there is none.
        result: OptNull<Any>,
        /// The error message.
        error: Opt<Str>,
        ;
        example {"type": "response", "id": "7", "result": {"block": true, "reason": "Blocked by user"}}
    }

    /// A tool has something to show; it replaces what it showed before.
    record ToolProgress(type = "tool_update") {
        /// The id of the agent's question.
        id: Str,
        /// Text and images.
        content: List<InputBlock>,
        /// Facts for a front end.
        details: OptNull<Any>,
        ;
        example {
            "type": "tool_update", "id": "9", "content": [{"type": "text", "text": "rolling"}], "details": {"step": 1}
        }
    }

    /// Something failed in an extension although nobody waits for an answer: in the handler of an event
    /// that was only told, in a timer. The client gets an `extension_error`.
    record ExtensionFailed(type = "failed") {
        /// The extension.
        extension: Opt<Str>,
        /// The event that it handled, or what else it was at.
        event: Str,
        /// The error message.
        error: Str,
        /// The channel, if a listener failed by which extensions talk to each other. The client gets an `extension_error` from
        /// pi@1.6 on only.
        channel: Opt<Str>,
        ;
        example {
            "type": "failed", "extension": "/home/user/.pi/agent/extensions/guard", "event": "agent_end",
            "error": "no such file"
        }
    }

    /// How much a log line matters.
    strings LogLevel(open) {
        /// Details for debugging.
        "debug",
        /// Worth knowing.
        "info",
        /// A warning.
        "warning",
        /// An error.
        "error",
    }

    /// A line for the agent's log. What a process writes on stderr goes there too.
    record ExtensionLog(type = "log") {
        /// How much it matters.
        level: LogLevel,
        /// The line.
        message: Str,
        ;
        example {"type": "log", "level": "info", "message": "watching 3 files"}
    }

    /// A frame that an extension process sends. A line that is not a frame goes to the agent's log; a question of
    /// a type that the agent does not know is answered with an error.
    union ExtensionFrame(type, open) {
        ExtensionResponse, ToolProgress, ExtensionFailed, ExtensionLog,
        AskSelect, AskConfirm, AskInput, AskEditor, AskWithdraw,
        ShowNotice, ShowStatus, ShowWidget, ShowTitle, ShowEditorText,
        DoSendMessage, DoSendUserMessage, DoAppendEntry, DoSetSessionName, DoSetLabel, DoSetActiveTools,
        DoSetModel, DoSetThinkingLevel, DoAbort, DoShutdown, DoCompact, DoWaitForIdle, DoNewSession, DoFork,
        DoSwitchSession, DoGetState, DoGetEntries, DoRegister
    }
}
