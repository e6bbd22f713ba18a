//! The pi dialect, the base of its family: revision 0.55, 1.5 with its changes, and 1.6 with the frames of 1.5.
//!
//! Sources: the document "RPC Mode" of pi 0.52.10 to 0.55.4, and the documents of pi 1.5.2. The latter describe RPC
//! mode, its commands and events, messages, dialogs and session files. Recordings are the source for the differences of
//! pi 1.6.0.

pub mod allowances;
pub mod commands;
pub mod dialogs;
pub mod events;
pub mod intents;
pub mod matching;
pub mod meaning;

use crate::dialect::{
    BARRIER_LIMIT_MS, Barrier, Behavior, Dialect, DialogFrames, Edges, EndOfInput, Fingerprint, Framing,
    HandlerFailure, NameCase, ResponseOrder, Revision, RunEnd, TextPieces,
};
use crate::model::{ErrorText, Span};
use crate::types;

/// The command `get_state`, whose answer proves the end of a run in the whole family.
pub const BARRIER: Barrier =
    Barrier { command: "get_state", busy: "isStreaming", idle: None, limit_ms: BARRIER_LIMIT_MS };

/// The location of the model's text in frames of the whole family.
pub const TEXT: TextPieces = TextPieces {
    begins: "message_start",
    event: "message_update",
    path: &["assistantMessageEvent"],
    kind: Some(("type", "text_delta")),
    piece: "delta",
};

/// The rules for edge cases: unknown commands, invalid lines, end of input.
const EDGES: Edges = Edges {
    unknown_command_echoes_id: true,
    unknown_command_text: "Unknown command: {command}",
    handler_failure: HandlerFailure::OwnCommandAndId,
    parse_prefix: "Failed to parse command: ",
    parse_command: "parse",
    blank_line_is_error: true,
    unfinished_line_counts: true,
    empty_data: false,
    response_order: ResponseOrder::IdFirst,
    end_of_input: EndOfInput::Finish,
    bare_events: false,
    longest_command: None,
};

/// The rules for the end of a run.
const RUN_END: RunEnd = RunEnd { barrier: Some(BARRIER), state: None, gap_ms: 0, answer_ends: false };

#[cfg(agentese_made_up)]
#[path = "../../made-up/pi_9_9.rs"]
mod made_up;

/// The revisions, oldest first.
const REVISIONS: &[Revision] = &[
    Revision {
        name: "0.55",
        document: "pi, docs/rpc.md (0.52.10 to 0.55.4)",
        parent: None,
        edges: EDGES,
        run_end: RUN_END,
        behavior: Behavior::FIRST,
        shows: &[],
        excludes: &[],
        changes: &[],
    },
    Revision {
        name: "1.5",
        document: "pi, docs/rpc.md and docs/rpc-commands.md (1.5.2)",
        parent: None,
        // The end of stdin aborts the current work, and the agent emits no further events about it.
        edges: Edges { end_of_input: EndOfInput::Abort, ..EDGES },
        run_end: RUN_END,
        behavior: Behavior::FIRST,
        shows: &[
            Fingerprint::AnswerMember("prompt", "disposition"),
            Fingerprint::AnswerMember("steer", "disposition"),
            Fingerprint::AnswerMember("follow_up", "disposition"),
            Fingerprint::EventMember("agent_end", "willRetry"),
            Fingerprint::EventMember("message_update", "usage"),
            Fingerprint::Event("agent_settled"),
            Fingerprint::Event("queue_update"),
            Fingerprint::Event("session_info_changed"),
            Fingerprint::Event("thinking_level_changed"),
            Fingerprint::Event("bash_execution_update"),
            Fingerprint::Event("compaction_start"),
        ],
        excludes: &[
            Fingerprint::AnswerWithout("prompt", "disposition"),
            Fingerprint::EventWithout("agent_end", "willRetry"),
            Fingerprint::EventMember("message_update", "message"),
            Fingerprint::Event("auto_compaction_start"),
        ],
        changes: &[],
    },
    Revision {
        name: "1.6",
        document: "pi, docs/rpc-commands.md and recorded frames (1.6.0)",
        parent: None,
        edges: Edges { end_of_input: EndOfInput::Abort, ..EDGES },
        run_end: RUN_END,
        behavior: Behavior {
            skips_textless_answers: true,
            blind_model_detail: Some("imageUnsupportedByModel"),
            retried_words: &[
                "connection closed",
                "connection reset by peer",
                "econnreset",
                "econnaborted",
                "econnrefused",
                "etimedout",
                "epipe",
                "websocket connection limit reached",
            ],
            reports_listener_failures: true,
        },
        shows: &[],
        excludes: &[],
        changes: &[],
    },
    #[cfg(agentese_made_up)]
    made_up::REVISION,
];

/// The pi dialect.
pub const PI: Dialect = Dialect {
    name: "pi",
    revisions: REVISIONS,
    agent: "pi",
    doc: "The RPC mode of the pi coding agent.",
    parent: None,
    without: &[],
    framing: Framing::Flat,
    case: NameCase::Camel,
    events_open: true,
    event_members: &[],
    dialog_frames: Some(DialogFrames {
        request: "extension_ui_request",
        answer: "extension_ui_response",
        answer_type: "DialogAnswer",
    }),
    chunks: None,
    errors: &[
        ErrorText {
            code: None,
            kind: "UnknownCommand",
            text: "Unknown command: {command}",
            when: "no command has that name",
            span: Span::ALWAYS,
        },
        ErrorText {
            code: None,
            kind: "InvalidLine",
            text: "Failed to parse command: {reason}",
            when: "the line is not a JSON object, or a member is missing or invalid",
            span: Span::ALWAYS,
        },
    ],
    text: TEXT,
    probe_command: "get_state",
    rows: &[
        types::content::ROWS,
        types::entry::ROWS,
        types::message::ROWS,
        types::model::ROWS,
        types::stream::ROWS,
        types::session::ROWS,
        commands::ROWS,
        events::ROWS,
        dialogs::ROWS,
        #[cfg(agentese_made_up)]
        made_up::ROWS,
    ],
    settings: &[],
    matching: matching::MATCHING,
    meaning: meaning::MEANING,
    intents: intents::INTENTS,
};
