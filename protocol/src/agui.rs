//! The Agent User Interaction protocol (AG-UI), between components of web pages and an agent over HTTP. It has one
//! command, an HTTP request of its own; the answer is a stream of events, which ends with the run.
//!
//! AG-UI is declared like a dialect but is not one: a client has only one command, and sends the conversation with
//! each call. On the wire the command's parameters are the whole body of a POST, and each event is the data of a
//! server-sent event. The declaration covers the frames that are read and sent here. AG-UI's own events for steps,
//! activities, states and subagents are not sent and not declared.
//!
//! Source: the schemas of the npm package `@ag-ui/core` 1.0.0.
//!
//! | file | content |
//! |---|---|
//! | `messages` | messages, their parts, and the input of a run |
//! | `events` | events about a run |
//! | `meaning` | losses with an agent of a dialect behind AG-UI |

pub mod events;
mod meaning;
pub mod messages;

use crate::dialect::{
    Behavior, Dialect, Edges, EndOfInput, Framing, HandlerFailure, NameCase, ResponseOrder, Revision, RunEnd,
    TextPieces,
};
use crate::matching::{Matching, Sessions};
use crate::model::{ErrorText, Span};

const REVISIONS: &[Revision] = &[Revision {
    name: "1",
    document: "the schemas of `@ag-ui/core` 1.0.0",
    parent: None,
    edges: Edges {
        unknown_command_echoes_id: false,
        unknown_command_text: "Unknown command: {command}",
        handler_failure: HandlerFailure::OwnCommandAndId,
        parse_prefix: "",
        parse_command: "",
        blank_line_is_error: true,
        unfinished_line_counts: true,
        empty_data: false,
        response_order: ResponseOrder::TypeFirst,
        end_of_input: EndOfInput::Abort,
        bare_events: false,
        longest_command: None,
    },
    run_end: RunEnd { barrier: None, state: None, gap_ms: 0, answer_ends: false },
    behavior: Behavior::FIRST,
    shows: &[],
    excludes: &[],
    changes: &[],
}];

const fn error(kind: &'static str, text: &'static str, when: &'static str) -> ErrorText {
    ErrorText { code: None, kind, text, when, span: Span::ALWAYS }
}

/// The declaration of AG-UI, version 1.
pub const AGUI: Dialect = Dialect {
    name: "agui",
    revisions: REVISIONS,
    agent: "an agent of the Agent User Interaction protocol",
    doc: "The Agent User Interaction protocol (AG-UI), between components of web pages and agents.",
    parent: None,
    without: &[],
    framing: Framing::Flat,
    case: NameCase::Camel,
    events_open: true,
    event_members: &[],
    dialog_frames: None,
    chunks: None,
    errors: &[
        error("InvalidLine", "not a request: {reason}", "the body is not JSON or lacks a member"),
        error("UnknownCommand", "Unknown command: {command}", "never, as there is only one command"),
    ],
    text: TextPieces {
        begins: "TEXT_MESSAGE_START",
        event: "TEXT_MESSAGE_CONTENT",
        path: &[],
        kind: None,
        piece: "delta",
    },
    probe_command: "run_agent",
    rows: &[messages::ROWS, events::ROWS],
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
    intents: meaning::INTENTS,
};
