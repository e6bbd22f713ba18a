//! Actions of an extension on the agent. The agent answers an action with an id and reports a rejection in the answer.
//! Without an id, it reports a rejection to the client as `extension_error`.

use super::registration::OfferedExtension;
use crate::dsl::protocol;
use crate::typed::{Any, Bool, List, Opt, OptNull, Str};
use crate::types::content::InputContent;
use crate::types::model::ThinkingLevel;

protocol! {
    /// The time at which a message reaches the model.
    strings DeliverAs(closed) {
        /// The agent delivers the message as soon as possible: after the running tool. It skips the remaining
        /// tools.
        "steer",
        /// The agent delivers the message at the end of the run, if it would otherwise stop.
        "followUp",
        /// The agent delivers the message with the user's next prompt. The message neither interrupts nor
        /// starts a run.
        "nextTurn",
    }

    /// A message of a kind that an extension defines.
    record ExtensionMessage {
        /// Kind of the message, named by the extension.
        customType: Str,
        /// Content of the message: text or blocks.
        content: InputContent,
        /// `true` if a client should show the message.
        display: Bool,
        /// Details for a client.
        details: OptNull<Any>,
        ;
        example {"customType": "note", "content": "Remember the tests.", "display": true, "details": {"a": 1}}
    }

    /// Adds an extension's message to the conversation.
    record SendMessageAction(type = "send_message") {
        /// Id of the request.
        id: Opt<Str>,
        /// Path of the extension that sends the message.
        extension: Opt<Str>,
        /// Message of the extension.
        message: ExtensionMessage,
        /// `true` to start a run if the agent is idle.
        triggerTurn: Opt<Bool>,
        /// Time of delivery during a run; `steer` if absent.
        deliverAs: Opt<DeliverAs>,
        ;
        example {
            "type": "send_message", "triggerTurn": true,
            "message": {"customType": "note", "content": "please answer", "display": true}
        }
    }

    /// Sends a message as the user. If the agent is idle, it starts a run. During a run, `deliverAs` must state the
    /// time of delivery.
    record SendUserMessageAction(type = "send_user_message") {
        /// Id of the request.
        id: Opt<Str>,
        /// Path of the extension that sends the message.
        extension: Opt<Str>,
        /// Text and images of the message.
        content: InputContent,
        /// Time of delivery: `steer` or `followUp`.
        deliverAs: Opt<DeliverAs>,
        ;
        example {"type": "send_user_message", "content": "Run the tests.", "deliverAs": "followUp"}
    }

    /// Stores data in the session; the model does not receive it.
    record AppendEntryAction(type = "append_entry") {
        /// Id of the request.
        id: Opt<Str>,
        /// Path of the extension that stores the data.
        extension: Opt<Str>,
        /// Kind of the entry, named by the extension.
        customType: Str,
        /// Data of the extension.
        data: OptNull<Any>,
        ;
        example {"type": "append_entry", "customType": "my-state", "data": {"n": 1}}
    }

    /// Sets the name of the session.
    record SetSessionNameAction(type = "set_session_name") {
        /// Id of the request.
        id: Opt<Str>,
        /// New name of the session.
        name: Str,
        ;
        example {"type": "set_session_name", "name": "my-feature-work"}
    }

    /// Sets or removes the label of a session entry.
    record SetLabelAction(type = "set_label") {
        /// Id of the request.
        id: Opt<Str>,
        /// Id of the entry.
        entryId: Str,
        /// The label; absent or null to remove it.
        label: OptNull<Str>,
        ;
        example {"type": "set_label", "entryId": "a1b2c3d4", "label": "before the refactoring"}
    }

    /// Sets the tools that the model can call from the next request on. Unknown names are ignored.
    record SetActiveToolsAction(type = "set_active_tools") {
        /// Id of the request.
        id: Opt<Str>,
        /// Names of the tools.
        tools: List<Str>,
        ;
        example {"type": "set_active_tools", "tools": ["read", "grep", "find", "ls"]}
    }

    /// Switches to another model. Answered with `SetModelResult`.
    record SetModelAction(type = "set_model") {
        /// Id of the request.
        id: Opt<Str>,
        /// Name of the provider.
        provider: Str,
        /// Id of the model.
        modelId: Str,
        ;
        example {"type": "set_model", "id": "11", "provider": "anthropic", "modelId": "claude-sonnet-4-20250514"}
    }

    /// Sets the thinking level; an unsupported level becomes the nearest supported one.
    record SetThinkingLevelAction(type = "set_thinking_level") {
        /// Id of the request.
        id: Opt<Str>,
        /// New thinking level.
        level: ThinkingLevel,
        ;
        example {"type": "set_thinking_level", "level": "high"}
    }

    /// Stops the current run. Answered at once.
    record AbortAction(type = "abort") {
        /// Id of the request.
        id: Opt<Str>,
        ;
        example {"type": "abort"}
    }

    /// Ends the agent as soon as it is idle. Answered at once.
    record ShutdownAction(type = "shutdown") {
        /// Id of the request.
        id: Opt<Str>,
        ;
        example {"type": "shutdown"}
    }

    /// Compacts the conversation. The answer with the result follows at the end.
    record CompactAction(type = "compact") {
        /// Id of the request.
        id: Opt<Str>,
        /// Extra instructions for the summary.
        customInstructions: Opt<Str>,
        ;
        example {"type": "compact", "id": "12"}
    }

    /// Waits until no run, retry or compaction is in progress. Only allowed in commands, because an event would wait
    /// for itself.
    record WaitForIdleAction(type = "wait_for_idle") {
        /// Id of the request.
        id: Str,
        ;
        example {"type": "wait_for_idle", "id": "13"}
    }

    /// Starts a new session. Only allowed in commands. The answer states if an extension prevented it.
    record NewSessionAction(type = "new_session") {
        /// Id of the request.
        id: Opt<Str>,
        /// File of the parent session.
        parentSession: Opt<Str>,
        ;
        example {"type": "new_session", "id": "14"}
    }

    /// Forks the session before a message of the user. Only allowed in commands. The answer states if an extension
    /// prevented it.
    record ForkAction(type = "fork") {
        /// Id of the request.
        id: Opt<Str>,
        /// Id of the message's entry.
        entryId: Str,
        ;
        example {"type": "fork", "id": "15", "entryId": "a1b2c3d4"}
    }

    /// Switches to another session. Only allowed in commands. The answer states if an extension prevented it.
    record SwitchSessionAction(type = "switch_session") {
        /// Id of the request.
        id: Opt<Str>,
        /// Path of the session file.
        path: Str,
        ;
        example {"type": "switch_session", "id": "16", "path": "/path/to/session.jsonl"}
    }

    /// Returns the complete state.
    record GetStateAction(type = "get_state") {
        /// Id of the request.
        id: Str,
        ;
        example {"type": "get_state", "id": "17"}
    }

    /// Returns the entries of the session.
    record GetEntriesAction(type = "get_entries") {
        /// Id of the request.
        id: Str,
        ;
        example {"type": "get_entries", "id": "18"}
    }

    /// Registers the contributions of an extension again; replaces its earlier registration.
    record RegisterAction(type = "register") {
        /// Id of the request.
        id: Opt<Str>,
        /// New contributions of the extension.
        offered: OfferedExtension,
        ;
        example {
            "type": "register",
            "offered": {"path": "/home/user/.pi/agent/extensions/guard", "events": ["tool_call", "agent_end"]}
        }
    }
}
