//! Tool calls, as shown by a client.

use super::content::AcpContentBlock;
use crate::dsl::protocol;
use crate::typed::{Any, Count, List, Object, OptNull, Str};

protocol! {
    /// The kind of a tool, so that clients can choose an icon.
    strings AcpToolKind(open) {
        /// The tool reads.
        "read",
        /// The tool changes files.
        "edit",
        /// The tool deletes.
        "delete",
        /// The tool moves or renames.
        "move",
        /// The tool searches.
        "search",
        /// The tool runs a command.
        "execute",
        /// The tool thinks or plans.
        "think",
        /// The tool fetches external data.
        "fetch",
        /// The tool changes the mode of the session.
        "switch_mode",
        /// Any other kind.
        "other",
    }

    /// The status of a tool call.
    strings AcpToolStatus(open) {
        /// The call has not started: its arguments are incomplete, or a permission is pending.
        "pending",
        /// The call is in progress.
        "in_progress",
        /// The call has completed.
        "completed",
        /// The call has failed.
        "failed",
    }

    /// A location in a file.
    record AcpLocation {
        /// Absolute path of the file.
        path: Str,
        /// Number of the line, from 1.
        line: OptNull<Count>,
        ;
        example {"path": "/home/user/project/main.rs", "line": 12}
    }

    /// Text, images and resources.
    record AcpCallContent(type = "content") {
        /// Content block of the call.
        content: AcpContentBlock,
        ;
        example {"type": "content", "content": {"type": "text", "text": "12 files"}}
    }

    /// A change of a file.
    record AcpDiff(type = "diff") {
        /// Absolute path of the file.
        path: Str,
        /// Previous content of the file; absent for a new file.
        oldText: OptNull<Str>,
        /// New content of the file.
        newText: Str,
        ;
        example {"type": "diff", "path": "/home/user/project/main.rs", "oldText": "a\n", "newText": "b\n"}
    }

    /// A terminal of the client.
    record AcpCallTerminal(type = "terminal") {
        /// Id of the terminal.
        terminalId: Str,
        ;
        example {"type": "terminal", "terminalId": "term_1"}
    }

    /// Content that a client shows for a tool call.
    union AcpToolContent(type, open) { AcpCallContent, AcpDiff, AcpCallTerminal }

    /// A tool call starts.
    record AcpToolCall(sessionUpdate = "tool_call") {
        /// Id of the tool call.
        toolCallId: Str,
        /// Title of the call for the user.
        title: Str,
        /// Name of the tool.
        name: OptNull<Str>,
        /// Kind of the tool.
        kind: OptNull<AcpToolKind>,
        /// Status of the call.
        status: OptNull<AcpToolStatus>,
        /// Content to show for the call.
        content: OptNull<List<AcpToolContent>>,
        /// Files that the call concerns.
        locations: OptNull<List<AcpLocation>>,
        /// Arguments of the call.
        rawInput: OptNull<Any>,
        /// Output of the call.
        rawOutput: OptNull<Any>,
        /// Extensions of the agent; those of several agents are members of `AcpCallExtensions`.
        _meta: OptNull<Object>,
        ;
        example {
            "sessionUpdate": "tool_call", "toolCallId": "call_1", "title": "cargo test", "kind": "execute",
            "status": "pending", "rawInput": {"command": "cargo test"}
        }
    }

    /// Changes of a tool call; absent members stay unchanged.
    record AcpToolCallUpdate(sessionUpdate = "tool_call_update") {
        /// Id of the tool call.
        toolCallId: Str,
        /// Title of the call for the user.
        title: OptNull<Str>,
        /// Name of the tool.
        name: OptNull<Str>,
        /// Kind of the tool.
        kind: OptNull<AcpToolKind>,
        /// Status of the call.
        status: OptNull<AcpToolStatus>,
        /// Complete content to show for the call.
        content: OptNull<List<AcpToolContent>>,
        /// Files that the call concerns.
        locations: OptNull<List<AcpLocation>>,
        /// Arguments of the call.
        rawInput: OptNull<Any>,
        /// Output of the call.
        rawOutput: OptNull<Any>,
        /// Extensions of the agent; those of several agents are members of `AcpCallExtensions`.
        _meta: OptNull<Object>,
        ;
        example {"sessionUpdate": "tool_call_update", "toolCallId": "call_1", "status": "completed"}
    }
}
