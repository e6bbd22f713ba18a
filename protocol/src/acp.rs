//! The Agent Client Protocol (ACP), version 1, between editors and agents. JSON-RPC 2.0, one frame per line.
//!
//! ACP is declared like a dialect but is not one. Its conversations differ from pi's, and the suite's cases for it have
//! no recordings. Clients drive its agents through a bridge ([`BRIDGED`](crate::dialects::BRIDGED)). Requests and notifications to the client are dialogs: a request has an answer, a
//! notification has none. Every object may have a member `_meta`, reserved for the peer that added it.
//!
//! Source: the JSON Schema of protocol version 1, stable part, of the npm package `@agentclientprotocol/sdk` 2.4.0.
//!
//! | file | content |
//! |---|---|
//! | `capabilities` | capabilities of both sides |
//! | `content` | content of prompts, answers and results |
//! | `sessions` | methods that open, list and close sessions |
//! | `prompts` | methods of a turn |
//! | `config` | options of a session |
//! | `updates`, `calls` | updates about a turn for the client |
//! | `extensions` | members with which agents extend tool calls |
//! | `requests`, `terminals` | requests to the client |
//! | `intents`, `meaning` | losses on a bridge with ACP on one side |

pub mod calls;
pub mod capabilities;
pub mod config;
pub mod content;
pub mod extensions;
mod intents;
mod meaning;
pub mod prompts;
pub mod requests;
pub mod sessions;
pub mod terminals;
pub mod updates;

use crate::dialect::{
    Behavior, Dialect, Edges, EndOfInput, Framing, HandlerFailure, NameCase, ResponseOrder, Revision, RunEnd,
    TextPieces,
};
use crate::matching::{Matching, Sessions};
use crate::model::{ErrorText, Span};

const REVISIONS: &[Revision] = &[Revision {
    name: "1",
    document: "Agent Client Protocol, schema of version 1",
    parent: None,
    edges: Edges {
        unknown_command_echoes_id: true,
        unknown_command_text: "Method not found: {command}",
        handler_failure: HandlerFailure::JsonRpcError,
        parse_prefix: "",
        parse_command: "",
        blank_line_is_error: false,
        unfinished_line_counts: false,
        empty_data: true,
        response_order: ResponseOrder::IdFirst,
        end_of_input: EndOfInput::Abort,
        bare_events: false,
        longest_command: None,
    },
    run_end: RunEnd { barrier: None, state: None, gap_ms: 0, answer_ends: true },
    behavior: Behavior::FIRST,
    shows: &[],
    excludes: &[],
    changes: &[],
}];

const fn error(code: i32, kind: &'static str, text: &'static str, when: &'static str) -> ErrorText {
    ErrorText { code: Some(code), kind, text, when, span: Span::ALWAYS }
}

/// The declaration of ACP, version 1.
pub const ACP: Dialect = Dialect {
    name: "acp",
    revisions: REVISIONS,
    agent: "an agent of the Agent Client Protocol",
    doc: "The Agent Client Protocol, between editors and agents.",
    parent: None,
    without: &[],
    framing: Framing::JsonRpc { notification: "session/update" },
    case: NameCase::Camel,
    events_open: false,
    event_members: &[],
    dialog_frames: None,
    chunks: None,
    errors: &[
        error(-32700, "InvalidLine", "Parse error", "the line is not JSON; the id is null"),
        error(
            -32600,
            "InvalidRequest",
            "Invalid request",
            "the line is JSON but not a request; the id is null",
        ),
        error(-32601, "UnknownCommand", "Method not found: {method}", "no method has that name"),
        error(
            -32602,
            "MissingParameters",
            "Invalid params: {param} is missing",
            "the only required parameter is missing",
        ),
        error(-32602, "MissingParameters", "Invalid params: {params} are needed", "a parameter is missing"),
        error(
            -32602,
            "InvalidParameters",
            "Invalid params of {method}: {reason}",
            "a parameter has the wrong type or an invalid value",
        ),
        error(-32603, "InternalError", "Internal error", "the method failed"),
        error(-32800, "RequestCancelled", "Request cancelled", "the client cancelled the request"),
        error(
            -32000,
            "AuthRequired",
            "Authentication required",
            "the user has not logged in, so no model is available",
        ),
        error(-32002, "ResourceNotFound", "Resource not found: {uri}", "no session or file has that name"),
    ],
    text: TextPieces { begins: "", event: "", path: &[], kind: None, piece: "" },
    probe_command: "initialize",
    rows: &[
        content::ROWS,
        capabilities::ROWS,
        config::ROWS,
        sessions::ROWS,
        prompts::ROWS,
        calls::ROWS,
        extensions::ROWS,
        updates::ROWS,
        requests::ROWS,
        terminals::ROWS,
    ],
    settings: &[],
    matching: Matching {
        members: &[],
        choices: &[],
        wording: &[],
        tokens: &[],
        event_keys: &[],
        fine_event_keys: &[],
        stream_keys: &[],
        dialog_keys: &[],
        transient_members: &[],
        deltas: &[],
        snapshots: None,
        tools: None,
        sessions: Sessions { history: None, files: None, shell: "" },
        allowances: &[],
    },
    meaning: meaning::MEANING,
    intents: intents::INTENTS,
};
