//! Tool calls, as a client shows them.

use super::content::AcpContentBlock;
use crate::dsl::protocol;
use crate::typed::{Any, Count, List, OptNull, Str};

protocol! {
    /// What a tool does, so that clients can choose an icon.
    strings AcpToolKind(open) {
        /// It reads.
        "read",
        /// It changes files.
        "edit",
        /// It deletes.
        "delete",
        /// It moves or renames.
        "move",
        /// It searches.
        "search",
        /// It runs a command.
        "execute",
        /// It thinks or plans.
        "think",
        /// It fetches something from elsewhere.
        "fetch",
        /// It changes the mode of the session.
        "switch_mode",
        /// Anything else.
        "other",
    }

    /// How far a call is.
    strings AcpToolStatus(open) {
        /// It has not begun: its arguments still come, or somebody is asked.
        "pending",
        /// It runs.
        "in_progress",
        /// It is done.
        "completed",
        /// It failed.
        "failed",
    }

    /// A place in a file.
    record AcpLocation {
        /// The file, absolute.
        path: Str,
        /// The line, from 1.
        line: OptNull<Count>,
        ;
        example {"path": "/home/user/project/main.rs", "line": 12}
    }

    /// Text, images and resources.
    record AcpCallContent(type = "content") {
        /// The block.
        content: AcpContentBlock,
        ;
        example {"type": "content", "content": {"type": "text", "text": "12 files"}}
    }

    /// A change of a file.
    record AcpDiff(type = "diff") {
        /// The file, absolute.
        path: Str,
        /// What it held; none for a new file.
        oldText: OptNull<Str>,
        /// What it holds now.
        newText: Str,
        ;
        example {"type": "diff", "path": "/home/user/project/main.rs", "oldText": "a\n", "newText": "b\n"}
    }

    /// A terminal of the client.
    record AcpCallTerminal(type = "terminal") {
        /// The terminal.
        terminalId: Str,
        ;
        example {"type": "terminal", "terminalId": "term_1"}
    }

    /// What a call shows.
    union AcpToolContent(type, open) { AcpCallContent, AcpDiff, AcpCallTerminal }

    /// A tool call begins.
    record AcpToolCall(sessionUpdate = "tool_call") {
        /// Names the call.
        toolCallId: Str,
        /// What it does, for people.
        title: Str,
        /// The tool's name.
        name: OptNull<Str>,
        /// What kind of tool it is.
        kind: OptNull<AcpToolKind>,
        /// How far it is.
        status: OptNull<AcpToolStatus>,
        /// What it shows.
        content: OptNull<List<AcpToolContent>>,
        /// The files that it is about.
        locations: OptNull<List<AcpLocation>>,
        /// Its arguments.
        rawInput: OptNull<Any>,
        /// What it gave.
        rawOutput: OptNull<Any>,
        ;
        example {
            "sessionUpdate": "tool_call", "toolCallId": "call_1", "title": "cargo test", "kind": "execute",
            "status": "pending", "rawInput": {"command": "cargo test"}
        }
    }

    /// What has changed of a call: members that are left out stay as they are.
    record AcpToolCallUpdate(sessionUpdate = "tool_call_update") {
        /// The call.
        toolCallId: Str,
        /// What it does, for people.
        title: OptNull<Str>,
        /// The tool's name.
        name: OptNull<Str>,
        /// What kind of tool it is.
        kind: OptNull<AcpToolKind>,
        /// How far it is.
        status: OptNull<AcpToolStatus>,
        /// All that it shows.
        content: OptNull<List<AcpToolContent>>,
        /// The files that it is about.
        locations: OptNull<List<AcpLocation>>,
        /// Its arguments.
        rawInput: OptNull<Any>,
        /// What it gave.
        rawOutput: OptNull<Any>,
        ;
        example {"sessionUpdate": "tool_call_update", "toolCallId": "call_1", "status": "completed"}
    }
}
