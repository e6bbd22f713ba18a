//! Operator, as its document says: seven commands, events in an envelope, answers on completion.
//!
//! One command runs at a time; the others are refused while a turn or a compaction goes on, and do not wait for it in
//! a lane. So every command is looked at as it comes.
//!
//! Source: the document "RPCServer" of Operator.

pub mod intents;
pub mod matching;
pub mod meaning;

use crate::dialect::{
    Case, Dialect, Edges, EndOfInput, Framing, HandlerFailure, ResponseOrder, Revision, RunEnd, TextPieces,
};
use crate::dsl::protocol;
use crate::model::Timeout::Never;
use crate::model::{ErrorText, Span};
use crate::typed::{Any, Bool, Count, List, Map, Nothing, Num, Object, Opt, OptNull, Str};

protocol! {
    /// Text of a message.
    record OperatorText(type = "text") {
        /// The text; in `message_update` the new piece of it.
        content: Str,
        ;
        example {"type": "text", "content": "Hello"}
    }

    /// Reasoning of the model.
    record OperatorThinking(type = "thinking") {
        /// The reasoning; in `message_update` the new piece of it.
        content: Str,
        /// An opaque signature from the provider.
        signature: OptNull<Str>,
        ;
        example {"type": "thinking", "content": "Let me see."}
    }

    /// A tool call of the model.
    record OperatorToolCall(type = "tool_call") {
        /// The call's id.
        id: Str,
        /// The tool's name.
        name: Str,
        /// What kind of tool it is.
        kind: OptNull<Str>,
        /// The arguments.
        args: Object,
        /// Facts of the provider.
        metadata: OptNull<Object>,
        ;
        example {"type": "tool_call", "id": "call_1", "name": "read", "args": {"path": "a.txt"}}
    }

    /// The result of a tool call.
    record OperatorToolResult(type = "tool_result") {
        /// The id of the call.
        id: Str,
        /// What the tool says.
        content: Str,
        /// Whether the tool failed.
        is_error: Bool,
        /// Facts of the tool.
        metadata: OptNull<Object>,
        /// Whether the run stops here.
        terminate: Opt<Bool>,
        /// What to say when it stops.
        terminate_message: OptNull<Str>,
        ;
        example {"type": "tool_result", "id": "call_1", "content": "hello", "is_error": false}
    }

    /// A part of a message.
    union OperatorContent(type, open) { OperatorText, OperatorThinking, OperatorToolCall, OperatorToolResult }

    /// The role of the speaker.
    strings OperatorRole(open) {
        /// The system prompt.
        "system",
        /// The user.
        "user",
        /// The model.
        "assistant",
        /// Tools.
        "tool",
    }

    /// Tokens used by an answer.
    record OperatorUsage {
        /// Input tokens.
        input_tokens: Opt<Count>,
        /// Output tokens.
        output_tokens: Opt<Count>,
        /// Tokens read from the provider's cache.
        cache_read_tokens: Opt<Count>,
        /// Tokens written to the provider's cache.
        cache_write_tokens: Opt<Count>,
        /// The cost in US dollars, by kind of token.
        cost: OptNull<Map<Num>>,
    }

    /// A message of the conversation.
    record OperatorMessage {
        /// Its parts.
        contents: List<OperatorContent>,
        /// Its id.
        id: Opt<Str>,
        /// When, in seconds since the epoch.
        timestamp: Opt<Num>,
        /// The role of the speaker.
        role: OperatorRole,
        /// Tokens, with answers of the model.
        usage: OptNull<OperatorUsage>,
        /// Why the model stopped.
        stop_reason: OptNull<Str>,
        /// The error message.
        error: OptNull<Any>,
        ;
        example {
            "contents": [{"type": "text", "content": "Hello"}], "id": "m-1", "timestamp": 1767225600.5, "role": "assistant"
        }
    }

    /// Runs a user's turn. Answered when the turn is over.
    command prompt(OperatorPromptParams {
        /// The prompt.
        text: Str,
        /// Options of the turn; an open object.
        options: Opt<Object>,
    }) -> Nothing {
        answer: Done;
        run: Starts;
        lane: Immediate;
        timeout: Never;
        errors {
            AgentBusy "Agent is busy (phase='{phase}'). Wait for the current operation to finish." => "a turn is going on";
        }
        example {"text": "explain this file"};
    }

    /// Compacts the conversation now. Refused while a turn is going on.
    command compact(OperatorCompactParams {
        /// Extra instructions for the summary.
        custom_instructions: Opt<Str>,
    }) -> Nothing {
        answer: Done;
        lane: Immediate;
        timeout: Never;
        errors {
            AgentBusy "Agent is busy (phase='{phase}'). Wait for the current operation to finish." => "a turn is going on";
        }
        example {"custom_instructions": "be short"};
    }

    /// Stops the turn that is going on.
    command abort() -> Nothing {
        answer: Done;
        run: Stops;
        lane: Immediate;
        example {};
    }

    /// Starts a new session.
    command new_session() -> Nothing {
        answer: Done;
        run: Replaces;
        lane: Immediate;
        example {};
    }

    /// Forks the session from one of its entries.
    command fork(OperatorForkParams {
        /// The session entry.
        entry_id: Str,
    }) -> Nothing {
        answer: Done;
        run: Replaces;
        lane: Immediate;
        errors {
            EntryNotFound "\"Entry '{entry_id}' not found in session.\"" => "there is no such entry";
        }
        example {"entry_id": "aaaa1111"};
    }

    /// Opens another session file.
    command switch_session(OperatorSwitchSessionParams {
        /// The session's file.
        session_file: Str,
    }) -> Nothing {
        answer: Done;
        run: Replaces;
        lane: Immediate;
        errors {
            SessionFileNotFound "session file not found: {session_file}" => "there is no such file";
        }
        example {"session_file": "/path/to/session.jsonl"};
    }

    /// What the agent is doing.
    strings OperatorPhase(open) {
        /// Nothing.
        "idle",
        /// A turn.
        "turn",
        /// Compaction.
        "compaction",
    }

    /// The agent's current state.
    record OperatorState {
        /// What it is doing.
        phase: OperatorPhase,
        /// Whether a turn is going on.
        is_streaming: Opt<Bool>,
        /// The session's file.
        session_file: OptNull<Str>,
        /// The session's id.
        session_id: OptNull<Str>,
        /// The session's name.
        session_name: OptNull<Str>,
        /// Tokens in the context.
        context_tokens: Opt<Count>,
        /// The context window in tokens.
        context_window: Opt<Count>,
        /// The number of messages in the conversation.
        message_count: Opt<Count>,
    }

    /// Returns the agent's current state.
    command get_state() -> OperatorState {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {
            "phase": "idle", "is_streaming": false, "session_file": "/path/to/session.jsonl", "session_id": "s1",
            "session_name": null, "context_tokens": 0, "context_window": 200000, "message_count": 0
        };
    }

    /// A run begins.
    event agent_start(OperatorAgentStart {}) {
        run: Begins;
        example {"type": "agent_start"};
    }

    /// A request to the model begins.
    event turn_start(OperatorTurnStart {}) {
        run: Begins;
        example {"type": "turn_start"};
    }

    /// A message begins.
    event message_start(OperatorMessageStart {
        /// The message; the model's is empty.
        message: OperatorMessage,
    }) {
        example {"type": "message_start", "message": {"contents": [], "id": "m-1", "timestamp": 1767225600.5, "role": "assistant"}};
    }

    /// The model's message grows. The message carries the new piece only.
    event message_update(OperatorMessageUpdate {
        /// A message whose contents are the new piece.
        message: OperatorMessage,
    }) {
        example {"type": "message_update", "message": {
            "contents": [{"type": "text", "content": "Hel"}], "id": "m-1", "timestamp": 1767225600.5, "role": "assistant"
        }};
    }

    /// A message is complete.
    event message_end(OperatorMessageEnd {
        /// The whole message.
        message: OptNull<OperatorMessage>,
    }) {
        example {"type": "message_end", "message": {
            "contents": [{"type": "text", "content": "Hello"}], "id": "m-1", "timestamp": 1767225600.5, "role": "assistant"
        }};
    }

    /// A tool begins to run.
    event tool_execution_start(OperatorToolExecutionStart {
        /// The call.
        tool_call: OperatorToolCall,
    }) {
        example {"type": "tool_execution_start", "tool_call": {"type": "tool_call", "id": "call_1", "name": "read", "args": {"path": "a.txt"}}};
    }

    /// A tool is done.
    event tool_execution_end(OperatorToolExecutionEnd {
        /// The result.
        tool_result: OperatorToolResult,
    }) {
        example {"type": "tool_execution_end", "tool_result": {"type": "tool_result", "id": "call_1", "content": "hello", "is_error": false}};
    }

    /// A request to the model and its tools are over.
    event turn_end(OperatorTurnEnd {
        /// The model's message; null where the request failed.
        message: OptNull<OperatorMessage>,
        /// The results of the tools.
        tool_results: Opt<List<OperatorToolResult>>,
    }) {
        example {"type": "turn_end", "message": {
            "contents": [{"type": "text", "content": "Hello"}], "id": "m-1", "timestamp": 1767225600.5, "role": "assistant"
        }, "tool_results": []};
    }

    /// A run is over; the answer to its prompt follows.
    event agent_end(OperatorAgentEnd {
        /// The messages of the run.
        messages: List<OperatorMessage>,
        /// The outcome, such as `completed`.
        reason: Opt<Str>,
    }) {
        run: MayEnd;
        example {"type": "agent_end", "messages": []};
    }
}

/// The revisions, the oldest first.
const REVISIONS: &[Revision] = &[Revision {
    name: "seed",
    document: "Operator, docs/rpc.md",
    parent: None,
    edges: Edges {
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
    },
    run_end: RunEnd { barrier: None, gap_ms: 0, answer_ends: true },
    shows: &[],
    excludes: &[],
    changes: &[],
}];

/// The Operator dialect.
pub const OPERATOR: Dialect = Dialect {
    name: "operator",
    revisions: REVISIONS,
    agent: "Operator",
    doc: "The RPC server of Operator.",
    parent: None,
    without: &[],
    framing: Framing::Enveloped,
    case: Case::Snake,
    events_open: true,
    event_members: &[],
    dialog_frames: None,
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
    rows: &[ROWS],
    settings: &[],
    matching: matching::MATCHING,
    meaning: meaning::MEANING,
    intents: intents::INTENTS,
};
