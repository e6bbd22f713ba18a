//! Requests to a client and its user.

use super::calls::{AcpLocation, AcpToolContent, AcpToolKind, AcpToolStatus};
use crate::dsl::protocol;
use crate::typed::{Any, Count, List, Map, Object, OptNull, Str};

protocol! {
    /// The tool call for which the agent requests a permission.
    record AcpPermissionCall {
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
        /// Content to show for the call.
        content: OptNull<List<AcpToolContent>>,
        /// Files that the call concerns.
        locations: OptNull<List<AcpLocation>>,
        /// Arguments of the call.
        rawInput: OptNull<Any>,
        /// Extensions of the agent; those of several agents are members of `AcpCallExtensions`.
        _meta: OptNull<Object>,
        ;
        example {"toolCallId": "call_1", "title": "Allow bash?", "kind": "execute"}
    }

    /// The meaning of a choice.
    strings AcpPermissionKind(open) {
        /// Allow this call.
        "allow_once",
        /// Allow this call and later ones.
        "allow_always",
        /// Reject this call.
        "reject_once",
        /// Reject this call and later ones.
        "reject_always",
    }

    /// A choice of the user.
    record AcpPermissionOption {
        /// Id of the choice.
        optionId: Str,
        /// Display name.
        name: Str,
        /// Meaning of the choice.
        kind: AcpPermissionKind,
        ;
        example {"optionId": "allow", "name": "Allow", "kind": "allow_once"}
    }

    /// The selection of a choice by the user.
    record AcpSelectedOutcome(outcome = "selected") {
        /// Id of the choice.
        optionId: Str,
        ;
        example {"outcome": "selected", "optionId": "allow"}
    }

    /// The cancellation of the turn before the user selected a choice.
    record AcpCancelledOutcome(outcome = "cancelled") {
        ;
        example {"outcome": "cancelled"}
    }

    /// The outcome of a request for permission.
    union AcpPermissionOutcome(outcome, closed) { AcpSelectedOutcome, AcpCancelledOutcome }

    /// The answer to a request for permission.
    record AcpPermissionAnswer {
        /// Outcome of the request.
        outcome: AcpPermissionOutcome,
        ;
        example {"outcome": {"outcome": "selected", "optionId": "allow"}}
    }

    /// Requests a choice of the user before a tool runs.
    dialog request_permission(AcpRequestPermission {
        /// Id of the session.
        sessionId: Str,
        /// Tool call that the permission concerns.
        toolCall: AcpPermissionCall,
        /// Choices of the user.
        options: List<AcpPermissionOption>,
    }) -> AcpPermissionAnswer {
        wire: "session/request_permission";
        example {
            "sessionId": "sess_1", "toolCall": {"toolCallId": "call_1"},
            "options": [{"optionId": "allow", "name": "Allow", "kind": "allow_once"}]
        };
    }

    /// The method by which an agent requests input.
    strings AcpElicitationMode(open) {
        /// A form.
        "form",
        /// A page in the browser.
        "url",
    }

    /// The action of the user on a form.
    strings AcpElicitationAction(open) {
        /// The user filled in the form.
        "accept",
        /// The user declined.
        "decline",
        /// The user closed the form.
        "cancel",
    }

    /// The input of the user in a form.
    record AcpElicitationAnswer {
        /// Action of the user.
        action: AcpElicitationAction,
        /// Values by their names in the form.
        content: OptNull<Map<Any>>,
        ;
        example {"action": "accept", "content": {"value": "main"}}
    }

    /// Requests the user to fill in a form, in clients that show forms.
    dialog elicit(AcpElicitParams {
        /// Id of the session.
        sessionId: OptNull<Str>,
        /// Id of the tool call that the form concerns.
        toolCallId: OptNull<Str>,
        /// Method of the request.
        mode: AcpElicitationMode,
        /// Message for the user.
        message: Str,
        /// Content of the form: a JSON Schema of an object with flat members.
        requestedSchema: OptNull<Object>,
        /// Id of the page.
        elicitationId: OptNull<Str>,
        /// Address of the page.
        url: OptNull<Str>,
    }) -> AcpElicitationAnswer {
        wire: "elicitation/create";
        example {
            "sessionId": "sess_1", "mode": "form", "message": "Branch name?",
            "requestedSchema": {"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"]}
        };
    }

    /// The input on a page in the browser is complete.
    dialog elicitation_complete(AcpElicitationComplete {
        /// Id of the page.
        elicitationId: Str,
    }) {
        wire: "elicitation/complete";
        example {"elicitationId": "page_1"};
    }

    /// Cancels an unanswered request to the client.
    dialog request_cancelled(AcpRequestCancelled {
        /// Id of the request.
        requestId: Any,
    }) {
        wire: "$/cancel_request";
        example {"requestId": "8f3a"};
    }

    /// The text of a file.
    record AcpFileText {
        /// Content of the file.
        content: Str,
        ;
        example {"content": "fn main() {}\n"}
    }

    /// Reads a text file, including the user's unsaved changes.
    dialog read_text_file(AcpReadTextFile {
        /// Id of the session.
        sessionId: Str,
        /// Absolute path of the file.
        path: Str,
        /// Number of the first line, from 1.
        line: OptNull<Count>,
        /// Maximum number of lines.
        limit: OptNull<Count>,
    }) -> AcpFileText {
        wire: "fs/read_text_file";
        example {"sessionId": "sess_1", "path": "/home/user/project/main.rs"};
    }

    /// The empty result of a successful request.
    record AcpDone {
        ;
        example {}
    }

    /// Writes a text file; missing folders are created.
    dialog write_text_file(AcpWriteTextFile {
        /// Id of the session.
        sessionId: Str,
        /// Absolute path of the file.
        path: Str,
        /// Complete text of the file.
        content: Str,
    }) -> AcpDone {
        wire: "fs/write_text_file";
        example {"sessionId": "sess_1", "path": "/home/user/project/main.rs", "content": "fn main() {}\n"};
    }
}
