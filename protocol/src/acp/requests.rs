//! What a client and its user are asked.

use super::calls::{AcpLocation, AcpToolContent, AcpToolKind, AcpToolStatus};
use crate::dsl::protocol;
use crate::typed::{Any, Count, List, Map, Object, OptNull, Str};

protocol! {
    /// The call that a permission is asked for.
    record AcpAskedCall {
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
        /// What it shows.
        content: OptNull<List<AcpToolContent>>,
        /// The files that it is about.
        locations: OptNull<List<AcpLocation>>,
        /// Its arguments.
        rawInput: OptNull<Any>,
        ;
        example {"toolCallId": "call_1", "title": "Allow bash?", "kind": "execute"}
    }

    /// What a choice means.
    strings AcpPermissionKind(open) {
        /// Yes, this time.
        "allow_once",
        /// Yes, and do not ask again.
        "allow_always",
        /// No, this time.
        "reject_once",
        /// No, and do not ask again.
        "reject_always",
    }

    /// A choice.
    record AcpPermissionOption {
        /// Names it.
        optionId: Str,
        /// Its name for people.
        name: Str,
        /// What it means.
        kind: AcpPermissionKind,
        ;
        example {"optionId": "allow", "name": "Allow", "kind": "allow_once"}
    }

    /// The user has chosen.
    record AcpSelectedOutcome(outcome = "selected") {
        /// The choice.
        optionId: Str,
        ;
        example {"outcome": "selected", "optionId": "allow"}
    }

    /// The turn was cancelled before the user has chosen.
    record AcpCancelledOutcome(outcome = "cancelled") {
        ;
        example {"outcome": "cancelled"}
    }

    /// What became of a question for permission.
    union AcpPermissionOutcome(outcome, closed) { AcpSelectedOutcome, AcpCancelledOutcome }

    /// The answer to a question for permission.
    record AcpPermissionAnswer {
        /// What became of it.
        outcome: AcpPermissionOutcome,
        ;
        example {"outcome": {"outcome": "selected", "optionId": "allow"}}
    }

    /// Asks the user to choose, before a tool is called for one.
    dialog request_permission(AcpRequestPermission {
        /// The session.
        sessionId: Str,
        /// The call that it is about.
        toolCall: AcpAskedCall,
        /// The choices.
        options: List<AcpPermissionOption>,
    }) -> AcpPermissionAnswer {
        wire: "session/request_permission";
        example {
            "sessionId": "sess_1", "toolCall": {"toolCallId": "call_1"},
            "options": [{"optionId": "allow", "name": "Allow", "kind": "allow_once"}]
        };
    }

    /// How something is asked.
    strings AcpElicitationMode(open) {
        /// With a form.
        "form",
        /// On a page in the browser.
        "url",
    }

    /// What the user did with a form.
    strings AcpElicitationAction(open) {
        /// Filled it in.
        "accept",
        /// Refused.
        "decline",
        /// Closed it.
        "cancel",
    }

    /// What the user entered.
    record AcpElicitationAnswer {
        /// What the user did.
        action: AcpElicitationAction,
        /// The values, by their names in the form.
        content: OptNull<Map<Any>>,
        ;
        example {"action": "accept", "content": {"value": "main"}}
    }

    /// Asks the user to fill in a form, in clients that show forms.
    dialog elicit(AcpElicit {
        /// The session.
        sessionId: OptNull<Str>,
        /// The call that it is about.
        toolCallId: OptNull<Str>,
        /// How it is asked.
        mode: AcpElicitationMode,
        /// What is asked.
        message: Str,
        /// The form: a JSON Schema of an object with flat members.
        requestedSchema: OptNull<Object>,
        /// Names a page.
        elicitationId: OptNull<Str>,
        /// The address of a page.
        url: OptNull<Str>,
    }) -> AcpElicitationAnswer {
        wire: "elicitation/create";
        example {
            "sessionId": "sess_1", "mode": "form", "message": "Branch name?",
            "requestedSchema": {"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"]}
        };
    }

    /// What was asked on a page in the browser is done.
    dialog elicitation_complete(AcpElicitationComplete {
        /// The page.
        elicitationId: Str,
    }) {
        wire: "elicitation/complete";
        example {"elicitationId": "page_1"};
    }

    /// Takes back a request that the client has not answered.
    dialog request_cancelled(AcpRequestCancelled {
        /// The id of the request.
        requestId: Any,
    }) {
        wire: "$/cancel_request";
        example {"requestId": "8f3a"};
    }

    /// The text of a file.
    record AcpFileText {
        /// The text.
        content: Str,
        ;
        example {"content": "fn main() {}\n"}
    }

    /// Reads a text file, with what the user has not saved yet.
    dialog read_text_file(AcpReadTextFile {
        /// The session.
        sessionId: Str,
        /// The file, absolute.
        path: Str,
        /// The first line, from 1.
        line: OptNull<Count>,
        /// How many lines at most.
        limit: OptNull<Count>,
    }) -> AcpFileText {
        wire: "fs/read_text_file";
        example {"sessionId": "sess_1", "path": "/home/user/project/main.rs"};
    }

    /// Nothing but success.
    record AcpDone {
        ;
        example {}
    }

    /// Writes a text file; folders on the way to it are made.
    dialog write_text_file(AcpWriteTextFile {
        /// The session.
        sessionId: Str,
        /// The file, absolute.
        path: Str,
        /// The whole text.
        content: Str,
    }) -> AcpDone {
        wire: "fs/write_text_file";
        example {"sessionId": "sess_1", "path": "/home/user/project/main.rs", "content": "fn main() {}\n"};
    }
}
