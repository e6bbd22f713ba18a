//! What the runtime knows of a dialect: tables that are generated from the declaration.

use std::time::Duration;

pub use crate::outcome::{OutcomeRule, Test, Told};
use crate::scan;

/// How frames are wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Bare objects with a `type`.
    Flat,
    /// As flat, with each event inside `{"type": "event", "event": {…}}`.
    Enveloped,
    /// JSON-RPC 2.0.
    JsonRpc {
        /// The method of the notifications that carry events.
        notification: &'static str,
    },
}

/// When a command is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Once, when the work is done.
    Done,
    /// Once, when it is clear that the work can start.
    Accepted,
    /// At once; a failure with the same id may follow.
    Acknowledged,
    /// Never: in JSON-RPC, a notification of the client.
    Never,
}

/// What a command has to do with runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunRole {
    /// Nothing.
    None,
    /// It starts one.
    Starts,
    /// It acts on the one that is going on.
    Acts,
    /// It stops the one that is going on.
    Stops,
    /// It puts something else in its place: the run is over when this is answered.
    Replaces,
}

/// The lane of a server that a command runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// At once, never behind other work.
    Immediate,
    /// One at a time.
    Session,
    /// Side by side, never behind another lane.
    Bash,
}

/// What a command may do to what is on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It changes nothing.
    Read,
    /// It changes the agent: it lets the model work, or changes the conversation or a setting.
    Act,
    /// It runs what the client says, without a model in between.
    Execute,
}

/// What an event says about the run that is going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEffect {
    /// Nothing.
    None,
    /// Work goes on.
    Begins,
    /// The run may be over.
    MayEnd,
    /// The run is not over.
    Holds,
    /// It may be over, except where the named boolean member is true.
    MayEndUnless(&'static str),
    /// It may be over, except where the named boolean member is false.
    MayEndIf(&'static str),
    /// It is not over, except where the named boolean member is false.
    HoldsIf(&'static str),
    /// The run is over.
    Ends,
}

impl RunEffect {
    /// What an event with that object says: the member that it depends on is looked at. One of `None`, `Begins`, `MayEnd`,
    /// `Holds` and `Ends`.
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

/// How a failure of a handler is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerFailure {
    /// With the command's name and id.
    OwnCommandAndId,
    /// As a `parse` failure without id, but for these commands.
    ParseWithoutId {
        /// Commands whose failures keep their name and id.
        except: &'static [&'static str],
        /// Those of them that keep them too where their parameters cannot be read.
        invalid: &'static [&'static str],
    },
    /// As a JSON-RPC error.
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

/// What the end of stdin does to running work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndOfInput {
    /// It finishes.
    Finish,
    /// It is aborted.
    Abort,
}

/// The rules at the edges.
#[derive(Debug, Clone, Copy)]
pub struct Edges {
    /// Whether the answer to an unknown command carries the id.
    pub unknown_command_echoes_id: bool,
    /// The text of that answer; `{command}` stands for the name.
    pub unknown_command_text: &'static str,
    /// How other failures are answered.
    pub handler_failure: HandlerFailure,
    /// What failures to read a line begin with.
    pub parse_prefix: &'static str,
    /// The `command` of such an answer.
    pub parse_command: &'static str,
    /// Whether a blank line or a byte order mark is answered as a failure.
    pub blank_line_is_error: bool,
    /// Whether a last line counts that has no LF at its end.
    pub unfinished_line_counts: bool,
    /// Whether a success without data carries `{}`.
    pub empty_data: bool,
    /// Order of a response's members.
    pub response_order: ResponseOrder,
    /// What the end of stdin does.
    pub end_of_input: EndOfInput,
    /// How long the line of a command may be, in bytes without its end.
    pub longest_command: Option<u64>,
}

/// Behavior of agents in which revisions differ although their frames are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behavior {
    /// True: a request for the model's last text skips each answer without text that did not end normally. False: it
    /// skips only an aborted answer without content.
    pub skips_textless_answers: bool,
    /// The member of a result's details that names the model, if a tool reads an image and the model takes none. `None`: there is
    /// no such member.
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

/// A command whose answer proves that a run is over.
#[derive(Debug, Clone, Copy)]
pub struct Barrier {
    /// The command's wire name.
    pub command: &'static str,
    /// The member of its data that says whether work goes on: true while it does, where it is a boolean.
    pub busy: &'static str,
    /// The value that this member has while the agent is idle, where it is text.
    pub idle: Option<&'static str>,
    /// How long its answer is waited for. A run whose barrier was not answered by then ends all the same, and its
    /// result says so.
    pub limit: Duration,
}

/// How a client knows that a run is over.
#[derive(Debug, Clone, Copy)]
pub struct RunEnd {
    /// The proof that nothing follows.
    pub barrier: Option<Barrier>,
    /// The command that says whether work goes on, asked after a line of a run could not be read.
    pub state: Option<Barrier>,
    /// How long something may still follow after that.
    pub gap: Duration,
    /// Whether the answer to the command that started the run ends it.
    pub answer_ends: bool,
}

/// What the runtime knows of a command.
#[derive(Debug, Clone, Copy)]
pub struct CommandSpec {
    /// The helper's name.
    pub name: &'static str,
    /// The name on the wire.
    pub wire: &'static str,
    /// When it is answered.
    pub answer: Answer,
    /// What it has to do with runs.
    pub run: RunRole,
    /// Its lane.
    pub lane: Lane,
    /// How long a client waits by default; none: without a limit.
    pub timeout: Option<Duration>,
    /// Whether it changes nothing: a call that timed out may be made again.
    pub reads: bool,
    /// The parameters that it needs.
    pub required: &'static [&'static str],
    /// Parameters that count as left out where their value is of another type.
    pub tolerates: &'static [&'static str],
    /// The kinds of failure that parameters of another type are refused with. A parameter with a dot at its end stands for
    /// what is within it.
    pub wrong: &'static [(&'static str, &'static str)],
    /// Parameters that have another name in some revisions, with both names; in the tables of one revision those that it
    /// calls otherwise than the oldest.
    pub renamed: &'static [(&'static str, &'static str)],
    /// Whether it has parameters. In JSON-RPC nobody looks at those of a command that has none.
    pub has_params: bool,
}

impl CommandSpec {
    /// What the command may do, as its row says: `reads`, and the lane of shell commands.
    pub const fn access(&self) -> Access {
        match (self.reads, self.lane) {
            (true, _) => Access::Read,
            (false, Lane::Bash) => Access::Execute,
            (false, _) => Access::Act,
        }
    }
}

/// What the runtime knows of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSpec {
    /// Its `type`.
    pub name: &'static str,
    /// What it says about the run.
    pub run: RunEffect,
    /// Whether a newer one carries all that an older one did.
    pub snapshot: bool,
    /// What it tells of how the run stands.
    pub outcome: &'static [OutcomeRule],
}

/// What the runtime knows of a dialog.
#[derive(Debug, Clone, Copy)]
pub struct DialogSpec {
    /// The handler's name.
    pub name: &'static str,
    /// The method on the wire.
    pub wire: &'static str,
    /// Whether an answer is expected.
    pub answered: bool,
    /// The members of the answer: name, JSON type (`any` where several are possible) and whether the member is required.
    pub answer: &'static [(&'static str, &'static str, bool)],
    /// The answer that means "no answer", as JSON members; none where an error says so.
    pub fallback: Option<&'static str>,
    /// The member that says after how many milliseconds the agent answers for itself: the question is withdrawn then.
    pub expires: Option<&'static str>,
    /// The member that names an open question, by its id, which this one takes back.
    pub withdraws: Option<&'static str>,
    /// The frames that it stands in, where they are its own.
    pub frames: Option<OwnFrames>,
}

/// Types of the frames of one dialog alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnFrames {
    /// Of the question.
    pub request: &'static str,
    /// Of the answer.
    pub answer: Option<&'static str>,
    /// Of what a client may send before the answer.
    pub progress: Option<&'static str>,
}

/// Frames that are too long for one line and come in pieces, each an event.
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

/// A failure that the dialect's document names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailureSpec {
    /// What kind of failure it is, as in `no_api_key`.
    pub kind: &'static str,
    /// The JSON-RPC code, in dialects that have codes.
    pub code: Option<i64>,
    /// The text; `{…}` stands for any text, of any length.
    pub text: &'static str,
}

/// Types of the frames that carry dialogs in flat dialects.
#[derive(Debug, Clone, Copy)]
pub struct DialogFrames {
    /// Of a question.
    pub request: &'static str,
    /// Of an answer.
    pub answer: &'static str,
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

impl TextPieces {
    /// The pieces of text that the event of that type carries.
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

/// A frame that tells revisions apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// The event of that type.
    Event(&'static str),
    /// The event of that type with that member.
    EventMember(&'static str, &'static str),
    /// The event of that type without that member.
    EventWithout(&'static str, &'static str),
    /// A successful answer to that command whose data have that member.
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

/// The tables of one revision of a dialect, or of its clients, which speak with all of them.
#[derive(Debug)]
pub struct Spec {
    /// Its name.
    pub name: &'static str,
    /// Its revision.
    pub revision: &'static str,
    /// The agent that speaks it.
    pub agent: &'static str,
    /// How frames are wrapped.
    pub framing: Framing,
    /// Whether event types outside the declaration are kept.
    pub events_open: bool,
    /// Dialogs in flat dialects.
    pub dialog_frames: Option<DialogFrames>,
    /// How long frames come in pieces, where they may.
    pub chunks: Option<Chunks>,
    /// The member of an event that names its session, where a connection has several.
    pub session_member: Option<&'static str>,
    /// The command that opens a session and can be sent without knowing anything, where a connection has several: the
    /// data of its answer have the member that names the session.
    pub opens_session: Option<&'static str>,
    /// Where the text that the model writes stands in events.
    pub text: TextPieces,
    /// The rules at the edges.
    pub edges: Edges,
    /// How a run ends.
    pub run_end: RunEnd,
    /// Behavior of the revision's agent that frames do not show.
    pub behavior: Behavior,
    /// In the tables of a client: those of each revision, the oldest first. Empty in those of one revision.
    pub revisions: &'static [&'static Spec],
    /// Frames that only this revision and younger ones send.
    pub shows: &'static [Sign],
    /// Frames that only older revisions send.
    pub excludes: &'static [Sign],
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
    /// A command by its wire name.
    pub fn command(&self, wire: &str) -> Option<&'static CommandSpec> {
        self.commands.iter().find(|command| command.wire == wire)
    }

    /// An event by its type.
    pub fn event(&self, name: &str) -> Option<&'static EventSpec> {
        self.events.iter().find(|event| event.name == name)
    }

    /// The place of an event's row in [`events`](Self::events); none where it is a row of other tables.
    #[inline]
    pub fn place_of(&self, event: &'static EventSpec) -> Option<usize> {
        let from_start = (std::ptr::from_ref(event) as usize).checked_sub(self.events.as_ptr() as usize)?;
        Some(from_start / size_of::<EventSpec>()).filter(|place| *place < self.events.len())
    }

    /// A dialog by its method.
    pub fn dialog(&self, wire: &str) -> Option<&'static DialogSpec> {
        self.dialogs.iter().find(|dialog| dialog.wire == wire)
    }

    /// The dialog that has frames of its own, by the type of its question.
    pub fn asked_by(&self, kind: &str) -> Option<&'static DialogSpec> {
        self.dialogs.iter().find(|dialog| dialog.frames.is_some_and(|frames| frames.request == kind))
    }

    /// Whether frames of that type are questions or notices.
    pub fn is_request(&self, kind: &str) -> bool {
        self.dialog_frames.is_some_and(|frames| frames.request == kind) || self.asked_by(kind).is_some()
    }

    /// Whether frames of that type answer dialogs, or show something before the answer.
    pub fn is_answer(&self, kind: &str) -> bool {
        let own = |frames: OwnFrames| frames.answer == Some(kind) || frames.progress == Some(kind);
        self.dialog_frames.is_some_and(|frames| frames.answer == kind)
            || self.dialogs.iter().any(|dialog| dialog.frames.is_some_and(own))
    }

    /// Whether frames of that type show something before the answer to a dialog, which stays open.
    pub fn is_progress(&self, kind: &str) -> bool {
        let own = |frames: OwnFrames| frames.progress == Some(kind);
        self.dialogs.iter().any(|dialog| dialog.frames.is_some_and(own))
    }

    /// `NAME@REVISION`.
    pub fn id(&self) -> String {
        format!("{}@{}", self.name, self.revision)
    }
}

/// What stands in place of a revision for the newest one.
pub const LATEST: &str = "latest";

/// The one of a dialect's revisions that is meant by `REVISION`, `NAME@REVISION` or `latest`.
pub fn revision_of(revisions: &[&'static Spec], asked: &str) -> Option<&'static Spec> {
    let name = revisions.first()?.name;
    let asked = asked.strip_prefix(name).and_then(|rest| rest.strip_prefix('@')).unwrap_or(asked);
    match asked {
        LATEST => revisions.last().copied(),
        asked => revisions.iter().copied().find(|spec| spec.revision == asked),
    }
}

/// The names of revisions, as errors list them.
pub fn revision_names(revisions: &[&Spec]) -> String {
    revisions.iter().map(|spec| spec.revision).collect::<Vec<_>>().join(", ")
}

/// A dialect as a type parameter.
pub trait Dialect: Sized + Send + Sync + std::fmt::Debug + 'static {
    /// The tables of its first revision, which is spoken where none is named.
    const SPEC: &'static Spec;
    /// The tables of its clients, which speak with every revision.
    const CLIENT: &'static Spec;
    /// The tables of each revision, the oldest first.
    const REVISIONS: &'static [&'static Spec];
    /// Its events.
    type Event: crate::wire::Eventful;
    /// Its commands with their parameters.
    type Command: crate::wire::Named + Clone + std::fmt::Debug + PartialEq + Send + Sync + 'static;
    /// The data of its answers.
    type Reply: crate::wire::Answered + Clone + std::fmt::Debug + PartialEq + Send + Sync + 'static;
    /// Its dialogs with their parameters.
    type Dialog: crate::wire::Named + Clone + std::fmt::Debug + PartialEq + Send + Sync + 'static;
}
