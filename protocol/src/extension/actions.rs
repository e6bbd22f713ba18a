//! What an extension does with the agent. With an id the agent answers, and says so where it refuses;
//! without one a refusal is an `extension_error` for the client.

use super::registration::OfferedExtension;
use crate::dsl::protocol;
use crate::typed::{Any, Bool, List, Opt, OptNull, Str};
use crate::types::content::InputContent;
use crate::types::model::ThinkingLevel;

protocol! {
    /// When a message reaches the model.
    strings DeliverAs(closed) {
        /// As soon as possible: after the tool that is running; the rest is skipped.
        "steer",
        /// When the agent would stop.
        "followUp",
        /// With the user's next prompt; nothing is interrupted and nothing begins.
        "nextTurn",
    }

    /// A message of a type that an extension defines.
    record ExtensionMessage {
        /// The extension's name for this kind of message.
        customType: Str,
        /// Text, or blocks.
        content: InputContent,
        /// Whether a front end should show it.
        display: Bool,
        /// Facts for a front end.
        details: OptNull<Any>,
        ;
        example {"customType": "note", "content": "Remember the tests.", "display": true, "details": {"a": 1}}
    }

    /// Puts a message of its own kind into the conversation.
    record DoSendMessage(type = "send_message") {
        /// Names the question.
        id: Opt<Str>,
        /// The extension that sends it.
        extension: Opt<Str>,
        /// The message.
        message: ExtensionMessage,
        /// Whether the agent begins to work where it is idle.
        triggerTurn: Opt<Bool>,
        /// When it reaches the model where the agent is working; `steer` where it is missing.
        deliverAs: Opt<DeliverAs>,
        ;
        example {
            "type": "send_message", "triggerTurn": true,
            "message": {"customType": "note", "content": "please answer", "display": true}
        }
    }

    /// Sends a message as the user. An idle agent starts a run; while the agent is
    /// working, `deliverAs` has to say how the message is queued.
    record DoSendUserMessage(type = "send_user_message") {
        /// Names the question.
        id: Opt<Str>,
        /// The extension that sends it.
        extension: Opt<Str>,
        /// The words and images.
        content: InputContent,
        /// `steer` or `followUp`.
        deliverAs: Opt<DeliverAs>,
        ;
        example {"type": "send_user_message", "content": "Run the tests.", "deliverAs": "followUp"}
    }

    /// Stores data in the session that the model does not see.
    record DoAppendEntry(type = "append_entry") {
        /// Names the question.
        id: Opt<Str>,
        /// The extension that keeps it.
        extension: Opt<Str>,
        /// The extension's name for this kind of entry.
        customType: Str,
        /// What is kept.
        data: OptNull<Any>,
        ;
        example {"type": "append_entry", "customType": "my-state", "data": {"n": 1}}
    }

    /// Names the session.
    record DoSetSessionName(type = "set_session_name") {
        /// Names the question.
        id: Opt<Str>,
        /// The name.
        name: Str,
        ;
        example {"type": "set_session_name", "name": "my-feature-work"}
    }

    /// Sets or removes the label of a session entry.
    record DoSetLabel(type = "set_label") {
        /// Names the question.
        id: Opt<Str>,
        /// The entry.
        entryId: Str,
        /// The label; absent or null to remove it.
        label: OptNull<Str>,
        ;
        example {"type": "set_label", "entryId": "a1b2c3d4", "label": "before the refactoring"}
    }

    /// Sets the tools that the model can call from the next request on. Unknown names are ignored.
    record DoSetActiveTools(type = "set_active_tools") {
        /// Names the question.
        id: Opt<Str>,
        /// The names.
        tools: List<Str>,
        ;
        example {"type": "set_active_tools", "tools": ["read", "grep", "find", "ls"]}
    }

    /// Switches to another model. Answered with `FoundResult`.
    record DoSetModel(type = "set_model") {
        /// Names the question.
        id: Opt<Str>,
        /// The provider.
        provider: Str,
        /// The model's id.
        modelId: Str,
        ;
        example {"type": "set_model", "id": "11", "provider": "anthropic", "modelId": "claude-sonnet-4-20250514"}
    }

    /// Sets the thinking level; an unsupported level becomes the nearest supported one.
    record DoSetThinkingLevel(type = "set_thinking_level") {
        /// Names the question.
        id: Opt<Str>,
        /// The level.
        level: ThinkingLevel,
        ;
        example {"type": "set_thinking_level", "level": "high"}
    }

    /// Stops what the agent does. Answered at once.
    record DoAbort(type = "abort") {
        /// Names the question.
        id: Opt<Str>,
        ;
        example {"type": "abort"}
    }

    /// Ends the agent as soon as it is idle. Answered at once.
    record DoShutdown(type = "shutdown") {
        /// Names the question.
        id: Opt<Str>,
        ;
        example {"type": "shutdown"}
    }

    /// Compacts the conversation; answered with the result when that is done.
    record DoCompact(type = "compact") {
        /// Names the question.
        id: Opt<Str>,
        /// Extra instructions for the summary.
        customInstructions: Opt<Str>,
        ;
        example {"type": "compact", "id": "12"}
    }

    /// Waits until no run, retry or compaction is going on. Only for commands: an event would wait for itself.
    record DoWaitForIdle(type = "wait_for_idle") {
        /// Names the question.
        id: Str,
        ;
        example {"type": "wait_for_idle", "id": "13"}
    }

    /// Starts a new session. Only for commands. The answer says whether an extension stopped it.
    record DoNewSession(type = "new_session") {
        /// Names the question.
        id: Opt<Str>,
        /// The file of the session that it comes from.
        parentSession: Opt<Str>,
        ;
        example {"type": "new_session", "id": "14"}
    }

    /// Forks the session before a message of the user. Only for commands. Answered with whether an
    /// extension stopped it.
    record DoFork(type = "fork") {
        /// Names the question.
        id: Opt<Str>,
        /// The entry.
        entryId: Str,
        ;
        example {"type": "fork", "id": "15", "entryId": "a1b2c3d4"}
    }

    /// Switches to another session. Only for commands. The answer says whether an extension stopped it.
    record DoSwitchSession(type = "switch_session") {
        /// Names the question.
        id: Opt<Str>,
        /// The session's file.
        path: Str,
        ;
        example {"type": "switch_session", "id": "16", "path": "/path/to/session.jsonl"}
    }

    /// Returns the full state.
    record DoGetState(type = "get_state") {
        /// Names the question.
        id: Str,
        ;
        example {"type": "get_state", "id": "17"}
    }

    /// Returns the session's entries.
    record DoGetEntries(type = "get_entries") {
        /// Names the question.
        id: Str,
        ;
        example {"type": "get_entries", "id": "18"}
    }

    /// Registers again what an extension brings; replaces its earlier registration.
    record DoRegister(type = "register") {
        /// Names the question.
        id: Opt<Str>,
        /// What it brings.
        offered: OfferedExtension,
        ;
        example {
            "type": "register",
            "offered": {"path": "/home/user/.pi/agent/extensions/guard", "events": ["tool_call", "agent_end"]}
        }
    }
}
