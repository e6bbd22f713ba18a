//! The contributions of an extension.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, List, Object, Opt, Str};

protocol! {
    /// A slash command of an extension.
    record OfferedCommand {
        /// Name of the command, without the slash.
        name: Str,
        /// Description for the user.
        description: Opt<Str>,
        ;
        example {"name": "deploy", "description": "Deploys the working directory"}
    }

    /// A tool of an extension.
    record OfferedTool {
        /// Name of the tool for the model. The name of a built-in tool replaces that tool.
        name: Str,
        /// Display name.
        label: Opt<Str>,
        /// A description for the model.
        description: Str,
        /// JSON Schema of the arguments, an object.
        parameters: Object,
        /// Line for the list of tools in the system prompt; the description if absent.
        promptSnippet: Opt<Str>,
        /// Guidelines for the system prompt, present while the tool is active.
        promptGuidelines: Opt<List<Str>>,
        ;
        example {
            "name": "dice", "label": "Dice", "description": "Rolls a die",
            "parameters": {"type": "object", "properties": {"sides": {"type": "number"}}, "required": ["sides"]},
            "promptGuidelines": ["Roll dice with the dice tool, never in your head."]
        }
    }

    /// The kind of value of a command-line flag.
    strings FlagKind(closed) {
        /// The flag has no value: it is present or absent.
        "boolean",
        /// The value is a text.
        "string",
    }

    /// A command-line flag for an extension.
    record OfferedFlag {
        /// Name of the flag, without the dashes.
        name: Str,
        /// Description for the user.
        description: Opt<Str>,
        /// Kind of value.
        kind: FlagKind,
        /// Default value: a boolean or a text.
        default: Opt<Any>,
        ;
        example {"name": "plan", "description": "Begin in plan mode", "kind": "boolean", "default": false}
    }

    /// The contributions of one extension, or the reason for a failure to load it.
    record OfferedExtension {
        /// Path of the extension, as sent by the agent.
        path: Str,
        /// Display name.
        name: Opt<Str>,
        /// Error message of a failed load; all other members are then ignored.
        error: Opt<Str>,
        /// Commands of the extension.
        commands: Opt<List<OfferedCommand>>,
        /// Tools of the extension.
        tools: Opt<List<OfferedTool>>,
        /// Flags of the extension.
        flags: Opt<List<OfferedFlag>>,
        /// Types of the events that the extension receives. Other events are not sent to it.
        events: Opt<List<Str>>,
        ;
        example {
            "path": "/home/user/.pi/agent/extensions/guard", "name": "guard", "events": ["tool_call"],
            "commands": [{"name": "guard", "description": "Switches the guard on or off"}]
        }
    }

    /// The kind of updates that an extension process receives without a request.
    strings WatchTopic(open) {
        /// Changes of the state, as `state` frames.
        "state",
        /// Entries of the session, as `entries` frames.
        "entries",
    }

    /// The answer to `initialize` and `load`: the contributions of the loaded extensions.
    record InitializeResult {
        /// Version of this protocol that the process uses, 1.
        protocol: Count,
        /// Contributions of each extension, one for each path of the request.
        extensions: List<OfferedExtension>,
        /// Kinds of updates that the process receives without a request.
        watch: Opt<List<WatchTopic>>,
        /// `true` if the process can load additional extensions on a `load` frame. Otherwise the agent sends no such
        /// frame.
        loadsMore: Opt<Bool>,
        ;
        example {
            "protocol": 1,
            "extensions": [{"path": "/home/user/.pi/agent/extensions/guard", "events": ["tool_call"]}]
        }
    }
}
