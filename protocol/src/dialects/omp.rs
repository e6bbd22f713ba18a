//! omp: pi's family, with a state of its own, branches and reminders; from 18.2 on with tools of the client, subagents and
//! frames in pieces.
//!
//! Sources: the document "RPC Protocol Reference" of omp 12.7.6, what omp 13.19.0 sends, and the types of omp 18.2.3.

pub mod host;
pub mod intents;
pub mod matching;
pub mod meaning;
pub mod subagents;
pub mod today;

use crate::dialect::{
    Behavior, Case, Chunks, Dialect, DialogFrames, Edges, EndOfInput, Framing, HandlerFailure, ResponseOrder,
    Revision, RunEnd, Sign,
};
use crate::dialects::pi;
use crate::dsl::protocol;
use crate::model::Timeout::Never;
use crate::model::{ErrorText, Span};
use crate::typed::{Any, Bool, Count, Int, List, Nothing, Nullable, Num, Object, Opt, OptNull, Str};
use crate::types::content::{ImageContent, InputContent};
use crate::types::model::{Model, ThinkingLevel};
use crate::types::session::{ContextUsage, ForkPoints, ForkResult, QueueMode};

use today::TodoPhase;

use pi::commands::{CompactParams, ExportHtmlParams, PromptParams};

protocol! {
    /// Sends a prompt to the agent. Acknowledged at once; a failure with the same id may follow.
    /// While the agent is working, `streamingBehavior` has to say how the prompt is queued.
    command prompt(PromptParams) -> Nothing {
        answer: Acknowledged;
        run: Starts;
        lane: Session;
        timeout: Never;
        errors {
            AgentBusy "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."
                => "the agent is working and `streamingBehavior` is missing";
        }
        example {"message": "Summarize this repo"};
    }

    /// Stops what the agent is doing, then sends a prompt. Acknowledged when the run has stopped;
    /// a failure with the same id may follow.
    command abort_and_prompt(AbortAndPromptParams {
        /// The prompt.
        message: Str,
        /// Images that go with it.
        images: Opt<List<ImageContent>>,
    }) -> Nothing {
        answer: Acknowledged;
        run: Starts;
        lane: Session;
        timeout: Never;
        example {"message": "Do this instead"};
    }

    /// When steering messages reach the agent.
    strings InterruptMode(closed) {
        /// Between tool calls; the remaining calls of the turn are skipped.
        "immediate",
        /// At the end of the turn.
        "wait",
    }

    /// Sets when steering messages reach the agent.
    command set_interrupt_mode(SetInterruptModeParams {
        /// Between tool calls, or at the end of the turn.
        mode: InterruptMode,
    }) -> Nothing {
        answer: Done;
        lane: Immediate;
        example {"mode": "wait"};
    }

    /// The agent's current state.
    record OmpSessionState {
        /// The model in use; null or absent where there is none.
        model: OptNull<Model>,
        /// The thinking level; absent if the model cannot think.
        thinkingLevel: Opt<ThinkingLevel>,
        /// Whether a run is going on; true while a retry is waited for.
        isStreaming: Bool,
        /// Whether the conversation is being compacted.
        isCompacting: Bool,
        /// How steering messages are delivered.
        steeringMode: QueueMode,
        /// How follow-up messages are delivered.
        followUpMode: QueueMode,
        /// When steering messages reach the agent.
        interruptMode: InterruptMode,
        /// The session's file; absent where nothing is kept.
        sessionFile: Opt<Str>,
        /// The session's id.
        sessionId: Str,
        /// The name that was given with `set_session_name`.
        sessionName: Opt<Str>,
        /// Whether the agent compacts on its own when the context fills up.
        autoCompactionEnabled: Bool,
        /// The number of messages in the conversation.
        messageCount: Count,
        /// The number of queued messages.
        queuedMessageCount: Count,
        /// The todo list.
        todoPhases: List<TodoPhase> [since "omp@18.2"],
        /// Whether faster answers were asked for.
        fastModeEnabled: Bool [since "omp@18.2"],
        /// Whether the model gives them.
        fastModeActive: Bool [since "omp@18.2"],
        /// How fast the model writes; null where that is not known.
        tokensPerSecond: Nullable<Num> [since "omp@18.2"],
        /// What the model is told before the messages.
        systemPrompt: Opt<List<Str>> [since "omp@18.2"],
        /// The tools, as the model is told of them.
        dumpTools: Opt<List<Object>> [since "omp@18.2"],
        /// How full the context is.
        contextUsage: Opt<ContextUsage> [since "omp@18.2"],
    }

    /// Returns the agent's current state.
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

    /// Compacts the conversation now: a summary takes the place of its older part.
    command compact(CompactParams) -> crate::types::session::CompactionResult {
        answer: Done;
        run: Replaces;
        lane: Session;
        timeout: Never;
        errors {
            AlreadyCompacted "Failed to parse command: Already compacted" => "nothing was said since the last compaction" [until "omp@18.2"];
            NothingToCompact "Failed to parse command: Nothing to compact (session too small)" => "there is nothing to summarise" [until "omp@18.2"];
            AlreadyCompacted "Already compacted" => "nothing was said since the last compaction" [since "omp@18.2"];
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
            SessionNotInFile "Failed to parse command: Cannot export in-memory session to HTML" => "the session is not kept in a file" [until "omp@18.2"];
            SessionNotInFile "Cannot export in-memory session to HTML" => "the session is not kept in a file" [since "omp@18.2"];
        }
        example {"outputPath": "/tmp/session.html"} -> {"path": "/tmp/session.html"};
    }

    /// Makes a branch of the session that ends before one of the user's messages. An extension can
    /// stop it.
    command branch(BranchParams {
        /// The session entry of that message; `get_branch_messages` lists them.
        entryId: Str,
    }) -> ForkResult {
        answer: Done;
        run: Replaces;
        lane: Session;
        errors {
            EntryNotFound "Failed to parse command: Invalid entry ID for branching" => "there is no such message of the user" [until "omp@18.2"];
            EntryNotFound "Invalid entry ID for branching" => "there is no such message of the user" [since "omp@18.2"];
        }
        example {"entryId": "abc123"} -> {"text": "The original prompt text...", "cancelled": false};
    }

    /// Lists the user's messages from which a branch can be made.
    command get_branch_messages() -> ForkPoints {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"messages": [{"entryId": "abc123", "text": "First prompt..."}]};
    }

    /// A rule that the model's stream ran into.
    record StreamRule {
        /// The rule's name.
        name: Str,
        /// The rule's file.
        path: Opt<Str>,
        /// What it says.
        content: Opt<Str>,
    }

    /// Words of the agent itself, which the model reads as instructions: reminders, and the request to go on.
    record DeveloperMessage(role = "developer") {
        /// The words.
        content: InputContent,
        /// When, in milliseconds since the epoch.
        timestamp: Int,
        ;
        example {"role": "developer", "content": [{"type": "text", "text": "Go on."}], "timestamp": 1733234567890}
    }

    /// A file that a prompt mentioned.
    record MentionedFile {
        /// Its path, as the prompt has it.
        path: Str,
        /// What it holds, or why that is left out; the entries of a directory.
        content: Str,
        /// How many lines it has.
        lineCount: Opt<Count>,
        /// How long it is, in bytes.
        byteSize: Opt<Count>,
        /// Why it was not read, as in `tooLarge`.
        skippedReason: Opt<Str>,
        /// It, where it is an image.
        image: Opt<ImageContent>,
    }

    /// The files that a prompt mentioned with `@`.
    record FileMentionMessage(role = "fileMention") {
        /// The files, in the order of the prompt.
        files: List<MentionedFile>,
        /// When, in milliseconds since the epoch.
        timestamp: Int,
        ;
        example {
            "role": "fileMention", "timestamp": 1733234567890,
            "files": [{"path": "notes.md", "content": "One line.", "lineCount": 1}]
        }
    }

    /// The agent reads commands from here on. Its first frame.
    event ready(Ready {
        /// The version of the transport that is spoken.
        protocolVersion: Count [since "omp@18.2"],
        /// The versions that can be chosen with `negotiate_protocol`.
        supportedProtocolVersions: List<Count> [since "omp@18.2"],
        /// How long a line is at most, in bytes.
        maxFrameBytes: Count [since "omp@18.2"],
        /// How long a frame in pieces is at most, in bytes.
        maxReassembledFrameBytes: Count [since "omp@18.2"],
    }) [since "omp@13.19"] {
        example {
            "type": "ready", "protocolVersion": 1, "supportedProtocolVersions": [1, 2], "maxFrameBytes": 1048576,
            "maxReassembledFrameBytes": 67108864
        };
    }

    /// The model's stream ran into a rule. The turn is stopped and run again with the rule in the
    /// context: `agent_end` follows, and then another `agent_start`.
    event ttsr_triggered(TtsrTriggered {
        /// The rules.
        rules: List<StreamRule>,
    }) {
        example {"type": "ttsr_triggered", "rules": [{"name": "no-print", "content": "Do not print."}]};
    }

    /// An item of the todo list.
    record TodoItem {
        /// Its id.
        id: Opt<Str>,
        /// What is to be done.
        content: Str,
        /// The status, such as `pending`.
        status: Str,
        /// Additional data from the tool.
        notes: OptNull<Any>,
        /// What it waits for, with the status `blocked`.
        blocker: Opt<Str> [since "omp@18.2"],
    }

    /// The model stopped with unfinished todo items; the agent reminds it of them and continues.
    event todo_reminder(TodoReminder {
        /// The unfinished items.
        todos: List<TodoItem>,
        /// The number of this reminder, from 1.
        attempt: Count,
        /// The maximum number.
        maxAttempts: Count,
    }) {
        run: Holds;
        example {
            "type": "todo_reminder", "todos": [{"id": "task-1", "content": "Run the tests", "status": "pending"}],
            "attempt": 1, "maxAttempts": 3
        };
    }

    /// Takes a dialog back that nobody has answered yet, because what asked it was aborted: the real agent sends it for
    /// an editor, and lets the other dialogs go without a word.
    dialog cancel(CancelNotice {
        /// The id of the dialog.
        targetId: Str,
    }) {
        withdraws: "targetId";
        undocumented: true;
        example {"targetId": "15d73ebd288b611e"};
    }
}

/// The rules at the edges of omp, which pisces shares.
pub(super) const EDGES: Edges = Edges {
    unknown_command_echoes_id: false,
    unknown_command_text: "Unknown command: {command}",
    handler_failure: HandlerFailure::ParseWithoutId {
        except: &["prompt", "abort_and_prompt", "set_model", "set_session_name"],
        // A name that is missing fails within the agent; an empty one is refused by the command.
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

/// How a run ends in omp and pisces: rules and reminders start it again within 100 milliseconds.
pub(super) const RUN_END: RunEnd =
    RunEnd { barrier: Some(pi::BARRIER), state: None, gap_ms: 150, answer_ends: false };

/// The sub-protocol for questions, as in pi.
pub(super) const DIALOG_FRAMES: Option<DialogFrames> = pi::PI.dialog_frames;

/// How omp sends long frames, where a client has asked for it.
const CHUNKS: Chunks = Chunks {
    event: "rpc_chunk",
    id: "chunkId",
    index: "index",
    count: "count",
    length: "byteLength",
    data: "data",
    most: 64 * 1024 * 1024,
};

/// The revisions, the oldest first.
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
        document: "omp, docs/rpc.md (12.7.6), and what omp 13.19.0 sends",
        parent: Some("0.55"),
        edges: EDGES,
        run_end: RUN_END,
        behavior: Behavior::FIRST,
        shows: &[Sign::Event("ready")],
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
            Sign::EventMember("ready", "protocolVersion"),
            Sign::EventMember("agent_end", "isTerminal"),
            Sign::Event("available_commands_update"),
            Sign::Event("advisor_cost_changed"),
            Sign::Event("thinking_level_changed"),
        ],
        excludes: &[
            Sign::EventWithout("ready", "protocolVersion"),
            Sign::EventWithout("agent_end", "isTerminal"),
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
    case: Case::Camel,
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
    rows: &[ROWS, host::ROWS, subagents::ROWS, today::ROWS],
    settings: &[],
    matching: matching::MATCHING,
    meaning: meaning::MEANING,
    intents: intents::INTENTS,
};
