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
    /// JSON-RPC 2.0; events are notifications of one method.
    JsonRpc {
        /// The method of the notifications that carry events.
        notification: &'static str,
    },
}

/// The spelling of member names. Names in declarations are verbatim; this value informs readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameCase {
    /// `thinkingLevel`.
    Camel,
    /// `thinking_level`.
    Snake,
}

/// The answer to an undocumented failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerFailure {
    /// An answer with the command's own name and the echoed id.
    OwnCommandAndId,
    /// A `parse` failure without id. The listed commands (by wire name) keep their name and id. A failure for a value
    /// outside of a closed set keeps them too.
    ParseWithoutId {
        /// Commands whose failures keep their name and id.
        except: &'static [&'static str],
        /// Commands of this list that keep their name and id even if their parameters cannot be decoded.
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
    /// `id, type, command, success, …`.
    IdFirst,
    /// `type, command, id, success, …`.
    TypeFirst,
}

/// The rules of a dialect for edge cases.
#[derive(Debug, Clone, Copy)]
pub struct Edges {
    /// `true` if the answer to an unknown command contains the command's id.
    pub unknown_command_echoes_id: bool,
    /// Error text for an unknown command; `{command}` is a placeholder for its name.
    pub unknown_command_text: &'static str,
    /// Answer to other failures of a handler.
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
    /// `true` if events have no envelope although the dialect has one.
    pub bare_events: bool,
    /// Maximum length of a command's line in bytes, without its end. `None`: no limit.
    pub longest_command: Option<u64>,
}

/// A command whose answer proves the end of a run: the agent sends it after all earlier frames.
#[derive(Debug, Clone, Copy)]
pub struct Barrier {
    /// Wire name of the command.
    pub command: &'static str,
    /// Name of the data member with the agent's activity: if it is a boolean, `true` during work.
    pub busy: &'static str,
    /// Value of this member while the agent is idle, if it is a string.
    pub idle: Option<&'static str>,
    /// Timeout of clients for the answer in milliseconds. A run whose barrier is not answered in time ends all the
    /// same, and its result reports the timeout.
    pub limit_ms: u64,
}

/// Timeout of clients for the answer that proves the end of a run, in milliseconds.
pub const BARRIER_LIMIT_MS: u64 = 5_000;

/// The rules by which a client recognizes the end of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunEnd {
    /// Command whose answer proves the end. `None` if the end is certain without it.
    pub barrier: Option<Barrier>,
    /// Command that reports the agent's activity, for clients that could not read a line of a run. `None` if the
    /// barrier serves this purpose.
    pub state: Option<Barrier>,
    /// Time after a possible end during which further events may follow, in milliseconds.
    pub gap_ms: u64,
    /// `true` if the answer to the command that started the run is its end.
    pub answer_ends: bool,
}

/// The location of the model's text in events.
#[derive(Debug, Clone, Copy)]
pub struct TextPieces {
    /// Type of the event that starts a message.
    pub begins: &'static str,
    /// Type of the event with the pieces.
    pub event: &'static str,
    /// Members that lead to the part with a piece, or to a list of parts.
    pub path: &'static [&'static str],
    /// Member with the kind of the part, and the kind of text parts; `None` if every part is text.
    pub kind: Option<(&'static str, &'static str)>,
    /// Member of the part with the piece.
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

/// The frames for a long frame in pieces, each piece in an event of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunks {
    /// Type of the event with a piece.
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
    /// An event of that type.
    Event(&'static str),
    /// An event of that type with that member.
    EventMember(&'static str, &'static str),
    /// An event of that type without that member.
    EventWithout(&'static str, &'static str),
    /// A successful answer to that command (by wire name) whose data contain that member.
    AnswerMember(&'static str, &'static str),
    /// A successful answer to that command without data, or whose data lack that member.
    AnswerWithout(&'static str, &'static str),
    /// A successful answer to that command without the member for data.
    AnswerBare(&'static str),
    /// Any event without an envelope.
    BareEvent,
    /// Any event in its envelope.
    WrappedEvent,
}

/// Differences in behavior between revisions with the same frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behavior {
    /// `true`: a request for the model's last text skips each answer without text that did not end normally. `false`:
    /// it skips only an aborted answer without content.
    pub skips_textless_answers: bool,
    /// The member of a result's details that names the model, if a tool reads an image and the model does not accept
    /// images. `None`: there is no such member.
    pub blind_model_detail: Option<&'static str>,
    /// Lower-case texts in a provider's error message after which the request is retried.
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
    /// Document that defines it.
    pub document: &'static str,
    /// Revision of the parent whose rows it inherits.
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
    /// An additional member of a record; the span of the member contains the revision.
    Member(&'static str, Field),
    /// The removal of a value from a set of strings, from the given revisions on.
    ValueUntil(&'static str, &'static str, &'static [&'static str]),
    /// Another effect of an event on runs, in the revisions of the span.
    Run(&'static str, RunEffect, Span),
}

/// A dialect with its revisions.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    /// Name of the dialect.
    pub name: &'static str,
    /// Revisions, oldest first. The first one is the default.
    pub revisions: &'static [Revision],
    /// Name of the agent with this dialect.
    pub agent: &'static str,
    /// Description of the dialect; the first sentence is self-contained.
    pub doc: &'static str,
    /// Dialect whose rows it inherits.
    pub parent: Option<&'static Dialect>,
    /// Commands of the parent (by name) that it lacks.
    pub without: &'static [&'static str],
    /// Framing of the dialect.
    pub framing: Framing,
    /// Spelling of member names.
    pub case: NameCase,
    /// `true` if other types of events may appear and are preserved.
    pub events_open: bool,
    /// Members of every event in addition to its own.
    pub event_members: &'static [Field],
    /// Frame types of dialogs, in flat dialects.
    pub dialog_frames: Option<DialogFrames>,
    /// Frames for long frames in pieces, in the revisions that have the event.
    pub chunks: Option<Chunks>,
    /// Documented failures that do not belong to a single command.
    pub errors: &'static [ErrorText],
    /// Location of the model's text.
    pub text: TextPieces,
    /// Command that probes an unknown agent: it has no parameters, is answered at any time, and changes nothing.
    pub probe_command: &'static str,
    /// Own rows; a row with the name of a parent's row replaces it.
    pub rows: &'static [&'static [Row]],
    /// Settings of the dialect's document.
    pub settings: &'static [Setting],
    /// Rules for the comparison of transcripts.
    pub matching: Matching,
    /// Meaning of the frames for a conversation.
    pub meaning: Meaning,
    /// Mapping from intents to commands.
    pub intents: Intents,
}

impl Dialect {
    /// Returns the default revision.
    pub const fn pinned(&self) -> &Revision {
        &self.revisions[0]
    }
}
