//! The properties of a dialect: vocabulary, envelope and rules for edge cases.

use crate::intent::Intents;
use crate::matching::Matching;
use crate::meaning::Meaning;
use crate::model::{ErrorText, Field, Row, RunEffect, Setting, Span};

/// The framing of a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Objects with a `type`: commands, `response` frames, events.
    Flat,
    /// As [`Framing::Flat`], with each event inside `{"type": "event", "event": {…}}`.
    Enveloped,
    /// JSON-RPC 2.0. All events are notifications with the same method.
    JsonRpc {
        /// Method of the notifications that carry the events.
        notification: &'static str,
    },
}

/// The spelling of member names. Names in declarations are verbatim; this value informs readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameCase {
    /// Camel case, as in `thinkingLevel`.
    Camel,
    /// Snake case, as in `thinking_level`.
    Snake,
}

/// The form of the answer to a failed command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerFailure {
    /// An answer with the command's own name and the echoed id.
    OwnCommandAndId,
    /// An answer with the command name `parse` and without id. A command in `except` keeps its name and id. A failure
    /// caused by a value outside of a closed set keeps them too.
    ParseWithoutId {
        /// Wire names of the commands whose failures keep name and id.
        except: &'static [&'static str],
        /// Wire names of the commands that keep name and id even if their parameters cannot be decoded.
        invalid: &'static [&'static str],
    },
    /// A JSON-RPC error object.
    JsonRpcError,
}

/// The handling of current work at the end of stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndOfInput {
    /// The work continues, as long as stdout is writable.
    Finish,
    /// The work is aborted.
    Abort,
}

/// The order of a response's members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseOrder {
    /// The order `id, type, command, success, …`.
    IdFirst,
    /// The order `type, command, id, success, …`.
    TypeFirst,
}

/// The rules of a dialect for edge cases.
#[derive(Debug, Clone, Copy)]
pub struct Edges {
    /// `true` if the answer to an unknown command contains the command's id.
    pub unknown_command_echoes_id: bool,
    /// Error text for an unknown command; `{command}` is a placeholder for its name.
    pub unknown_command_text: &'static str,
    /// Form of the answer to a failed command, except for unknown commands and unreadable lines.
    pub handler_failure: HandlerFailure,
    /// Prefix of error texts for lines that cannot be parsed.
    pub parse_prefix: &'static str,
    /// Value of `command` in the answer to a line that cannot be parsed.
    pub parse_command: &'static str,
    /// `true` if a blank line (or a byte order mark) is answered as a parse failure, `false` if it is ignored.
    pub blank_line_is_error: bool,
    /// `true` if a last line without LF is accepted.
    pub unfinished_line_counts: bool,
    /// `true` if a success without data contains `data: {}`.
    pub empty_data: bool,
    /// Order of a response's members.
    pub response_order: ResponseOrder,
    /// Handling of current work at the end of stdin.
    pub end_of_input: EndOfInput,
    /// `true` if this revision sends events without the envelope of the dialect.
    pub bare_events: bool,
    /// Maximum length of a command's line in bytes, without the line end. `None` if there is no limit.
    pub longest_command: Option<u64>,
}

/// A command whose answer proves the end of a run: the agent sends it after all earlier frames.
#[derive(Debug, Clone, Copy)]
pub struct Barrier {
    /// Wire name of the command.
    pub command: &'static str,
    /// Name of the member of the answer's data that shows the agent's activity. A boolean is `true` while the agent
    /// works.
    pub busy: &'static str,
    /// Value of this member while the agent is idle, if the member is a string. `None` if it is a boolean.
    pub idle: Option<&'static str>,
    /// Timeout of clients for the answer in milliseconds. If the answer is late, the run ends nevertheless, and the
    /// result of the run reports the timeout.
    pub limit_ms: u64,
}

/// Timeout of clients for the answer that proves the end of a run, in milliseconds.
pub const BARRIER_LIMIT_MS: u64 = 5_000;

/// The rules by which a client recognizes the end of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunEnd {
    /// Command whose answer proves the end. `None` if the end is certain without it.
    pub barrier: Option<Barrier>,
    /// Command that reports the agent's activity. A client sends it if it could not read a line during a run. `None` if
    /// the barrier serves this purpose.
    pub state: Option<Barrier>,
    /// Time in milliseconds to wait after a possible end of the run, because further events may follow.
    pub gap_ms: u64,
    /// `true` if a run ends with the answer to the command that started the run.
    pub answer_ends: bool,
}

/// The location of the model's text in events.
#[derive(Debug, Clone, Copy)]
pub struct TextPieces {
    /// Type of the event that starts a message.
    pub begins: &'static str,
    /// Type of the event that carries pieces of the text.
    pub event: &'static str,
    /// Member names, outermost first, that lead to the object with a piece of text, or to a list of such objects.
    pub path: &'static [&'static str],
    /// Member that holds the kind of an object at `path`, and the kind that stands for text. `None` if all
    /// objects are text.
    pub kind: Option<(&'static str, &'static str)>,
    /// Member that holds the piece of text in an object at `path`.
    pub piece: &'static str,
}

/// The frame types of dialogs in flat dialects.
#[derive(Debug, Clone, Copy)]
pub struct DialogFrames {
    /// The `type` of a request.
    pub request: &'static str,
    /// The `type` of an answer.
    pub answer: &'static str,
    /// The declared type of an answer.
    pub answer_type: &'static str,
}

/// The events by which an agent sends a frame that is too long for one line. Each event carries one piece of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunks {
    /// Type of the event that carries a piece.
    pub event: &'static str,
    /// Name of the member with the id of the complete frame.
    pub id: &'static str,
    /// Name of the member with the index of the piece, from 0.
    pub index: &'static str,
    /// Name of the member with the number of pieces.
    pub count: &'static str,
    /// Name of the member with the length of the complete frame in bytes.
    pub length: &'static str,
    /// Name of the member with the bytes in base64.
    pub data: &'static str,
    /// Maximum length of a complete frame in bytes.
    pub most: u64,
}

/// A property of frames that distinguishes revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fingerprint {
    /// An event of the given type.
    Event(&'static str),
    /// An event of the given type with the given member.
    EventMember(&'static str, &'static str),
    /// An event of the given type without the given member.
    EventWithout(&'static str, &'static str),
    /// A successful answer to a command (first field, by wire name) whose data contain a member (second
    /// field).
    AnswerMember(&'static str, &'static str),
    /// A successful answer to a command (first field, by wire name) that has no data, or whose data lack a
    /// member (second field).
    AnswerWithout(&'static str, &'static str),
    /// A successful answer to this command that has no data member.
    AnswerBare(&'static str),
    /// Any event without an envelope.
    BareEvent,
    /// Any event in its envelope.
    WrappedEvent,
}

/// Behavior of the agent that differs between revisions although their frames are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behavior {
    /// `true`: the command for the model's last text skips an answer that has no text, unless the answer ended
    /// normally. `false`: the command skips only an aborted answer without content.
    pub skips_textless_answers: bool,
    /// Member in the details of a tool result. It names the model if a tool read an image and the model accepts no
    /// images. `None` if there is no such member.
    pub blind_model_detail: Option<&'static str>,
    /// Additional texts, in lower case, that cause a retry if the provider's error message contains one of them.
    pub retried_words: &'static [&'static str],
    /// `true`: the client receives an event if a listener of the extensions' event bus fails. `false`: the failure is
    /// logged.
    pub reports_listener_failures: bool,
}

impl Behavior {
    /// The behavior of the first revisions.
    pub const FIRST: Self = Self {
        skips_textless_answers: false,
        blind_model_detail: None,
        retried_words: &[],
        reports_listener_failures: false,
    };
}

/// A revision of a dialect. A published revision never changes.
#[derive(Debug, Clone, Copy)]
pub struct Revision {
    /// Name of the revision.
    pub name: &'static str,
    /// Document that defines the revision.
    pub document: &'static str,
    /// Revision of the parent dialect whose rows this revision inherits.
    pub parent: Option<&'static str>,
    /// Rules for edge cases.
    pub edges: Edges,
    /// Rules for the end of a run.
    pub run_end: RunEnd,
    /// Behavior of the agent that is independent of frames.
    pub behavior: Behavior,
    /// Properties of frames that only this revision and later ones have.
    pub shows: &'static [Fingerprint],
    /// Properties of frames that only earlier revisions have.
    pub excludes: &'static [Fingerprint],
    /// Changes to rows in other files. A revision with many changes uses spans in the rows instead.
    pub changes: &'static [Change],
}

/// A change of a revision to a row in another file.
#[derive(Debug, Clone, Copy)]
pub enum Change {
    /// An additional member. Fields: record, member. The span of the member contains the revision.
    Member(&'static str, Field),
    /// The removal of a value from a set of strings. Fields: set, value, revisions that no longer have the value.
    ValueUntil(&'static str, &'static str, &'static [&'static str]),
    /// Another effect of an event on runs. Fields: event, effect, revisions with this effect.
    Run(&'static str, RunEffect, Span),
}

/// A dialect with its revisions.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    /// Name of the dialect.
    pub name: &'static str,
    /// Revisions, oldest first. The first one is the default.
    pub revisions: &'static [Revision],
    /// Name of the agent that the dialect comes from.
    pub agent: &'static str,
    /// Description of the dialect; the first sentence is self-contained.
    pub doc: &'static str,
    /// Dialect whose rows this dialect inherits.
    pub parent: Option<&'static Dialect>,
    /// Names of the parent's commands that this dialect lacks.
    pub without: &'static [&'static str],
    /// Framing of the dialect.
    pub framing: Framing,
    /// Spelling of member names.
    pub case: NameCase,
    /// `true` if agents may send undeclared types of events, which clients preserve.
    pub events_open: bool,
    /// Members that every event has in addition to its own.
    pub event_members: &'static [Field],
    /// Frame types of dialogs, in flat dialects.
    pub dialog_frames: Option<DialogFrames>,
    /// Events for frames that are too long for one line, in the revisions that have these events.
    pub chunks: Option<Chunks>,
    /// Documented failures that do not belong to a single command.
    pub errors: &'static [ErrorText],
    /// Location of the model's text.
    pub text: TextPieces,
    /// Command that probes an unknown agent: it has no parameters, is answered at any time, and changes nothing.
    pub probe_command: &'static str,
    /// Rows of the dialect itself. A row replaces the parent's row of the same name.
    pub rows: &'static [&'static [Row]],
    /// Settings that the document of the dialect defines.
    pub settings: &'static [Setting],
    /// Rules for the comparison of transcripts.
    pub matching: Matching,
    /// Meaning of the frames for a conversation.
    pub meaning: Meaning,
    /// Mapping from intents to commands.
    pub intents: Intents,
}

/// A protocol whose agents clients drive through a bridge, because there is no client of the protocol.
#[derive(Debug, Clone, Copy)]
pub struct BridgedProtocol {
    /// Declaration of the protocol. Its probe command is the handshake, which precedes all other commands.
    pub protocol: &'static Dialect,
    /// Member of the handshake and of its answer for the version of the protocol, a number.
    pub version_member: &'static str,
    /// Dialect and revision that the bridge serves to clients.
    pub front: &'static str,
}

impl Dialect {
    /// Returns the default revision.
    pub const fn pinned(&self) -> &Revision {
        &self.revisions[0]
    }
}
