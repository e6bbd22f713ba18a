//! The Operator dialect, in two revisions: by its document, and by its published sources.
//!
//! The document has seven commands, events in an envelope, and answers on completion. The sources have more commands
//! and events, events without an envelope, and immediate answers ([`live`]).
//!
//! In the document one command runs at a time. During a turn or a compaction the agent rejects other commands instead
//! of queueing them in a lane. The agent therefore checks every command on its arrival.
//!
//! Sources: the document "RPCServer" of Operator, and the RPC server among its published sources.

pub mod hooks;
pub mod intents;
pub mod live;
pub mod matching;
pub mod meaning;
pub mod types;

use crate::dialect::{
    Barrier, Behavior, Dialect, DialogFrames, Edges, EndOfInput, Fingerprint, Framing, HandlerFailure,
    NameCase, ResponseOrder, Revision, RunEnd, TextPieces,
};
use crate::dsl::protocol;
use crate::model::Timeout::Never;
use crate::model::{ErrorText, Span};
use crate::typed::{Count, List, Nothing, Num, Object, Opt, OptNull, Str};

use live::{OperatorForkResult, OperatorSwitchResult};
use types::{OperatorMessage, OperatorState, OperatorToolCall, OperatorToolResult};

protocol! {
    /// Runs a turn with the user's input. In the document, the answer follows at the end of the turn. The published
    /// sources answer before the turn starts, and silently drop a prompt that arrives during a turn. In them, a
    /// text that begins with `/` is a command of the agent.
    command prompt(OperatorPromptParams {
        /// Text of the prompt.
        text: Str as message since "operator@live",
        /// Options of the turn, an open object.
        options: Opt<Object> [until "operator@live"],
    }) -> Nothing {
        answer: Done;
        later: Accepted [since "operator@live"];
        run: Starts;
        lane: Immediate;
        timeout: Never;
        errors {
            AgentBusy "Agent is busy (phase='{phase}'). Wait for the current operation to finish." => "a turn is in progress" [until "operator@live"];
            MissingParameters "'message' is required" => "the prompt is missing or empty" [since "operator@live"];
        }
        example {"text": "explain this file"};
    }

    /// Compacts the conversation: in the document at once, or rejected during a turn; in the published sources after
    /// the next turn.
    command compact(OperatorCompactParams {
        /// Extra instructions for the summary.
        custom_instructions: Opt<Str>,
    }) -> Nothing {
        answer: Done;
        later: Accepted [since "operator@live"];
        lane: Immediate;
        timeout: Never;
        errors {
            AgentBusy "Agent is busy (phase='{phase}'). Wait for the current operation to finish." => "a turn is in progress" [until "operator@live"];
            NoSession "No active session" => "there is no session" [since "operator@live"];
        }
        example {"custom_instructions": "be short"};
    }

    /// Stops the current turn.
    command abort() -> Nothing {
        answer: Done;
        run: Stops;
        lane: Immediate;
        example {};
    }

    /// Starts a new session.
    command new_session() -> OperatorSwitchResult {
        result: [since "operator@live"];
        answer: Done;
        run: Replaces;
        lane: Immediate;
        example {} -> {"cancelled": false};
    }

    /// Forks the session from one of its entries.
    command fork(OperatorForkParams {
        /// Id of the session entry.
        entry_id: Str,
    }) -> OperatorForkResult {
        result: [since "operator@live"];
        answer: Done;
        run: Replaces;
        lane: Immediate;
        errors {
            EntryNotFound "\"Entry '{entry_id}' not found in session.\"" => "no entry has that id";
            MissingParameters "'entry_id' is required" => "the entry is missing or empty" [since "operator@live"];
        }
        example {"entry_id": "aaaa1111"} -> {"entry_id": "aaaa1111", "cancelled": false};
    }

    /// Opens another session file. The published sources create a missing file, and ignore a file outside the directory
    /// of sessions; both look like success.
    command switch_session(OperatorSwitchSessionParams {
        /// Path of the session file.
        session_file: Str as session_path since "operator@live",
    }) -> OperatorSwitchResult {
        result: [since "operator@live"];
        answer: Done;
        run: Replaces;
        lane: Immediate;
        errors {
            SessionFileNotFound "session file not found: {session_file}" => "the file does not exist" [until "operator@live"];
            MissingParameters "'session_path' is required" => "the file is missing or empty" [since "operator@live"];
        }
        example {"session_file": "/path/to/session.jsonl"} -> {"cancelled": false};
    }

    /// Returns the current state of the agent.
    command get_state() -> OperatorState {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {
            "phase": "idle", "is_streaming": false, "session_file": "/path/to/session.jsonl", "session_id": "s1",
            "session_name": null, "context_tokens": 0, "context_window": 200000, "message_count": 0
        };
    }

    /// A run starts.
    event agent_start(OperatorAgentStart {}) {
        run: Begins;
        example {"type": "agent_start"};
    }

    /// A request to the model starts.
    event turn_start(OperatorTurnStart {
        /// Number of the turn; always 0.
        turn_index: Count [since "operator@live"],
        /// Time of the event; always 0.
        timestamp: Num [since "operator@live"],
    }) {
        run: Begins;
        example {"type": "turn_start", "turn_index": 0, "timestamp": 0.0};
    }

    /// A message starts.
    event message_start(OperatorMessageStart {
        /// The message; empty for a message of the model.
        message: OperatorMessage,
    }) {
        example {"type": "message_start", "message": {"contents": [], "id": "m-1", "timestamp": 1767225600.5, "role": "assistant"}};
    }

    /// The model continues its message. The event carries only the new piece.
    event message_update(OperatorMessageUpdate {
        /// A message with the new piece as its contents.
        message: OperatorMessage,
    }) {
        example {"type": "message_update", "message": {
            "contents": [{"type": "text", "content": "Hel"}], "id": "m-1", "timestamp": 1767225600.5, "role": "assistant"
        }};
    }

    /// A message is complete.
    event message_end(OperatorMessageEnd {
        /// The complete message.
        message: OptNull<OperatorMessage>,
    }) {
        example {"type": "message_end", "message": {
            "contents": [{"type": "text", "content": "Hello"}], "id": "m-1", "timestamp": 1767225600.5, "role": "assistant"
        }};
    }

    /// A tool starts to run.
    event tool_execution_start(OperatorToolExecutionStart {
        /// The tool call.
        tool_call: OperatorToolCall,
    }) {
        example {"type": "tool_execution_start", "tool_call": {"type": "tool_call", "id": "call_1", "name": "read", "args": {"path": "a.txt"}}};
    }

    /// A tool ends.
    event tool_execution_end(OperatorToolExecutionEnd {
        /// Result of the tool.
        tool_result: OperatorToolResult,
    }) {
        example {"type": "tool_execution_end", "tool_result": {"type": "tool_result", "id": "call_1", "content": "hello", "is_error": false}};
    }

    /// A request to the model and its tools have ended.
    event turn_end(OperatorTurnEnd {
        /// Number of the turn; always 0.
        turn_index: Count [since "operator@live"],
        /// The message of the model; null if the request failed.
        message: OptNull<OperatorMessage>,
        /// The results of the tools.
        tool_results: Opt<List<OperatorToolResult>>,
    }) {
        example {"type": "turn_end", "turn_index": 0, "message": {
            "contents": [{"type": "text", "content": "Hello"}], "id": "m-1", "timestamp": 1767225600.5, "role": "assistant"
        }, "tool_results": []};
    }

    /// A run ends. In the document, the answer to its prompt follows. The published sources send this event twice:
    /// first with the outcome of the run, then with `completed` and the messages of the process. After a failure, which
    /// the agent may retry, they send it once.
    event agent_end(OperatorAgentEnd {
        /// The messages of the run.
        messages: List<OperatorMessage>,
        /// Outcome of the run, such as `completed`.
        reason: Opt<Str>,
    }) {
        run: MayEnd;
        example {"type": "agent_end", "messages": []};
    }
}

/// The rules for edge cases: unknown commands, invalid lines, end of input.
const EDGES: Edges = Edges {
    unknown_command_echoes_id: true,
    unknown_command_text: "Unknown command: '{command}'",
    handler_failure: HandlerFailure::OwnCommandAndId,
    parse_prefix: "",
    parse_command: "parse",
    blank_line_is_error: false,
    unfinished_line_counts: true,
    empty_data: true,
    response_order: ResponseOrder::TypeFirst,
    end_of_input: EndOfInput::Abort,
    bare_events: false,
    longest_command: None,
};

/// Timeout in milliseconds for a state that shows the end of a run. The published sources answer at once, or with a
/// failure.
const STATE_LIMIT_MS: u64 = 1_000;

/// The command that reports whether the agent is working.
const STATE: Barrier =
    Barrier { command: "get_state", busy: "is_streaming", idle: None, limit_ms: STATE_LIMIT_MS };

/// The revisions, oldest first.
const REVISIONS: &[Revision] = &[
    Revision {
        name: "seed",
        document: "Operator, docs/rpc.md",
        parent: None,
        edges: EDGES,
        run_end: RunEnd { barrier: None, state: Some(STATE), gap_ms: 0, answer_ends: true },
        behavior: Behavior::FIRST,
        shows: &[],
        excludes: &[],
        changes: &[],
    },
    Revision {
        name: "live",
        document: "the RPC server among the published sources of Operator",
        parent: None,
        // The reader of the agent fails with an exception if a line is longer than its buffer.
        edges: Edges { empty_data: false, bare_events: true, longest_command: Some(64 * 1024), ..EDGES },
        // `settled` ends a run, but is absent after failures and while input of the user is queued. The frames of a
        // retry follow at once.
        run_end: RunEnd { barrier: Some(STATE), state: None, gap_ms: 250, answer_ends: false },
        behavior: Behavior::FIRST,
        shows: &[
            Fingerprint::BareEvent,
            Fingerprint::AnswerBare("prompt"),
            Fingerprint::AnswerMember("new_session", "cancelled"),
            Fingerprint::AnswerMember("fork", "cancelled"),
            Fingerprint::AnswerMember("switch_session", "cancelled"),
            Fingerprint::AnswerMember("get_messages", "messages"),
            Fingerprint::AnswerMember("get_session_stats", "entry_count"),
        ],
        excludes: &[
            Fingerprint::WrappedEvent,
            Fingerprint::AnswerWithout("new_session", "cancelled"),
            Fingerprint::AnswerWithout("fork", "cancelled"),
            Fingerprint::AnswerWithout("switch_session", "cancelled"),
        ],
        changes: &[],
    },
];

/// The Operator dialect.
pub const OPERATOR: Dialect = Dialect {
    name: "operator",
    revisions: REVISIONS,
    agent: "Operator",
    doc: "The RPC server of Operator.",
    parent: None,
    without: &[],
    framing: Framing::Enveloped,
    case: NameCase::Snake,
    events_open: true,
    event_members: &[],
    dialog_frames: Some(DialogFrames {
        request: "extension_ui_request",
        answer: "extension_ui_response",
        answer_type: "OperatorDialogAnswer",
    }),
    chunks: None,
    errors: &[
        ErrorText {
            code: None,
            kind: "UnknownCommand",
            text: "Unknown command: '{command}'",
            when: "no command has that name",
            span: Span::ALWAYS,
        },
        ErrorText {
            code: None,
            kind: "InvalidLine",
            text: "{reason}",
            when: "the line is not JSON; sent as `parse` without id",
            span: Span::ALWAYS,
        },
    ],
    text: TextPieces {
        begins: "message_start",
        event: "message_update",
        path: &["message", "contents"],
        kind: Some(("type", "text")),
        piece: "content",
    },
    probe_command: "get_state",
    rows: &[types::ROWS, ROWS, live::ROWS, hooks::ROWS],
    settings: &[],
    matching: matching::MATCHING,
    meaning: meaning::MEANING,
    intents: intents::INTENTS,
};
