//! The frames that an extension process sends.

use super::actions::{
    AbortAction, AppendEntryAction, CompactAction, ForkAction, GetEntriesAction, GetStateAction,
    NewSessionAction, RegisterAction, SendMessageAction, SendUserMessageAction, SetActiveToolsAction,
    SetLabelAction, SetModelAction, SetSessionNameAction, SetThinkingLevelAction, ShutdownAction,
    SwitchSessionAction, WaitForIdleAction,
};
use super::dialogs::{
    ConfirmQuestion, EditorQuestion, ExtensionEditorText, ExtensionNotice, ExtensionStatus, ExtensionTitle,
    ExtensionWidget, InputQuestion, QuestionWithdrawal, SelectQuestion,
};
use crate::dsl::protocol;
use crate::typed::{Any, List, Opt, OptNull, Str};
use crate::types::content::InputBlock;

protocol! {
    /// The answer to a request of the agent: a result as in `ExtensionAnswers` and `HookAnswers`, or an error.
    record ExtensionResponse(type = "response") {
        /// Id of the request.
        id: Str,
        /// The result; absent or null if there is none.
        result: OptNull<Any>,
        /// Error message of the request.
        error: Opt<Str>,
        ;
        example {"type": "response", "id": "7", "result": {"block": true, "reason": "Blocked by user"}}
    }

    /// A tool reports progress, which replaces its earlier progress.
    record ToolProgress(type = "tool_update") {
        /// Id of the agent's request.
        id: Str,
        /// Progress as text and images.
        content: List<InputBlock>,
        /// Details for a client.
        details: OptNull<Any>,
        ;
        example {
            "type": "tool_update", "id": "9", "content": [{"type": "text", "text": "rolling"}], "details": {"step": 1}
        }
    }

    /// A failure of an extension outside of a request, for example in the handler of an event without an answer, or in
    /// a timer. The client receives an `extension_error`.
    record ExtensionFailed(type = "failed") {
        /// Path of the extension.
        extension: Opt<Str>,
        /// Event that the extension was handling, or another description of its activity.
        event: Str,
        /// Error message of the extension.
        error: Str,
        /// Name of the channel, if a listener for messages between extensions failed. The client receives an
        /// `extension_error` for it since pi@1.6 only.
        channel: Opt<Str>,
        ;
        example {
            "type": "failed", "extension": "/home/user/.pi/agent/extensions/guard", "event": "agent_end",
            "error": "no such file"
        }
    }

    /// The level of a log line.
    strings LogLevel(open) {
        /// The line contains details for debugging.
        "debug",
        /// The line is information.
        "info",
        /// The line is a warning.
        "warning",
        /// The line is about an error.
        "error",
    }

    /// A line for the agent's log. The stderr of a process goes to the same log.
    record ExtensionLog(type = "log") {
        /// Level of the line.
        level: LogLevel,
        /// Text of the line.
        message: Str,
        ;
        example {"type": "log", "level": "info", "message": "watching 3 files"}
    }

    /// A frame of an extension process. A line that is not a frame goes to the agent's log. A request of an unknown
    /// type is answered with an error.
    union ExtensionFrame(type, open) {
        ExtensionResponse, ToolProgress, ExtensionFailed, ExtensionLog,
        SelectQuestion, ConfirmQuestion, InputQuestion, EditorQuestion, QuestionWithdrawal,
        ExtensionNotice, ExtensionStatus, ExtensionWidget, ExtensionTitle, ExtensionEditorText,
        SendMessageAction, SendUserMessageAction, AppendEntryAction, SetSessionNameAction, SetLabelAction, SetActiveToolsAction,
        SetModelAction, SetThinkingLevelAction, AbortAction, ShutdownAction, CompactAction, WaitForIdleAction, NewSessionAction, ForkAction,
        SwitchSessionAction, GetStateAction, GetEntriesAction, RegisterAction
    }
}
