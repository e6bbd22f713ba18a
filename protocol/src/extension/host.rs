//! Frames that the agent sends to an extension process.

use super::hooks::HookEvent;
use super::state::HostState;
use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, List, Nullable, Object, Opt, Str};

protocol! {
    /// How the agent is used.
    strings HostMode(open) {
        /// By a client, over frames.
        "rpc",
    }

    /// The first frame. The process answers with `Initialized` when its extensions are loaded, and
    /// sends nothing else before that but dialogs' notices and logs.
    record HostInitialize(type = "initialize") {
        /// Names the question.
        id: Str,
        /// The version of this protocol, 1.
        protocol: Count,
        /// The agent's version.
        agentVersion: Str,
        /// How the agent is used.
        mode: HostMode,
        /// Whether somebody can answer dialogs.
        hasUI: Bool,
        /// The working directory.
        cwd: Str,
        /// The folder of the user's settings.
        agentDir: Str,
        /// The extensions to load, as absolute paths. A program that is one extension finds one path here.
        extensions: List<Str>,
        ;
        example {
            "type": "initialize", "id": "1", "protocol": 1, "agentVersion": "0.1.0", "mode": "rpc", "hasUI": true,
            "cwd": "/home/user/project", "agentDir": "/home/user/.pi/agent",
            "extensions": ["/home/user/.pi/agent/extensions/guard"]
        }
    }

    /// More extensions to load, as when a directory turns out to be trusted. Sent only to a process that said in
    /// `Initialized` that it loads more. Answered with `Initialized`, which speaks of these extensions alone; an
    /// empty list, to which the answer is one too, asks whether the process still answers at all.
    record HostLoad(type = "load") {
        /// Names the question.
        id: Str,
        /// The extensions, as absolute paths.
        extensions: List<Str>,
        ;
        example {"type": "load", "id": "10", "extensions": ["/home/user/project/.pi/extensions/notes.ts"]}
    }

    /// Something happened. With an id the agent waits for the response, and `HookAnswers` says what may
    /// stand in it; without one nobody waits.
    record HostEvent(type = "event") {
        /// Names the question.
        id: Opt<Str>,
        /// The extension that is told.
        extension: Str,
        /// What happened.
        event: HookEvent,
        ;
        example {
            "type": "event", "id": "7", "extension": "/home/user/.pi/agent/extensions/guard",
            "event": {"type": "tool_call", "toolCallId": "call_123", "toolName": "bash", "input": {"command": "ls"}}
        }
    }

    /// The user invoked a command. The response comes when it has ended; its result is not looked at.
    record HostCommand(type = "command") {
        /// Names the question.
        id: Str,
        /// The extension whose command it is.
        extension: Str,
        /// The command's name, without the slash.
        name: Str,
        /// What stands behind the name; empty where nothing does.
        args: Str,
        ;
        example {
            "type": "command", "id": "8", "extension": "/home/user/.pi/agent/extensions/guard", "name": "guard",
            "args": "off"
        }
    }

    /// The model called a tool. Before the response there may be `tool_update` frames.
    record HostTool(type = "tool") {
        /// Names the question.
        id: Str,
        /// The extension whose tool it is.
        extension: Str,
        /// The tool's name.
        name: Str,
        /// The id of the call.
        toolCallId: Str,
        /// The arguments, which fit the tool's schema.
        params: Object,
        ;
        example {
            "type": "tool", "id": "9", "extension": "/home/user/.pi/agent/extensions/dice", "name": "dice",
            "toolCallId": "call_123", "params": {"sides": 6}
        }
    }

    /// A question of the agent is taken back: the run was aborted, or the time is up. A response that
    /// still comes is ignored.
    record HostCancel(type = "cancel") {
        /// The id of the question.
        id: Str,
        ;
        example {"type": "cancel", "id": "9"}
    }

    /// Changes of the state, for extensions that watch `state`. Sent before the frame that follows from the change.
    record HostStateChanged(type = "state") {
        /// The members that changed.
        state: HostState,
        ;
        example {"type": "state", "state": {"idle": false}}
    }

    /// Entries that joined the session; for those who watch `entries`.
    record HostEntries(type = "entries") {
        /// Whether these are all entries, because the session is another one.
        reset: Bool,
        /// The head of the session's file, with `reset`.
        header: Opt<Object>,
        /// The entries.
        entries: List<Object>,
        /// The entry at which the conversation is now; null where it is empty.
        leafId: Nullable<Str>,
        ;
        example {"type": "entries", "reset": false, "entries": [], "leafId": null}
    }

    /// The answer to a question of the extension: a result as `HostAnswers` says, or an error.
    record HostResponse(type = "response") {
        /// The id of the question.
        id: Str,
        /// The result; absent where there is none.
        result: Opt<Any>,
        /// Why the question failed.
        error: Opt<Str>,
        ;
        example {"type": "response", "id": "3", "result": {"value": "red"}}
    }

    /// A frame that the agent sends to an extension process. A process ignores types that it does not know.
    union HostFrame(type, open) {
        HostInitialize, HostLoad, HostEvent, HostCommand, HostTool, HostCancel, HostStateChanged, HostEntries, HostResponse
    }
}
