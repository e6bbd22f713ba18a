//! What an extension brings.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, List, Object, Opt, Str};

protocol! {
    /// A slash command of an extension.
    record OfferedCommand {
        /// The name, without the slash.
        name: Str,
        /// A description for people.
        description: Opt<Str>,
        ;
        example {"name": "deploy", "description": "Deploys the working directory"}
    }

    /// A tool of an extension.
    record OfferedTool {
        /// The name by which the model calls it. That of a built-in tool takes its place.
        name: Str,
        /// A name for people.
        label: Opt<Str>,
        /// A description for the model.
        description: Str,
        /// A JSON Schema of its arguments, an object.
        parameters: Object,
        /// A line for the list of tools in the system prompt; the description where it is missing.
        promptSnippet: Opt<Str>,
        /// Guidelines for the system prompt, there while the tool is switched on.
        promptGuidelines: Opt<List<Str>>,
        ;
        example {
            "name": "dice", "label": "Dice", "description": "Rolls a die",
            "parameters": {"type": "object", "properties": {"sides": {"type": "number"}}, "required": ["sides"]},
            "promptGuidelines": ["Roll dice with the dice tool, never in your head."]
        }
    }

    /// The kind of value that a command line flag takes.
    strings FlagKind(closed) {
        /// No value: the flag is present or absent.
        "boolean",
        /// A text.
        "string",
    }

    /// A flag of the command line that an extension reads.
    record OfferedFlag {
        /// The name, without the dashes.
        name: Str,
        /// A description for people.
        description: Opt<Str>,
        /// What it takes.
        kind: FlagKind,
        /// Its value where it is not given: a boolean or a text.
        default: Opt<Any>,
        ;
        example {"name": "plan", "description": "Begin in plan mode", "kind": "boolean", "default": false}
    }

    /// What one extension brings, or why it could not be loaded.
    record OfferedExtension {
        /// The extension, as the agent named it.
        path: Str,
        /// A name for people.
        name: Opt<Str>,
        /// Why it could not be loaded; everything else is ignored then.
        error: Opt<Str>,
        /// Its commands.
        commands: Opt<List<OfferedCommand>>,
        /// Its tools.
        tools: Opt<List<OfferedTool>>,
        /// Its flags.
        flags: Opt<List<OfferedFlag>>,
        /// The events that it wants to hear of, by type. Others are not sent to it.
        events: Opt<List<Str>>,
        ;
        example {
            "path": "/home/user/.pi/agent/extensions/guard", "name": "guard", "events": ["tool_call"],
            "commands": [{"name": "guard", "description": "Switches the guard on or off"}]
        }
    }

    /// What an extension process is told without asking.
    strings Watched(open) {
        /// What changes in the state, as `state` frames.
        "state",
        /// The entries of the session, as `entries` frames.
        "entries",
    }

    /// The answer to `initialize`: who is there.
    record Initialized {
        /// The version of this protocol that the process speaks, 1.
        protocol: Count,
        /// What each extension brings, one for each path of the question.
        extensions: List<OfferedExtension>,
        /// What it wants to be told without asking.
        watch: Opt<List<Watched>>,
        /// Whether it can load more extensions later, in answer to `load`. One that cannot is left alone.
        loadsMore: Opt<Bool>,
        ;
        example {
            "protocol": 1,
            "extensions": [{"path": "/home/user/.pi/agent/extensions/guard", "events": ["tool_call"]}]
        }
    }
}
