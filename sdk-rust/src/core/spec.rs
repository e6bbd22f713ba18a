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

/// Time at which the agent answers a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerTiming {
    /// Once, after the work.
    Done,
    /// Once, as soon as the work can start.
    Accepted,
    /// Once, immediately. A failure with the same id may follow.
    Acknowledged,
    /// Never. In JSON-RPC, such a command is a notification of the client.
    Never,
}

/// Effect of a command on runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunRole {
    /// No effect.
    None,
    /// Starts a run.
    Starts,
    /// Acts on the current run.
    Acts,
    /// Stops the current run.
    Stops,
    /// Replaces the current run. That run is over when this command is answered.
    Replaces,
}

/// Scheduling class of a command in a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// The command is executed at once and never waits for other commands.
    Immediate,
    /// Commands of a session are executed one at a time.
    Session,
    /// Commands are executed side by side and never wait for another lane.
    Bash,
}

/// Effects that a command may have on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// No change.
    Read,
    /// A change of the agent: the model works, or the conversation or a setting changes.
    Act,
    /// A shell command of the client is executed without a decision of the model.
    Execute,
}

/// Statement of an event about the current run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEffect {
    /// No statement.
    None,
    /// Work continues.
    Begins,
    /// The run may be over.
    MayEnd,
    /// The run is not over.
    Holds,
    /// If the named boolean member is true, the run is not over. Otherwise it may be over.
    MayEndUnless(&'static str),
    /// If the named boolean member is false, the run is not over. Otherwise it may be over.
    MayEndIf(&'static str),
    /// If the named boolean member is false, the run may be over. Otherwise it is not over.
    HoldsIf(&'static str),
    /// The run is over.
    Ends,
}

impl RunEffect {
    /// Evaluates the named member in the event's object, `body`. Returns `None`, `Begins`, `MayEnd`, `Holds` or
    /// `Ends`.
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

/// Form of the answer if the handler of a command fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerFailure {
    /// A failure with the command's name and id.
    OwnCommandAndId,
    /// A failure named `parse` without an id, except for some commands.
    ParseWithoutId {
        /// Commands whose failures have the command's name and id.
        except: &'static [&'static str],
        /// Subset of `except`: commands whose failures have name and id even if the parameters are unreadable.
        invalid: &'static [&'static str],
    },
    /// A JSON-RPC error.
    JsonRpcError,
}

/// Order of a response's members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseOrder {
    /// `id` first.
    IdFirst,
    /// `type` first.
    TypeFirst,
}

/// Effect of the end of stdin on running work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndOfInput {
    /// The work finishes.
    Finish,
    /// The work is aborted.
    Abort,
}

/// Rules for input that is not a valid command, for the form of answers, and for the end of input.
#[derive(Debug, Clone, Copy)]
pub struct Edges {
    /// `true` if the answer to an unknown command contains the command's id.
    pub unknown_command_echoes_id: bool,
    /// Text of the answer to an unknown command. `{command}` is replaced by the command's name.
    pub unknown_command_text: &'static str,
    /// Form of the answer to a command that fails for any other reason.
    pub handler_failure: HandlerFailure,
    /// Prefix of the text of a failure for an unreadable line.
    pub parse_prefix: &'static str,
    /// Value of the member `command` in the answer to an unreadable line.
    pub parse_command: &'static str,
    /// `true` if a blank line or a byte order mark is answered as a failure.
    pub blank_line_is_error: bool,
    /// `true` if the last line is processed even without LF.
    pub unfinished_line_counts: bool,
    /// `true` if a successful answer without data contains the data `{}`.
    pub empty_data: bool,
    /// Order of a response's members.
    pub response_order: ResponseOrder,
    /// Effect of the end of stdin.
    pub end_of_input: EndOfInput,
    /// Maximum length of a command's line in bytes, without its end; `None` for no limit.
    pub longest_command: Option<u64>,
}

/// Behavior of agents that frames do not show, and that differs between revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behavior {
    /// Applies to a request for the model's last text. If `true`, the request skips every answer that has no
    /// text and did not end normally. If `false`, it skips only aborted answers without content.
    pub skips_textless_answers: bool,
    /// Applies to a tool that reads an image for a model that does not accept images. Names the member of the
    /// result's details that contains the model's name; `None` if there is no such member.
    pub blind_model_detail: Option<&'static str>,
    /// Texts in lower case. If a provider's rejection contains one of them, the agent retries the request.
    pub retried_words: &'static [&'static str],
    /// Applies to failures of listeners on the event bus of extensions. If `true`, the client receives an
    /// event; if `false`, the failure is only logged.
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

/// A command whose answer shows whether a run is over.
#[derive(Debug, Clone, Copy)]
pub struct Barrier {
    /// The command's wire name.
    pub command: &'static str,
    /// Member of the answer's data that shows activity. It is either a boolean, which is true while work
    /// continues, or a text.
    pub busy: &'static str,
    /// If the member is a text, its value while the agent is idle.
    pub idle: Option<&'static str>,
    /// Time limit for the answer. Without an answer in time, the run ends anyway, but its result is not
    /// confirmed.
    pub limit: Duration,
}

/// Rules by which a client detects the end of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunEnd {
    /// The command that is sent after a possible end, because its answer proves that no event follows.
    pub barrier: Option<Barrier>,
    /// The command that reports the agent's activity. It is sent after an unreadable line during a run.
    pub state: Option<Barrier>,
    /// Time in which work may still follow after the agent reported itself idle.
    pub gap: Duration,
    /// `true` if the answer to the command that started the run ends the run.
    pub answer_ends: bool,
}

/// Row of a command.
#[derive(Debug, Clone, Copy)]
pub struct CommandSpec {
    /// Name of the command's method in clients.
    pub name: &'static str,
    /// The name on the wire.
    pub wire: &'static str,
    /// Time of its answer.
    pub answer: AnswerTiming,
    /// Effect on runs.
    pub run: RunRole,
    /// Lane of the command.
    pub lane: Lane,
    /// Default time limit of a client; `None` for no limit.
    pub timeout: Option<Duration>,
    /// `true` if the command changes nothing. A call that timed out may then be repeated.
    pub reads: bool,
    /// Parameters that must be present.
    pub required: &'static [&'static str],
    /// Parameters that are treated as absent if their value has the wrong type.
    pub tolerates: &'static [&'static str],
    /// Kind of failure for each parameter whose value has the wrong type. A name that ends with a dot stands
    /// for the values inside that parameter.
    pub wrong: &'static [(&'static str, &'static str)],
    /// Parameters that have another name in some revisions, with both names. The tables of one revision list
    /// only the parameters whose names differ from those in the oldest revision.
    pub renamed: &'static [(&'static str, &'static str)],
    /// `true` if the command has parameters. If it has none, JSON-RPC servers ignore all received parameters.
    pub has_params: bool,
}

impl CommandSpec {
    /// Returns the effects that the command may have. They follow from `reads` and from the lane of shell
    /// commands.
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
    /// Statement about the run.
    pub run: RunEffect,
    /// `true` if each event of this type contains all information of the earlier ones.
    pub snapshot: bool,
    /// Rules for the outcome of the run.
    pub outcome: &'static [OutcomeRule],
}

/// Row of a dialog.
#[derive(Debug, Clone, Copy)]
pub struct DialogSpec {
    /// Name of the handler.
    pub name: &'static str,
    /// The method on the wire.
    pub wire: &'static str,
    /// `true` if an answer is expected.
    pub answered: bool,
    /// The members of the answer: name, JSON type (`any` if several are possible), and `true` if the member is
    /// required.
    pub answer: &'static [(&'static str, &'static str, bool)],
    /// The answer that dismisses the question, as JSON members; `None` if the dismissal is an error.
    pub fallback: Option<&'static str>,
    /// Member with a time in milliseconds. After this time the agent continues without an answer, and the
    /// question is withdrawn.
    pub expires: Option<&'static str>,
    /// If this dialog withdraws an open question, the member with that question's id.
    pub withdraws: Option<&'static str>,
    /// Frame types of this dialog, if they differ from those of other dialogs.
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

/// Events that carry the pieces of a frame that is too long for one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunks {
    /// The event that carries a piece.
    pub event: &'static str,
    /// The member with the id of the frame, which is equal in all of its pieces.
    pub id: &'static str,
    /// The member with the index of the piece, from 0.
    pub index: &'static str,
    /// The member with the total number of pieces.
    pub count: &'static str,
    /// The member with the length of the whole frame, in bytes.
    pub length: &'static str,
    /// The member with the bytes of the piece, in base64.
    pub data: &'static str,
    /// Maximum length of a whole frame, in bytes.
    pub most: u64,
}

/// A failure that the document of the dialect lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailureSpec {
    /// Kind of the failure, as in `no_api_key`.
    pub kind: &'static str,
    /// The JSON-RPC code, in dialects that have codes.
    pub code: Option<i64>,
    /// The text. Each `{…}` in it stands for any text.
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

/// Location of the model's text in events.
#[derive(Debug, Clone, Copy)]
pub struct TextPieces {
    /// The event that starts a message.
    pub begins: &'static str,
    /// The event with pieces of text.
    pub event: &'static str,
    /// Path to the part of the event that contains a piece of text, or to a list of such parts.
    pub path: &'static [&'static str],
    /// Member with the kind of a part, and the value of this member in text parts; `None` if every part is
    /// text.
    pub kind: Option<(&'static str, &'static str)>,
    /// Member of the part that contains the piece.
    pub piece: &'static str,
}

impl TextPieces {
    /// Returns the pieces of text in an event of that type.
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
    /// The event of that type.
    Event(&'static str),
    /// The event of that type with that member.
    EventMember(&'static str, &'static str),
    /// The event of that type without that member.
    EventWithout(&'static str, &'static str),
    /// A successful answer to that command with that member in its data.
    AnswerMember(&'static str, &'static str),
    /// A successful answer to that command, with data that lacks that member or without data.
    AnswerWithout(&'static str, &'static str),
    /// A successful answer to that command without data.
    AnswerBare(&'static str),
    /// Any event without an envelope.
    BareEvent,
    /// Any event in its envelope.
    WrappedEvent,
}

/// The tables of one revision of a dialect, or the tables of a client, which cover all revisions.
#[derive(Debug)]
pub struct Spec {
    /// Name of the dialect.
    pub name: &'static str,
    /// Name of the revision.
    pub revision: &'static str,
    /// Name of its agent.
    pub agent: &'static str,
    /// Framing of the dialect.
    pub framing: Framing,
    /// `true` if events of undeclared types are passed to subscribers.
    pub events_open: bool,
    /// Types of dialog frames, in flat dialects.
    pub dialog_frames: Option<DialogFrames>,
    /// Events for frames in pieces, if the dialect has them.
    pub chunks: Option<Chunks>,
    /// Member of an event that names its session, for dialects with several sessions per connection.
    pub session_member: Option<&'static str>,
    /// Command that opens a session without parameters, for dialects with several sessions per connection. The
    /// data of its answer name the session in `session_member`.
    pub opens_session: Option<&'static str>,
    /// Paths of the model's text in events.
    pub text: TextPieces,
    /// Rules for invalid input, for the form of answers and for the end of input.
    pub edges: Edges,
    /// Rules for the end of a run.
    pub run_end: RunEnd,
    /// Behavior of the revision's agent that is not visible in frames.
    pub behavior: Behavior,
    /// In the tables of a client, the tables of each revision, oldest first. Empty in the tables of one
    /// revision.
    pub revisions: &'static [&'static Spec],
    /// Frames that only this revision and younger revisions send.
    pub shows: &'static [Fingerprint],
    /// Frames that only older revisions send.
    pub excludes: &'static [Fingerprint],
    /// The documented failures.
    pub failures: &'static [FailureSpec],
    /// The commands.
    pub commands: &'static [CommandSpec],
    /// The events.
    pub events: &'static [EventSpec],
    /// The dialogs.
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

    /// Returns the index of an event's row in [`events`](Self::events). Returns `None` if the row belongs to
    /// other tables.
    #[inline]
    pub fn event_index(&self, event: &'static EventSpec) -> Option<usize> {
        let from_start = (std::ptr::from_ref(event) as usize).checked_sub(self.events.as_ptr() as usize)?;
        Some(from_start / size_of::<EventSpec>()).filter(|place| *place < self.events.len())
    }

    /// Returns the row of a dialog by its method.
    pub fn dialog(&self, wire: &str) -> Option<&'static DialogSpec> {
        self.dialogs.iter().find(|dialog| dialog.wire == wire)
    }

    /// Returns the dialog that has its own frame types, by the type of its question.
    pub fn dialog_by_request(&self, kind: &str) -> Option<&'static DialogSpec> {
        self.dialogs.iter().find(|dialog| dialog.frames.is_some_and(|frames| frames.request == kind))
    }

    /// Returns `true` if frames of that type are questions or notices.
    pub fn is_request(&self, kind: &str) -> bool {
        self.dialog_frames.is_some_and(|frames| frames.request == kind)
            || self.dialog_by_request(kind).is_some()
    }

    /// Returns `true` if frames of that type are answers to dialogs, or progress of a dialog.
    pub fn is_answer(&self, kind: &str) -> bool {
        let own = |frames: OwnFrames| frames.answer == Some(kind) || frames.progress == Some(kind);
        self.dialog_frames.is_some_and(|frames| frames.answer == kind)
            || self.dialogs.iter().any(|dialog| dialog.frames.is_some_and(own))
    }

    /// Returns `true` if frames of that type report progress of a dialog, which stays open.
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

/// Returns the revision that `asked` names: `REVISION`, `NAME@REVISION` or `latest`. Returns `None` if it does
/// not exist.
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
