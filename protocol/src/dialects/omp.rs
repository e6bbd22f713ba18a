//! The omp dialect: pi's family with a state of its own, branches and reminders. Since 18.2 it has tools of the client,
//! subagents and frames in pieces.
//!
//! Sources: the document "RPC Protocol Reference" of omp 12.7.6, the frames of omp 13.19.0, and the types of omp
//! 18.2.3.

pub mod host;
pub mod intents;
pub mod matching;
pub mod meaning;
pub mod revision_18_2;
pub mod subagents;

use crate::dialect::{
    Behavior, Chunks, Dialect, DialogFrames, Edges, EndOfInput, Fingerprint, Framing, HandlerFailure,
    NameCase, ResponseOrder, Revision, RunEnd,
};
use crate::dialects::pi;
use crate::dsl::protocol;
use crate::model::Timeout::Never;
use crate::model::{ErrorText, Span};
use crate::typed::{Any, Bool, Count, Int, List, Nothing, Nullable, Num, Object, Opt, OptNull, Str};
use crate::types::content::{ImageContent, InputContent};
use crate::types::model::{Model, ThinkingLevel};
use crate::types::session::{ContextUsage, ForkPoints, ForkResult, QueueMode};

use revision_18_2::TodoPhase;

use pi::commands::{CompactParams, ExportHtmlParams, PromptParams};

protocol! {
    /// Sends a prompt to the agent. The agent acknowledges it at once; a failure with the same id may follow. During a
    /// run, `streamingBehavior` must state how the agent queues the prompt.
    command prompt(PromptParams) -> Nothing {
        answer: Acknowledged;
        run: Starts;
        lane: Session;
        timeout: Never;
        errors {
            AgentBusy "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."
                => "the agent is busy and `streamingBehavior` is missing";
        }
        example {"message": "Summarize this repo"};
    }

    /// Stops the current run, then sends a prompt. The agent acknowledges it when the run has stopped; a failure with
    /// the same id may follow.
    command abort_and_prompt(AbortAndPromptParams {
        /// Text of the prompt.
        message: Str,
        /// Images of the prompt.
        images: Opt<List<ImageContent>>,
    }) -> Nothing {
        answer: Acknowledged;
        run: Starts;
        lane: Session;
        timeout: Never;
        example {"message": "Do this instead"};
    }

    /// The time at which steering messages reach the agent.
    strings InterruptMode(closed) {
        /// Steering messages reach the agent between two tool calls. The remaining calls of the turn are
        /// skipped.
        "immediate",
        /// Steering messages reach the agent at the end of the turn.
        "wait",
    }

    /// Sets the time at which steering messages reach the agent.
    command set_interrupt_mode(SetInterruptModeParams {
        /// Time of delivery: between tool calls, or at the end of the turn.
        mode: InterruptMode,
    }) -> Nothing {
        answer: Done;
        lane: Immediate;
        example {"mode": "wait"};
    }

    /// The current state of the agent.
    record OmpSessionState {
        /// The current model; null or absent if there is none.
        model: OptNull<Model>,
        /// Thinking level of the model; absent if the model cannot think.
        thinkingLevel: Opt<ThinkingLevel>,
        /// `true` during a run and while the agent waits for a retry.
        isStreaming: Bool,
        /// `true` during a compaction.
        isCompacting: Bool,
        /// Delivery of steering messages.
        steeringMode: QueueMode,
        /// Delivery of follow-up messages.
        followUpMode: QueueMode,
        /// Time at which steering messages reach the agent.
        interruptMode: InterruptMode,
        /// Path of the session file; absent if the session is not stored.
        sessionFile: Opt<Str>,
        /// Id of the session.
        sessionId: Str,
        /// Name of the session, as set by `set_session_name`.
        sessionName: Opt<Str>,
        /// `true` if the agent compacts on its own when the context fills up.
        autoCompactionEnabled: Bool,
        /// Number of messages in the conversation.
        messageCount: Count,
        /// Number of queued messages.
        queuedMessageCount: Count,
        /// The todo list, in parts.
        todoPhases: List<TodoPhase> [since "omp@18.2"],
        /// `true` if fast mode was requested.
        fastModeEnabled: Bool [since "omp@18.2"],
        /// `true` if the model supports fast mode and uses it.
        fastModeActive: Bool [since "omp@18.2"],
        /// Output rate of the model in tokens per second; null if unknown.
        tokensPerSecond: Nullable<Num> [since "omp@18.2"],
        /// System prompt, in parts.
        systemPrompt: Opt<List<Str>> [since "omp@18.2"],
        /// Declarations of the tools, as the model receives them.
        dumpTools: Opt<List<Object>> [since "omp@18.2"],
        /// Use of the context window.
        contextUsage: Opt<ContextUsage> [since "omp@18.2"],
    }

    /// Returns the current state of the agent.
    command get_state() -> OmpSessionState {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {
            "thinkingLevel": "medium", "isStreaming": false, "isCompacting": false, "steeringMode": "one-at-a-time",
            "followUpMode": "one-at-a-time", "interruptMode": "immediate", "sessionFile": "/path/to/session.jsonl",
            "sessionId": "abc123", "sessionName": "my-feature-work", "autoCompactionEnabled": true,
            "messageCount": 0, "queuedMessageCount": 0, "todoPhases": [], "fastModeEnabled": false, "fastModeActive": false,
            "tokensPerSecond": null
        };
    }

    /// Replaces the older part of the conversation by a summary.
    command compact(CompactParams) -> crate::types::session::CompactionResult {
        answer: Done;
        run: Replaces;
        lane: Session;
        timeout: Never;
        errors {
            AlreadyCompacted "Failed to parse command: Already compacted" => "the conversation has no new messages since the last compaction" [until "omp@18.2"];
            NothingToCompact "Failed to parse command: Nothing to compact (session too small)" => "there is nothing to summarise" [until "omp@18.2"];
            AlreadyCompacted "Already compacted" => "the conversation has no new messages since the last compaction" [since "omp@18.2"];
            NothingToCompact "Nothing to compact (session too small)" => "there is nothing to summarise" [since "omp@18.2"];
        }
        example {"customInstructions": "Focus on code changes"} -> {
            "summary": "Summary of conversation...", "firstKeptEntryId": "abc123", "tokensBefore": 150000, "details": {}
        };
    }

    /// Exports the session as an HTML page.
    command export_html(ExportHtmlParams) -> crate::types::session::WrittenFile {
        answer: Done;
        lane: Session;
        errors {
            SessionNotInFile "Failed to parse command: Cannot export in-memory session to HTML" => "the session is not stored in a file" [until "omp@18.2"];
            SessionNotInFile "Cannot export in-memory session to HTML" => "the session is not stored in a file" [since "omp@18.2"];
        }
        example {"outputPath": "/tmp/session.html"} -> {"path": "/tmp/session.html"};
    }

    /// Makes a branch of the session that ends before one of the user's messages. An extension can prevent it.
    command branch(BranchParams {
        /// Entry id of that message; `get_branch_messages` lists the possible values.
        entryId: Str,
    }) -> ForkResult {
        answer: Done;
        run: Replaces;
        lane: Session;
        errors {
            EntryNotFound "Failed to parse command: Invalid entry ID for branching" => "no message of the user has that id" [until "omp@18.2"];
            EntryNotFound "Invalid entry ID for branching" => "no message of the user has that id" [since "omp@18.2"];
        }
        example {"entryId": "abc123"} -> {"text": "The original prompt text...", "cancelled": false};
    }

    /// Lists the user's messages that can be the start of a branch.
    command get_branch_messages() -> ForkPoints {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"messages": [{"entryId": "abc123", "text": "First prompt..."}]};
    }

    /// A rule that matched the output of the model.
    record StreamRule {
        /// Name of the rule.
        name: Str,
        /// Path of the rule's file.
        path: Opt<Str>,
        /// Text of the rule.
        content: Opt<Str>,
    }

    /// A message of the agent itself that the model reads as instructions, such as a reminder or the request to
    /// continue.
    record DeveloperMessage(role = "developer") {
        /// Content of the message.
        content: InputContent,
        /// Time of the message in milliseconds since the epoch.
        timestamp: Int,
        ;
        example {"role": "developer", "content": [{"type": "text", "text": "Go on."}], "timestamp": 1733234567890}
    }

    /// A file that a prompt mentions.
    record MentionedFile {
        /// Path of the file, as in the prompt.
        path: Str,
        /// Content of the file, or the reason for its omission; for a directory, its entries.
        content: Str,
        /// Number of lines in the file.
        lineCount: Opt<Count>,
        /// Size of the file in bytes.
        byteSize: Opt<Count>,
        /// Reason for skipping the file, as in `tooLarge`.
        skippedReason: Opt<Str>,
        /// The image, if the file is one.
        image: Opt<ImageContent>,
    }

    /// The files that a prompt mentions with `@`.
    record FileMentionMessage(role = "fileMention") {
        /// The files in the order of the prompt.
        files: List<MentionedFile>,
        /// Time of the message in milliseconds since the epoch.
        timestamp: Int,
        ;
        example {
            "role": "fileMention", "timestamp": 1733234567890,
            "files": [{"path": "notes.md", "content": "One line.", "lineCount": 1}]
        }
    }

    /// The agent is ready to receive commands. This is the first frame that it sends.
    event ready(Ready {
        /// Current version of the transport.
        protocolVersion: Count [since "omp@18.2"],
        /// Versions that `negotiate_protocol` accepts.
        supportedProtocolVersions: List<Count> [since "omp@18.2"],
        /// Maximum length of a line in bytes.
        maxFrameBytes: Count [since "omp@18.2"],
        /// Maximum length of a frame in pieces in bytes.
        maxReassembledFrameBytes: Count [since "omp@18.2"],
    }) [since "omp@13.19"] {
        example {
            "type": "ready", "protocolVersion": 1, "supportedProtocolVersions": [1, 2], "maxFrameBytes": 1048576,
            "maxReassembledFrameBytes": 67108864
        };
    }

    /// The output of the model matched a rule. The agent stops the turn and runs it again with the rule in the context:
    /// `agent_end` follows, and then another `agent_start`.
    event ttsr_triggered(TtsrTriggered {
        /// Rules that matched the output.
        rules: List<StreamRule>,
    }) {
        example {"type": "ttsr_triggered", "rules": [{"name": "no-print", "content": "Do not print."}]};
    }

    /// An item of the todo list.
    record TodoItem {
        /// Id of the item.
        id: Opt<Str>,
        /// Description of the task.
        content: Str,
        /// Status of the item, such as `pending`.
        status: Str,
        /// Additional data from the tool.
        notes: OptNull<Any>,
        /// Reason for the status `blocked`.
        blocker: Opt<Str> [since "omp@18.2"],
    }

    /// The model stopped with unfinished todo items; the agent reminds it of them and continues.
    event todo_reminder(TodoReminder {
        /// Unfinished items of the todo list.
        todos: List<TodoItem>,
        /// Number of this reminder, from 1.
        attempt: Count,
        /// Maximum number of reminders.
        maxAttempts: Count,
    }) {
        run: Holds;
        example {
            "type": "todo_reminder", "todos": [{"id": "task-1", "content": "Run the tests", "status": "pending"}],
            "attempt": 1, "maxAttempts": 3
        };
    }

    /// Withdraws an unanswered dialog whose origin was aborted. The actual agent sends it for an editor and withdraws
    /// other dialogs without a frame.
    dialog cancel(CancelNotice {
        /// Id of the dialog.
        targetId: Str,
    }) {
        withdraws: "targetId";
        undocumented: true;
        example {"targetId": "15d73ebd288b611e"};
    }
}

/// The rules for edge cases of omp, also used by pisces.
pub(super) const EDGES: Edges = Edges {
    unknown_command_echoes_id: false,
    unknown_command_text: "Unknown command: {command}",
    handler_failure: HandlerFailure::ParseWithoutId {
        except: &["prompt", "abort_and_prompt", "set_model", "set_session_name"],
        // A missing name causes an error within the agent; the command rejects an empty name.
        invalid: &["prompt", "abort_and_prompt", "set_model"],
    },
    parse_prefix: "Failed to parse command: ",
    parse_command: "parse",
    blank_line_is_error: false,
    unfinished_line_counts: true,
    empty_data: false,
    response_order: ResponseOrder::IdFirst,
    end_of_input: EndOfInput::Abort,
    bare_events: false,
    longest_command: None,
};

/// The rules for the end of a run in omp and pisces: rules and reminders restart it within 100 milliseconds.
pub(super) const RUN_END: RunEnd =
    RunEnd { barrier: Some(pi::BARRIER), state: None, gap_ms: 150, answer_ends: false };

/// The frames for dialogs, as in pi.
pub(super) const DIALOG_FRAMES: Option<DialogFrames> = pi::PI.dialog_frames;

/// The frames that carry a long frame in pieces. The agent sends them only if the client has requested them.
const CHUNKS: Chunks = Chunks {
    event: "rpc_chunk",
    id: "chunkId",
    index: "index",
    count: "count",
    length: "byteLength",
    data: "data",
    most: 64 * 1024 * 1024,
};

/// The revisions, oldest first.
const REVISIONS: &[Revision] = &[
    Revision {
        name: "12.7",
        document: "omp, docs/rpc.md (12.7.6)",
        parent: Some("0.55"),
        edges: EDGES,
        run_end: RUN_END,
        behavior: Behavior::FIRST,
        shows: &[],
        excludes: &[],
        changes: &[],
    },
    Revision {
        name: "13.19",
        document: "omp, docs/rpc.md (12.7.6), and recorded frames of omp 13.19.0",
        parent: Some("0.55"),
        edges: EDGES,
        run_end: RUN_END,
        behavior: Behavior::FIRST,
        shows: &[Fingerprint::Event("ready")],
        excludes: &[],
        changes: &[],
    },
    Revision {
        name: "18.2",
        document: "omp, the types of RPC mode (18.2.3)",
        parent: Some("0.55"),
        edges: Edges { handler_failure: HandlerFailure::OwnCommandAndId, ..EDGES },
        run_end: RUN_END,
        behavior: Behavior::FIRST,
        shows: &[
            Fingerprint::EventMember("ready", "protocolVersion"),
            Fingerprint::EventMember("agent_end", "isTerminal"),
            Fingerprint::Event("available_commands_update"),
            Fingerprint::Event("advisor_cost_changed"),
            Fingerprint::Event("thinking_level_changed"),
        ],
        excludes: &[
            Fingerprint::EventWithout("ready", "protocolVersion"),
            Fingerprint::EventWithout("agent_end", "isTerminal"),
        ],
        changes: &[],
    },
];

/// The omp dialect.
pub const OMP: Dialect = Dialect {
    name: "omp",
    revisions: REVISIONS,
    agent: "omp",
    doc: "The RPC mode of omp (oh-my-pi).",
    parent: Some(&pi::PI),
    without: &["fork", "get_fork_messages", "get_commands"],
    framing: Framing::Flat,
    case: NameCase::Camel,
    events_open: true,
    event_members: &[],
    dialog_frames: DIALOG_FRAMES,
    chunks: Some(CHUNKS),
    errors: &[
        ErrorText {
            code: None,
            kind: "UnknownCommand",
            text: "Unknown command: {command}",
            when: "no command has that name; sent without the id",
            span: Span::ALWAYS,
        },
        ErrorText {
            code: None,
            kind: "CommandFailed",
            text: "Failed to parse command: {reason}",
            when: "the line cannot be read, or a handler failed; sent as `parse` without the id",
            span: Span::ALWAYS,
        },
    ],
    text: pi::TEXT,
    probe_command: "get_state",
    rows: &[ROWS, host::ROWS, subagents::ROWS, revision_18_2::ROWS],
    settings: &[],
    matching: matching::MATCHING,
    meaning: meaning::MEANING,
    intents: intents::INTENTS,
};
