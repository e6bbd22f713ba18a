//! The frames that the agent sends to an extension process.

use super::hooks::HookEvent;
use super::state::HostState;
use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, List, Nullable, Object, Opt, Str};

protocol! {
    /// The mode of use of the agent.
    strings HostMode(open) {
        /// Use by a client, over frames.
        "rpc",
    }

    /// The first frame. The process answers with `InitializeResult` when its extensions are loaded. Before that, it sends
    /// only notices and log lines.
    record HostInitialize(type = "initialize") {
        /// Id of the request.
        id: Str,
        /// Version of this protocol, 1.
        protocol: Count,
        /// Version of the agent.
        agentVersion: Str,
        /// Mode of use of the agent.
        mode: HostMode,
        /// `true` if a client can answer dialogs.
        hasUI: Bool,
        /// The working directory.
        cwd: Str,
        /// The folder of the user's settings.
        agentDir: Str,
        /// Absolute paths of the extensions to load. A program that is a single extension receives one path.
        extensions: List<Str>,
        ;
        example {
            "type": "initialize", "id": "1", "protocol": 1, "agentVersion": "0.1.0", "mode": "rpc", "hasUI": true,
            "cwd": "/home/user/project", "agentDir": "/home/user/.pi/agent",
            "extensions": ["/home/user/.pi/agent/extensions/guard"]
        }
    }

    /// Additional extensions to load, for example after a directory becomes trusted. Sent only to a process that
    /// announced `loadsMore` in `InitializeResult`. Answered with `InitializeResult` for these extensions only. An empty list,
    /// answered with an empty list, checks that the process still responds.
    record HostLoad(type = "load") {
        /// Id of the request.
        id: Str,
        /// Absolute paths of the extensions.
        extensions: List<Str>,
        ;
        example {"type": "load", "id": "10", "extensions": ["/home/user/project/.pi/extensions/notes.ts"]}
    }

    /// An event of the agent. With an id, the agent waits for the response, whose result `HookAnswers` defines. Without
    /// an id, it does not wait.
    record HostEvent(type = "event") {
        /// Id of the request.
        id: Opt<Str>,
        /// Path of the extension that receives the event.
        extension: Str,
        /// Event for the extension.
        event: HookEvent,
        ;
        example {
            "type": "event", "id": "7", "extension": "/home/user/.pi/agent/extensions/guard",
            "event": {"type": "tool_call", "toolCallId": "call_123", "toolName": "bash", "input": {"command": "ls"}}
        }
    }

    /// The user invoked a command. The response follows when the command has ended; its result is ignored.
    record HostCommand(type = "command") {
        /// Id of the request.
        id: Str,
        /// Path of the extension that registered the command.
        extension: Str,
        /// Name of the command, without the slash.
        name: Str,
        /// Text after the name; empty if there is none.
        args: Str,
        ;
        example {
            "type": "command", "id": "8", "extension": "/home/user/.pi/agent/extensions/guard", "name": "guard",
            "args": "off"
        }
    }

    /// The model called a tool. `tool_update` frames may precede the response.
    record HostTool(type = "tool") {
        /// Id of the request.
        id: Str,
        /// Path of the extension that registered the tool.
        extension: Str,
        /// Name of the tool.
        name: Str,
        /// Id of the tool call.
        toolCallId: Str,
        /// Arguments of the tool call, valid under the tool's schema.
        params: Object,
        ;
        example {
            "type": "tool", "id": "9", "extension": "/home/user/.pi/agent/extensions/dice", "name": "dice",
            "toolCallId": "call_123", "params": {"sides": 6}
        }
    }

    /// The cancellation of an agent's request, because the run was aborted or the time limit was reached. A later
    /// response is ignored.
    record HostCancel(type = "cancel") {
        /// Id of the cancelled request.
        id: Str,
        ;
        example {"type": "cancel", "id": "9"}
    }

    /// Changes of the state, for extensions that watch `state`. Sent before the frame that follows from the change.
    record HostStateChanged(type = "state") {
        /// Changed members of the state.
        state: HostState,
        ;
        example {"type": "state", "state": {"idle": false}}
    }

    /// New entries of the session, for extensions that watch `entries`.
    record HostEntries(type = "entries") {
        /// `true` if the list holds all entries, because the session has changed.
        reset: Bool,
        /// Header of the session file; present if `reset` is `true`.
        header: Opt<Object>,
        /// New entries, or all entries if `reset` is `true`.
        entries: List<Object>,
        /// Id of the current entry; null in an empty session.
        leafId: Nullable<Str>,
        ;
        example {"type": "entries", "reset": false, "entries": [], "leafId": null}
    }

    /// The answer to a request of the extension: a result as in `HostAnswers`, or an error.
    record HostResponse(type = "response") {
        /// Id of the request.
        id: Str,
        /// The result; absent if there is none.
        result: Opt<Any>,
        /// Error message of the request.
        error: Opt<Str>,
        ;
        example {"type": "response", "id": "3", "result": {"value": "red"}}
    }

    /// A frame from the agent to an extension process. A process ignores unknown types.
    union HostFrame(type, open) {
        HostInitialize, HostLoad, HostEvent, HostCommand, HostTool, HostCancel, HostStateChanged, HostEntries, HostResponse
    }
}
