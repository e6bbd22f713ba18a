//! The Opal dialect, protocol 0.1: JSON-RPC 2.0 with methods for several sessions.
//!
//! Source: the document "JSON-RPC Protocol" of Opal and the types exported by server 0.1.14.

pub mod events;
pub mod intents;
pub mod matching;
pub mod meaning;
pub mod methods;
pub mod requests;
pub mod types;

use crate::dialect::{
    BARRIER_LIMIT_MS, Barrier, Behavior, Dialect, Edges, EndOfInput, Framing, HandlerFailure, NameCase,
    ResponseOrder, Revision, RunEnd, TextPieces,
};
use crate::model::{ErrorText, Field, Presence, Span, Ty};

/// The command that reports whether the agent is working.
const STATE: Barrier =
    Barrier { command: "agent/state", busy: "status", idle: Some("idle"), limit_ms: BARRIER_LIMIT_MS };

/// The revisions, oldest first.
const REVISIONS: &[Revision] = &[Revision {
    name: "0.1",
    document: "Opal, docs/rpc.md (protocol 0.1.0)",
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
    run_end: RunEnd { barrier: None, state: Some(STATE), gap_ms: 0, answer_ends: false },
    behavior: Behavior::FIRST,
    shows: &[],
    excludes: &[],
    changes: &[],
}];

/// The Opal dialect.
pub const OPAL: Dialect = Dialect {
    name: "opal",
    revisions: REVISIONS,
    agent: "Opal",
    doc: "The JSON-RPC 2.0 protocol between Opal's CLI and its server.",
    parent: None,
    without: &[],
    framing: Framing::JsonRpc { notification: "agent/event" },
    case: NameCase::Snake,
    events_open: true,
    event_members: &[Field {
        name: "session_id",
        doc: "Id of the session of the event.",
        presence: Presence::Required,
        ty: Ty::String,
        span: Span::ALWAYS,
        renamed: None,
    }],
    dialog_frames: None,
    chunks: None,
    errors: &[
        ErrorText {
            code: Some(-32700),
            kind: "InvalidLine",
            text: "Parse error",
            when: "the line is not JSON; the id is null",
            span: Span::ALWAYS,
        },
        ErrorText {
            code: Some(-32600),
            kind: "InvalidRequest",
            text: "Invalid request",
            when: "the line is JSON but not a request; the id is null",
            span: Span::ALWAYS,
        },
        ErrorText {
            code: Some(-32601),
            kind: "UnknownCommand",
            text: "Method not found: {method}",
            when: "no method has that name",
            span: Span::ALWAYS,
        },
        ErrorText {
            code: Some(-32602),
            kind: "MissingParameters",
            text: "Missing required params: {params}",
            when: "a parameter is missing",
            span: Span::ALWAYS,
        },
        ErrorText {
            code: Some(-32602),
            kind: "MissingParameters",
            text: "Missing required param: {param}",
            when: "the only required parameter is missing",
            span: Span::ALWAYS,
        },
        ErrorText {
            code: Some(-32602),
            kind: "InvalidParameters",
            text: "Invalid params of {method}: {reason}",
            when: "a parameter has the wrong type or an invalid value",
            span: Span::ALWAYS,
        },
        ErrorText {
            code: Some(-32602),
            kind: "SessionNotFound",
            text: "Session not found",
            when: "no session has that id",
            span: Span::ALWAYS,
        },
        ErrorText {
            code: Some(-32603),
            kind: "InternalError",
            text: "Internal error",
            when: "the method failed",
            span: Span::ALWAYS,
        },
    ],
    text: TextPieces {
        begins: "message_start",
        event: "message_delta",
        path: &[],
        kind: None,
        piece: "delta",
    },
    probe_command: "opal/version",
    rows: &[types::ROWS, methods::ROWS, events::ROWS, requests::ROWS],
    settings: &[],
    matching: matching::MATCHING,
    meaning: meaning::MEANING,
    intents: intents::INTENTS,
};
