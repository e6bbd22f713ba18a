//! Tables of a dialect for the runtime, generated from the declaration.

use std::time::Duration;

pub use crate::outcome::{OutcomeRule, OutcomeTest, ReportedOutcome};
use crate::scan;

/// Framing of a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Bare objects with a `type`.
    Flat,
    /// Bare objects with a `type`, but with each event inside `{"type": "event", "event": {…}}`.
    Enveloped,
    /// JSON-RPC 2.0.
    JsonRpc {
        /// The method of the notifications that carry events.
        notification: &'static str,
    },
}

/// Moment at which an agent answers a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerTiming {
    /// The agent answers once, after the work of the command.
    Done,
    /// The agent answers once, when the work of the command can start.
    Accepted,
    /// The agent answers once, as soon as the command arrives. If the work fails later, a failure with the
    /// same id may follow.
    Acknowledged,
    /// The command never has an answer. In JSON-RPC, it is a notification of the client.
    Never,
}

/// Relation of a command to runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunRole {
    /// The command has no relation to runs.
    None,
    /// The command starts a run.
    Starts,
    /// The command acts on the current run.
    Acts,
    /// The command stops the current run.
    Stops,
    /// The command replaces the current run, which is over when the command is answered.
    Replaces,
}

/// The lane of a server in which a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// The command runs at once, never behind other work.
    Immediate,
    /// The command waits until the earlier commands of its session have ended.
    Session,
    /// The command runs concurrently with others, and never waits for a command of another lane.
    Bash,
}

/// Effects that a command may have on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The command changes nothing.
    Read,
    /// The command changes the agent: it causes work of the model, or changes the conversation or a setting.
    Act,
    /// The command executes a command line of the client, without a model in between.
    Execute,
}

/// The state of the current run that an event reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEffect {
    /// The event reports nothing about the run.
    None,
    /// The event reports that work continues.
    Begins,
    /// The event reports that the run may be over.
    MayEnd,
    /// The event reports that the run is not over.
    Holds,
    /// The event reports that the run may be over, unless the named boolean member is true.
    MayEndUnless(&'static str),
    /// The event reports that the run may be over, unless the named boolean member is false.
    MayEndIf(&'static str),
    /// The event reports that the run is not over, unless the named boolean member is false.
    HoldsIf(&'static str),
    /// The event reports that the run is over.
    Ends,
}

impl RunEffect {
    /// Returns the report of an event with the object `body`, decided by its named member if the report
    /// depends on one. The result is `None`, `Begins`, `MayEnd`, `Holds` or `Ends`.
    pub fn of(self, body: &str) -> RunEffect {
        let flag = |member| scan::flag(body, member);
        let holds = match self {
            RunEffect::MayEndUnless(member) => flag(member) == Some(true),
            RunEffect::MayEndIf(member) => flag(member) == Some(false),
            RunEffect::HoldsIf(member) => flag(member) != Some(false),
            effect => return effect,
        };
        if holds { RunEffect::Holds } else { RunEffect::MayEnd }
    }
}

/// Form of the answer after a failure of a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerFailure {
    /// A failure response with the command's name and id.
    OwnCommandAndId,
    /// A failure response of the command `parse` without an id, except for some commands.
    ParseWithoutId {
        /// Commands whose failure responses have their name and id.
        except: &'static [&'static str],
        /// Commands among `except` whose failure responses have name and id even if their parameters are
        /// unreadable.
        invalid: &'static [&'static str],
    },
    /// A JSON-RPC error response.
    JsonRpcError,
}

/// Order of a response's members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseOrder {
    /// The member `id` comes first.
    IdFirst,
    /// The member `type` comes first.
    TypeFirst,
}

/// Effect of the end of stdin on running work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndOfInput {
    /// The running work is finished.
    Finish,
    /// The running work is aborted.
    Abort,
}

/// Rules for input that is no valid command, for the form of answers and for the end of input.
#[derive(Debug, Clone, Copy)]
pub struct Edges {
    /// `true` if the response to an unknown command contains its id.
    pub unknown_command_echoes_id: bool,
    /// Text of the response to an unknown command, with `{command}` in place of the name.
    pub unknown_command_text: &'static str,
    /// Form of the responses to failed commands.
    pub handler_failure: HandlerFailure,
    /// Prefix of the error text for an unreadable line.
    pub parse_prefix: &'static str,
    /// Name of the command in the response to an unreadable line.
    pub parse_command: &'static str,
    /// `true` if a blank line or a byte order mark gets a failure response.
    pub blank_line_is_error: bool,
    /// `true` if a last line without LF is processed.
    pub unfinished_line_counts: bool,
    /// `true` if a successful response without data contains an empty data object.
    pub empty_data: bool,
    /// Order of a response's members.
    pub response_order: ResponseOrder,
    /// Effect of the end of stdin.
    pub end_of_input: EndOfInput,
    /// Maximum length of a command's line in bytes, without its end; `None` for no limit.
    pub longest_command: Option<u64>,
}

/// Behavior of agents that differs between revisions with the same frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behavior {
    /// `true` if a request for the model's last text skips each answer without text that did not end normally. `false`
    /// if it skips only an aborted answer without content.
    pub skips_textless_answers: bool,
    /// Member in the details of a tool result. It names the model if a tool read an image and the model
    /// accepts no images. `None` if there is no such member.
    pub blind_model_detail: Option<&'static str>,
    /// Texts in a provider's rejection after which the request is retried, in lower case.
    pub retried_words: &'static [&'static str],
    /// `true` if the client receives an event after a failure of a listener of the extensions' event bus. `false` if
    /// the failure is logged.
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

/// A command whose answer proves that a run is over.
#[derive(Debug, Clone, Copy)]
pub struct Barrier {
    /// The command's wire name.
    pub command: &'static str,
    /// Member of the answer's data that shows activity: a boolean, true while work continues, or a text.
    pub busy: &'static str,
    /// Value of this member while the agent is idle, if it is a text.
    pub idle: Option<&'static str>,
    /// Time limit for the answer to the command. A run without this answer ends anyway, and its result is not
    /// confirmed.
    pub limit: Duration,
}

/// Rules by which a client detects the end of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunEnd {
    /// The command whose answer proves that no event follows.
    pub barrier: Option<Barrier>,
    /// The command that reports activity, sent after an unreadable line during a run.
    pub state: Option<Barrier>,
    /// Time after an idle answer in which further work may follow.
    pub gap: Duration,
    /// `true` if the answer to the command that started the run ends the run.
    pub answer_ends: bool,
}

/// Row of a command.
#[derive(Debug, Clone, Copy)]
pub struct CommandSpec {
    /// Name of the client method for the command.
    pub name: &'static str,
    /// The name on the wire.
    pub wire: &'static str,
    /// Moment at which the agent answers the command.
    pub answer: AnswerTiming,
    /// Relation of the command to runs.
    pub run: RunRole,
    /// Lane of the command.
    pub lane: Lane,
    /// Default time limit of a client; `None` for no limit.
    pub timeout: Option<Duration>,
    /// `true` if the command changes nothing: a call that timed out may be repeated.
    pub reads: bool,
    /// Names of the required parameters.
    pub required: &'static [&'static str],
    /// Parameters that are treated as absent if their value has another type.
    pub tolerates: &'static [&'static str],
    /// Pairs of a parameter and the kind of failure if its value has the wrong type. A parameter name with a
    /// dot at its end stands for the values within it.
    pub wrong: &'static [(&'static str, &'static str)],
    /// Parameters with another name in some revisions, with both names. The tables of one revision list the parameters
    /// whose name differs from the oldest revision.
    pub renamed: &'static [(&'static str, &'static str)],
    /// `true` if the command has parameters. In JSON-RPC, parameters of a command without declared parameters
    /// are ignored.
    pub has_params: bool,
}

impl CommandSpec {
    /// Returns the effects that the command may have, according to `reads` and the lane of shell commands.
    pub const fn access(&self) -> Access {
        match (self.reads, self.lane) {
            (true, _) => Access::Read,
            (false, Lane::Bash) => Access::Execute,
            (false, _) => Access::Act,
        }
    }
}

/// Row of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSpec {
    /// The event's `type`.
    pub name: &'static str,
    /// State of the run that the event reports.
    pub run: RunEffect,
    /// `true` if a newer event contains all information of an older one.
    pub snapshot: bool,
    /// Rules by which the event reports the outcome of the run.
    pub outcome: &'static [OutcomeRule],
}

/// Row of a dialog.
#[derive(Debug, Clone, Copy)]
pub struct DialogSpec {
    /// Name of the handler method for the dialog.
    pub name: &'static str,
    /// The method on the wire.
    pub wire: &'static str,
    /// `true` if an answer is expected.
    pub answered: bool,
    /// The members of the answer: name, JSON type (`any` if several are possible), and `true` if the member is
    /// required.
    pub answer: &'static [(&'static str, &'static str, bool)],
    /// The answer that means "no answer", as JSON members; `None` if the answer is an error.
    pub fallback: Option<&'static str>,
    /// Member with the time in milliseconds after which the agent answers the question itself: the question is then
    /// withdrawn.
    pub expires: Option<&'static str>,
    /// Member with the id of an open question that this dialog withdraws.
    pub withdraws: Option<&'static str>,
    /// Types of its frames, if they differ from those of other dialogs.
    pub frames: Option<OwnFrames>,
}

/// Types of frames for one dialog only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnFrames {
    /// Type of the question.
    pub request: &'static str,
    /// Type of the answer.
    pub answer: Option<&'static str>,
    /// Type of progress, which a client may send before the answer.
    pub progress: Option<&'static str>,
}

/// Events for the pieces of frames that are too long for one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunks {
    /// The event that carries a piece.
    pub event: &'static str,
    /// The member that is equal in all pieces of a frame.
    pub id: &'static str,
    /// The member with the index of the piece, from 0.
    pub index: &'static str,
    /// The member with the number of pieces.
    pub count: &'static str,
    /// The member with the length of the whole frame, in bytes.
    pub length: &'static str,
    /// The member with the bytes, in base64.
    pub data: &'static str,
    /// Maximum length of a whole frame, in bytes.
    pub most: u64,
}

/// A failure in the document of the dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailureSpec {
    /// Kind of the failure, as in `no_api_key`.
    pub kind: &'static str,
    /// The JSON-RPC code, in dialects that have codes.
    pub code: Option<i64>,
    /// The text; `{…}` stands for any text, of any length.
    pub text: &'static str,
}

/// Types of the frames that carry dialogs in flat dialects.
#[derive(Debug, Clone, Copy)]
pub struct DialogFrames {
    /// Type of a question.
    pub request: &'static str,
    /// Type of an answer.
    pub answer: &'static str,
}

/// Paths of the model's text in events.
#[derive(Debug, Clone, Copy)]
pub struct TextPieces {
    /// The event that starts a message.
    pub begins: &'static str,
    /// The event with pieces of text.
    pub event: &'static str,
    /// Path of the part of a message that contains a piece of text, or of a list of parts.
    pub path: &'static [&'static str],
    /// Member of a part that holds the kind of the part, and the kind for text. `None` if every part is text.
    pub kind: Option<(&'static str, &'static str)>,
    /// Member of a part that contains the piece of text.
    pub piece: &'static str,
}

impl TextPieces {
    /// Returns the pieces of text in an event of the given type.
    pub fn of<'a>(&self, event: &str, body: &'a serde_json::Value) -> Vec<&'a str> {
        if event != self.event {
            return Vec::new();
        }
        let Some(part) = self.path.iter().try_fold(body, |value, member| value.get(member)) else {
            return Vec::new();
        };
        let parts = part.as_array().map_or(std::slice::from_ref(part), Vec::as_slice);
        let is_text = |part: &&serde_json::Value| {
            self.kind
                .is_none_or(|(member, kind)| part.get(member).and_then(|kind| kind.as_str()) == Some(kind))
        };
        parts.iter().filter(is_text).filter_map(|part| part.get(self.piece)?.as_str()).collect()
    }
}

/// A frame that distinguishes revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fingerprint {
    /// The event of the given type.
    Event(&'static str),
    /// The event of the given type with the given member.
    EventMember(&'static str, &'static str),
    /// The event of the given type without the given member.
    EventWithout(&'static str, &'static str),
    /// A successful answer to the given command with the given member in its data.
    AnswerMember(&'static str, &'static str),
    /// A successful answer to the given command without the given member in its data, or without data.
    AnswerWithout(&'static str, &'static str),
    /// A successful answer to the given command without the member for data.
    AnswerBare(&'static str),
    /// Any event without an envelope.
    BareEvent,
    /// Any event in its envelope.
    WrappedEvent,
}

/// The tables of one revision of a dialect, or of its clients, which support all revisions.
#[derive(Debug)]
pub struct Spec {
    /// Name of the dialect.
    pub name: &'static str,
    /// Name of the revision.
    pub revision: &'static str,
    /// Name of the agent that the dialect comes from.
    pub agent: &'static str,
    /// Framing of the dialect.
    pub framing: Framing,
    /// `true` if events with undeclared types are delivered.
    pub events_open: bool,
    /// Types of dialog frames, in flat dialects.
    pub dialog_frames: Option<DialogFrames>,
    /// Events for frames in pieces, if the dialect has them.
    pub chunks: Option<Chunks>,
    /// Member of an event with its session, for dialects with several sessions per connection.
    pub session_member: Option<&'static str>,
    /// Command that opens a session without parameters, for dialects with several sessions per connection. The data of
    /// its answer contain the member for the session.
    pub opens_session: Option<&'static str>,
    /// Paths of the model's text in events.
    pub text: TextPieces,
    /// Rules for invalid input, for the form of answers and for the end of input.
    pub edges: Edges,
    /// Rules for the end of a run.
    pub run_end: RunEnd,
    /// Behavior of the revision's agent that is not visible in frames.
    pub behavior: Behavior,
    /// Tables of each revision, oldest first, in the tables of a client; empty in the tables of one revision.
    pub revisions: &'static [&'static Spec],
    /// Frames that only this revision and younger revisions send.
    pub shows: &'static [Fingerprint],
    /// Frames that only older revisions send.
    pub excludes: &'static [Fingerprint],
    /// The documented failures.
    pub failures: &'static [FailureSpec],
    /// The commands that clients send.
    pub commands: &'static [CommandSpec],
    /// The events that agents send.
    pub events: &'static [EventSpec],
    /// The questions and notices that agents send.
    pub dialogs: &'static [DialogSpec],
}

impl Spec {
    /// Returns the row of a command by its wire name.
    pub fn command(&self, wire: &str) -> Option<&'static CommandSpec> {
        self.commands.iter().find(|command| command.wire == wire)
    }

    /// Returns the row of an event by its type.
    pub fn event(&self, name: &str) -> Option<&'static EventSpec> {
        self.events.iter().find(|event| event.name == name)
    }

    /// Returns the index of an event's row in [`events`](Self::events); `None` for a row of other tables.
    #[inline]
    pub fn event_index(&self, event: &'static EventSpec) -> Option<usize> {
        let from_start = (std::ptr::from_ref(event) as usize).checked_sub(self.events.as_ptr() as usize)?;
        Some(from_start / size_of::<EventSpec>()).filter(|place| *place < self.events.len())
    }

    /// Returns the row of a dialog by its method.
    pub fn dialog(&self, wire: &str) -> Option<&'static DialogSpec> {
        self.dialogs.iter().find(|dialog| dialog.wire == wire)
    }

    /// Returns the dialog with frames of its own, by the type of its question.
    pub fn dialog_by_request(&self, kind: &str) -> Option<&'static DialogSpec> {
        self.dialogs.iter().find(|dialog| dialog.frames.is_some_and(|frames| frames.request == kind))
    }

    /// Returns `true` if frames of the given type are questions or notices.
    pub fn is_request(&self, kind: &str) -> bool {
        self.dialog_frames.is_some_and(|frames| frames.request == kind)
            || self.dialog_by_request(kind).is_some()
    }

    /// Returns `true` if frames of the given type are answers to dialogs, or their progress.
    pub fn is_answer(&self, kind: &str) -> bool {
        let own = |frames: OwnFrames| frames.answer == Some(kind) || frames.progress == Some(kind);
        self.dialog_frames.is_some_and(|frames| frames.answer == kind)
            || self.dialogs.iter().any(|dialog| dialog.frames.is_some_and(own))
    }

    /// Returns `true` if frames of the given type are progress of a dialog, which stays open.
    pub fn is_progress(&self, kind: &str) -> bool {
        let own = |frames: OwnFrames| frames.progress == Some(kind);
        self.dialogs.iter().any(|dialog| dialog.frames.is_some_and(own))
    }

    /// Returns `NAME@REVISION`.
    pub fn id(&self) -> String {
        format!("{}@{}", self.name, self.revision)
    }
}

/// Alias of the newest revision.
pub const LATEST: &str = "latest";

/// Returns the revision of a dialect for `REVISION`, `NAME@REVISION` or `latest`.
pub fn revision_of(revisions: &[&'static Spec], asked: &str) -> Option<&'static Spec> {
    let name = revisions.first()?.name;
    let asked = asked.strip_prefix(name).and_then(|rest| rest.strip_prefix('@')).unwrap_or(asked);
    match asked {
        LATEST => revisions.last().copied(),
        asked => revisions.iter().copied().find(|spec| spec.revision == asked),
    }
}

/// Returns the names of revisions as a list for errors.
pub fn revision_names(revisions: &[&Spec]) -> String {
    revisions.iter().map(|spec| spec.revision).collect::<Vec<_>>().join(", ")
}

/// A dialect as a type parameter.
pub trait Dialect: Sized + Send + Sync + std::fmt::Debug + 'static {
    /// Tables of the first revision, which is the default.
    const SPEC: &'static Spec;
    /// Tables of the clients, which support every revision.
    const CLIENT: &'static Spec;
    /// Tables of each revision, oldest first.
    const REVISIONS: &'static [&'static Spec];
    /// Events of the dialect.
    type Event: crate::wire::EventUnion;
    /// Commands with their parameters.
    type Command: crate::wire::NamedUnion + Clone + std::fmt::Debug + PartialEq + Send + Sync + 'static;
    /// Data of answers.
    type Reply: crate::wire::ReplyUnion + Clone + std::fmt::Debug + PartialEq + Send + Sync + 'static;
    /// Dialogs with their parameters.
    type Dialog: crate::wire::NamedUnion + Clone + std::fmt::Debug + PartialEq + Send + Sync + 'static;
}
