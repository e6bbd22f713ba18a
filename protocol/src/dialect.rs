//! What a dialect is: vocabulary, envelope and the rules at the edges.

use crate::intent::Intents;
use crate::matching::Matching;
use crate::meaning::Meaning;
use crate::model::{ErrorText, Field, Row, RunEffect, Setting, Span};

/// How frames are wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Bare objects with a `type`: commands, `response` frames, events.
    Flat,
    /// As [`Framing::Flat`], with each event inside `{"type": "event", "event": {…}}`.
    Enveloped,
    /// JSON-RPC 2.0; events are notifications of one method.
    JsonRpc {
        /// The method of the notifications that carry events.
        notification: &'static str,
    },
}

/// How member names are written. Names in declarations are verbatim; this is for readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// `thinkingLevel`.
    Camel,
    /// `thinking_level`.
    Snake,
}

/// How a failure that is not a documented exception is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerFailure {
    /// With the command's own name and the echoed id.
    OwnCommandAndId,
    /// As a `parse` failure without id, but for the commands listed (by wire name), which keep
    /// their name and id. A value outside a closed set keeps them too.
    ParseWithoutId {
        /// Commands whose failures keep their name and id.
        except: &'static [&'static str],
        /// Those of them that keep them too where their parameters cannot be read.
        invalid: &'static [&'static str],
    },
    /// As a JSON-RPC error object.
    JsonRpcError,
}

/// What happens to work that is going on when stdin ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndOfInput {
    /// It finishes, as long as stdout can be written.
    Finish,
    /// It is aborted.
    Abort,
}

/// In which order the members of a response stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseOrder {
    /// `id, type, command, success, …`.
    IdFirst,
    /// `type, command, id, success, …`.
    TypeFirst,
}

/// The rules at the edges of a dialect.
#[derive(Debug, Clone, Copy)]
pub struct Edges {
    /// Whether the answer to an unknown command carries the command's id.
    pub unknown_command_echoes_id: bool,
    /// The text that answers an unknown command; `{command}` stands for its name.
    pub unknown_command_text: &'static str,
    /// How other failures of a handler are answered.
    pub handler_failure: HandlerFailure,
    /// What failures to read a line begin with.
    pub parse_prefix: &'static str,
    /// The `command` of the answer to a line that cannot be read.
    pub parse_command: &'static str,
    /// Whether a blank line (and a byte order mark) is answered as a parse failure or ignored.
    pub blank_line_is_error: bool,
    /// Whether a last line counts that has no LF at its end.
    pub unfinished_line_counts: bool,
    /// Whether a success without data carries `data: {}`.
    pub empty_data: bool,
    /// Order of a response's members.
    pub response_order: ResponseOrder,
    /// What the end of stdin does to running work.
    pub end_of_input: EndOfInput,
    /// Whether events stand bare although the dialect has an envelope for them.
    pub bare_events: bool,
    /// How long the line of a command may be, in bytes without its end. None: without a limit.
    pub longest_command: Option<u64>,
}

/// A command whose answer proves that a run is over: the agent sends it after everything that came before.
#[derive(Debug, Clone, Copy)]
pub struct Barrier {
    /// The command's wire name.
    pub command: &'static str,
    /// The member of its data that says whether work goes on: true while it does, where it is a boolean.
    pub busy: &'static str,
    /// The value that this member has while the agent is idle, where it is text.
    pub idle: Option<&'static str>,
    /// How long clients wait for the answer, in milliseconds. A run whose barrier was not answered by then ends all the
    /// same, and its result says so.
    pub limit_ms: u64,
}

/// How long clients wait for the answer that proves the end of a run, in milliseconds.
pub const BARRIER_LIMIT_MS: u64 = 5_000;

/// How a client knows that a run is over.
#[derive(Debug, Clone, Copy)]
pub struct RunEnd {
    /// The command whose answer proves that nothing follows. None where the end is certain without it.
    pub barrier: Option<Barrier>,
    /// The command that says whether work goes on, for clients that could not read a line of a run. None where that is
    /// the barrier.
    pub state: Option<Barrier>,
    /// How long after a possible end something may still follow, in milliseconds.
    pub gap_ms: u64,
    /// True where the answer of the command that started the run is its end.
    pub answer_ends: bool,
}

/// Where the text that the model writes stands in events.
#[derive(Debug, Clone, Copy)]
pub struct TextPieces {
    /// The event with which a message begins.
    pub begins: &'static str,
    /// The event that carries pieces.
    pub event: &'static str,
    /// The members that lead to the part that carries a piece, or to a list of parts.
    pub path: &'static [&'static str],
    /// The member of the part that says its kind, and the kind that is text; none where every part is text.
    pub kind: Option<(&'static str, &'static str)>,
    /// The member of the part that is the piece.
    pub piece: &'static str,
}

/// Names of the sub-protocol for questions in flat dialects.
#[derive(Debug, Clone, Copy)]
pub struct DialogFrames {
    /// The `type` of a question.
    pub request: &'static str,
    /// The `type` of an answer.
    pub answer: &'static str,
    /// The declared type of an answer.
    pub answer_type: &'static str,
}

/// Frames that are too long for one line and come in pieces, each an event of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunks {
    /// The event that carries a piece.
    pub event: &'static str,
    /// The member that all pieces of a frame have in common.
    pub id: &'static str,
    /// The member with the place of the piece, from 0.
    pub index: &'static str,
    /// The member with the number of pieces.
    pub count: &'static str,
    /// The member with the length of the whole frame, in bytes.
    pub length: &'static str,
    /// The member with the bytes, in base64.
    pub data: &'static str,
    /// How long a whole frame is at most, in bytes.
    pub most: u64,
}

/// A frame that tells revisions apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// The event of that type.
    Event(&'static str),
    /// The event of that type with that member.
    EventMember(&'static str, &'static str),
    /// The event of that type without that member.
    EventWithout(&'static str, &'static str),
    /// A successful answer to that command (by wire name) whose data have that member.
    AnswerMember(&'static str, &'static str),
    /// A successful answer to that command whose data lack that member, or that has no data.
    AnswerWithout(&'static str, &'static str),
    /// A successful answer to that command without the member for data.
    AnswerBare(&'static str),
    /// Any event that stands in no envelope.
    BareEvent,
    /// Any event in its envelope.
    WrappedEvent,
}

/// Behavior of agents in which revisions differ although their frames are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behavior {
    /// True: a request for the model's last text skips each answer without text that did not end normally. False: it
    /// skips only an aborted answer without content.
    pub skips_textless_answers: bool,
    /// The member of a result's details that names the model, if a tool reads an image and the model takes none. None: there is no
    /// such member.
    pub blind_model_detail: Option<&'static str>,
    /// Words of a provider's refusal after which the request is retried, in lower case.
    pub retried_words: &'static [&'static str],
    /// True: the client receives an event if a listener of the extensions' event bus fails. False: the failure is logged.
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

/// A revision of a dialect. A published one never changes.
#[derive(Debug, Clone, Copy)]
pub struct Revision {
    /// Its name.
    pub name: &'static str,
    /// The document that rules it.
    pub document: &'static str,
    /// The revision of the parent whose rows it takes over.
    pub parent: Option<&'static str>,
    /// The rules at the edges.
    pub edges: Edges,
    /// How a run ends.
    pub run_end: RunEnd,
    /// Behavior of the agent that frames do not show.
    pub behavior: Behavior,
    /// Frames that only this revision and younger ones send.
    pub shows: &'static [Sign],
    /// Frames that only older revisions send.
    pub excludes: &'static [Sign],
    /// What it changes of rows that stand in other files. A revision that changes much writes spans beside the rows.
    pub changes: &'static [Change],
}

/// What a revision changes of a row that stands elsewhere.
#[derive(Debug, Clone, Copy)]
pub enum Change {
    /// A record has a member more; the span of the member says since when.
    Member(&'static str, Field),
    /// A set of strings has a value no more, from those revisions on.
    ValueUntil(&'static str, &'static str, &'static [&'static str]),
    /// An event says something else about the run, in the revisions of that span.
    Run(&'static str, RunEffect, Span),
}

/// A dialect with its revisions.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    /// The dialect's name.
    pub name: &'static str,
    /// Its revisions, the oldest first. The first one is spoken where none is named.
    pub revisions: &'static [Revision],
    /// The name of the agent that speaks it.
    pub agent: &'static str,
    /// What it is; the first sentence stands alone.
    pub doc: &'static str,
    /// The dialect whose rows it takes over.
    pub parent: Option<&'static Dialect>,
    /// Commands of the parent (by name) that it does not have.
    pub without: &'static [&'static str],
    /// How frames are wrapped.
    pub framing: Framing,
    /// How member names are written.
    pub case: Case,
    /// True where event types outside the declaration may appear and are kept.
    pub events_open: bool,
    /// Members that every event has in addition to its own.
    pub event_members: &'static [Field],
    /// Dialogs in flat dialects.
    pub dialog_frames: Option<DialogFrames>,
    /// How frames come in pieces, in the revisions that have that event.
    pub chunks: Option<Chunks>,
    /// Documented failures that do not belong to one command.
    pub errors: &'static [ErrorText],
    /// Where the model's text stands.
    pub text: TextPieces,
    /// The command that probes an unknown agent: a command without parameters that is answered at
    /// any time and changes nothing.
    pub probe_command: &'static str,
    /// Its own rows; one with the name of a parent's row replaces it.
    pub rows: &'static [&'static [Row]],
    /// The settings its document names.
    pub settings: &'static [Setting],
    /// What a comparison of transcripts has to know.
    pub matching: Matching,
    /// What its frames mean for a conversation.
    pub meaning: Meaning,
    /// What its commands are for.
    pub intents: Intents,
}

impl Dialect {
    /// The revision that is spoken where none is named.
    pub const fn pinned(&self) -> &Revision {
        &self.revisions[0]
    }
}
