//! What a front end wants of an agent, and which command of a dialect carries it: the writing side of [`crate::meaning`].
//!
//! [`INTENTS`] names what the dialects have in common, with neutral parameters and results. A dialect's table of
//! [`Carrier`]s stands beside its rows and says which command carries an intent, how its parameters are made of the
//! neutral ones ([`Send`]), and where the neutral results are found in the answer ([`Slot`]). The tables are data: one
//! small interpreter in each language calls by them (`sdk-rust/src/any/`).

mod neutral;
mod resolve;

use crate::meaning::{Constant, Reader, Slot};

pub use neutral::INTENTS;
pub use resolve::{Resolved, resolve};

/// What a front end wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Intent {
    /// Words that begin a run.
    Prompt,
    /// Words that reach the run that is going on.
    Steer,
    /// Words that wait until the agent would stop.
    FollowUp,
    /// Words that take the place of the run that is going on.
    AbortAndPrompt,
    /// The end of the run that is going on.
    Abort,
    /// The end of what waits in the queues.
    ClearQueue,
    /// A new session.
    NewSession,
    /// A session that is kept.
    OpenSession,
    /// The sessions that are kept.
    ListSessions,
    /// The end of a session that is kept.
    DeleteSession,
    /// A copy of the session to go on in.
    CloneSession,
    /// A place in the conversation to go on from.
    Fork,
    /// The places from which a fork can be made.
    ForkPoints,
    /// What the agent is doing, and with which settings.
    State,
    /// The messages of the conversation.
    Messages,
    /// The text of the model's last message.
    LastText,
    /// Tokens and cost.
    Stats,
    /// The models that can be chosen.
    Models,
    /// Another model.
    SetModel,
    /// The next model.
    CycleModel,
    /// The thinking levels that can be chosen.
    ThinkingLevels,
    /// Another thinking level.
    SetThinking,
    /// The next thinking level.
    CycleThinking,
    /// How steering words are handed over.
    SetSteeringMode,
    /// How follow-up words are handed over.
    SetFollowUpMode,
    /// When steering words reach the run.
    SetInterruptMode,
    /// A summary in place of older messages.
    Compact,
    /// Whether that happens by itself.
    SetAutoCompaction,
    /// Whether failed requests to the model are made again.
    SetAutoRetry,
    /// The end of the wait before such a request.
    AbortRetry,
    /// A shell command of the user.
    Bash,
    /// The end of it.
    AbortBash,
    /// The conversation as a page.
    Export,
    /// A name for the session.
    SetSessionName,
    /// What a prompt can invoke with `/name`.
    Commands,
    /// The entries of the session.
    Entries,
    /// The session as a tree.
    Tree,
    /// What the agent has still to do.
    Todos,
}

/// What a neutral parameter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Text,
    /// `true` or `false`.
    Flag,
    /// A list of images: `{"type": "image", "mimeType": …, "data": …}`.
    Images,
}

/// A neutral parameter.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Whether it has to be there.
    pub required: bool,
    /// What it means.
    pub doc: &'static str,
    /// Whether it is left out where a command does not take it; every other one is refused there.
    pub hint: bool,
}

/// A neutral result.
#[derive(Debug, Clone, Copy)]
pub struct Gives {
    /// Its name; with a dot in it, a member of an object.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
}

/// What becomes of an intent with an agent whose dialect has no command for it.
#[derive(Debug, Clone, Copy)]
pub enum Without {
    /// It is lost; why.
    Lost(&'static str),
    /// Whoever stands between the agent and a front end can answer it from what was seen; how.
    Seen(&'static str),
    /// Other intents do it together, where the dialect has them; how.
    Through(&'static [Intent], Differs),
}

/// What is other than an intent says.
#[derive(Debug, Clone, Copy)]
pub struct Differs {
    /// In words.
    pub says: &'static str,
    /// What is other behind such a command: places in the neutral form as `session.id` and `message<shell>` are, [`ORDER`],
    /// [`ANSWERS`], [`CALLS`], [`STOPPED`], [`SHELLS`], [`EVENTS`], [`GOES_ON`], [`HISTORY`].
    pub changes: &'static [&'static str],
    /// Whether that is so only of a command that comes while a run is going on.
    pub busy: bool,
    /// Whether the agent refuses the command, or carries it out, where others do not.
    pub refuses: bool,
    /// The parameters of the command with one of which that is so; none where it is so without them.
    pub with: &'static [&'static str],
    /// The revisions of the agent of which that is true, as `name@revision`; none for all of them.
    pub of: &'static [&'static str],
}

/// Where words of the user stand among the other messages, and how many turns there are. The same words reach the model and
/// are told, and what the model answers and tools give is the same.
pub const ORDER: &str = "order";
/// How many answers of the model follow words of the user, and which: words that others answer together have answers of their
/// own, or the other way round, and calls that others skip are carried out. Every answer is told whole, and so is every result.
pub const ANSWERS: &str = "answers";
/// In which answers calls stand: calls of one answer may have answers of their own, none of which says anything else.
pub const CALLS: &str = "calls";
/// Calls of a stopped answer: those that had not begun are not told, and neither is what those gave that had. Nor is the empty
/// answer at the end of the run.
pub const STOPPED: &str = "stopped";
/// Whether a shell command of the user leaves a message.
pub const SHELLS: &str = "shells";
/// All that is told of the run that is going on until it ends: how often, in which order, with which words.
pub const EVENTS: &str = "events";
/// Whether a run of the agent's own follows a summary that it makes by itself.
pub const GOES_ON: &str = "goesOn";
/// The messages that answers give from then on, and how many they are.
pub const HISTORY: &str = "history";

/// What is other, in words.
pub const fn says(says: &'static str) -> Differs {
    Differs { says, changes: &[], busy: false, refuses: false, with: &[], of: &[] }
}

impl Differs {
    /// The same, with what is other behind such a command.
    #[must_use]
    pub const fn changes(self, changes: &'static [&'static str]) -> Self {
        Differs { changes, ..self }
    }

    /// The same, of a command that comes while a run is going on.
    #[must_use]
    pub const fn when_busy(self) -> Self {
        Differs { busy: true, ..self }
    }

    /// The same, where the agent has rules of its own for what it refuses.
    #[must_use]
    pub const fn refuses(self) -> Self {
        Differs { refuses: true, ..self }
    }

    /// The same, of a command that is sent with one of these parameters.
    #[must_use]
    pub const fn with(self, with: &'static [&'static str]) -> Self {
        Differs { with, ..self }
    }

    /// The same, of these revisions of the agent alone.
    #[must_use]
    pub const fn of(self, of: &'static [&'static str]) -> Self {
        Differs { of, ..self }
    }
}

/// An intent, as every dialect and language has it.
#[derive(Debug, Clone, Copy)]
pub struct Neutral {
    /// The intent.
    pub intent: Intent,
    /// Its name.
    pub name: &'static str,
    /// What it does; the first sentence stands alone.
    pub doc: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// What it gives.
    pub gives: &'static [Gives],
    /// What becomes of it where a dialect lacks it.
    pub without: Without,
}

/// How a parameter of a command is made of neutral ones.
#[derive(Debug, Clone, Copy)]
pub enum Send {
    /// The neutral parameter; left out where that is missing.
    From(&'static str),
    /// Always that.
    Is(Constant),
    /// The neutral parameters that are there, with that text between them.
    Joined(&'static [&'static str], &'static str),
}

/// Which command carries an intent.
#[derive(Debug, Clone, Copy)]
pub struct Carrier {
    /// The intent.
    pub intent: Intent,
    /// The command's wire name.
    pub command: &'static str,
    /// Its parameters, but for the one that names the session.
    pub sends: &'static [(&'static str, Send)],
    /// The neutral results, found in `params` and `data` of the answer.
    pub gives: &'static [Slot],
    /// What is other than the intent says.
    pub differs: &'static [Differs],
    /// What is other where somebody stands between a front end of the dialect and an agent of another: what agents of the
    /// dialect do there, nobody who stands between does.
    pub alone: &'static [Differs],
}

/// A carrier without parameters and results.
pub const fn carries(intent: Intent, command: &'static str) -> Carrier {
    Carrier { intent, command, sends: &[], gives: &[], differs: &[], alone: &[] }
}

impl Carrier {
    /// The carrier, with those parameters.
    #[must_use]
    pub const fn sends(self, sends: &'static [(&'static str, Send)]) -> Self {
        Carrier { sends, ..self }
    }

    /// The carrier, with those results.
    #[must_use]
    pub const fn gives(self, gives: &'static [Slot]) -> Self {
        Carrier { gives, ..self }
    }

    /// The carrier, with what is other than the intent says.
    #[must_use]
    pub const fn differs(self, differs: &'static [Differs]) -> Self {
        Carrier { differs, ..self }
    }

    /// The carrier, with what is other where somebody stands between a front end of the dialect and an agent of another.
    #[must_use]
    pub const fn alone(self, alone: &'static [Differs]) -> Self {
        Carrier { alone, ..self }
    }
}

/// The neutral parameter of that name.
pub const fn from(name: &'static str) -> Send {
    Send::From(name)
}

/// A command that no intent stands for.
#[derive(Debug, Clone, Copy)]
pub struct Own {
    /// Its wire name.
    pub command: &'static str,
    /// Why.
    pub reason: &'static str,
    /// Whether who speaks the dialect with a front end answers it without the agent behind.
    pub by_front: bool,
}

/// A command that only agents of the dialect can answer.
pub const fn own(command: &'static str, reason: &'static str) -> Own {
    Own { command, reason, by_front: false }
}

/// A command that who speaks the dialect with a front end answers without the agent behind.
pub const fn by_front(command: &'static str, reason: &'static str) -> Own {
    Own { command, reason, by_front: true }
}

/// Parameters of a command that are no part of its intents.
#[derive(Debug, Clone, Copy)]
pub struct Beside {
    /// The command's wire name.
    pub command: &'static str,
    /// Its parameters.
    pub params: &'static [&'static str],
    /// Whether only agents of the dialect can do something with them.
    pub lost: bool,
}

/// Parameters with which only agents of the dialect can do something.
pub const fn lost(command: &'static str, params: &'static [&'static str]) -> Beside {
    Beside { command, params, lost: true }
}

/// Parameters that who speaks the dialect with a front end carries out by itself, or by other intents.
pub const fn done(command: &'static str, params: &'static [&'static str]) -> Beside {
    Beside { command, params, lost: false }
}

/// What a dialect's commands are for.
#[derive(Debug, Clone, Copy)]
pub struct Intents {
    /// How values are read that no frame of the meaning has.
    pub readers: &'static [Reader],
    /// Which command carries which intent. Of several for one intent, the first one that the agent's revision has.
    pub carriers: &'static [Carrier],
    /// The commands that carry none.
    pub own: &'static [Own],
    /// The parameters of the others that are no part of their intents.
    pub beside: &'static [Beside],
    /// Events without a meaning of their own that who speaks the dialect makes from what other events tell.
    pub made: &'static [&'static str],
    /// Dialogs that a tool of the dialect's agents asks, with its name: models of other agents have no such tool.
    pub by_tool: &'static [(&'static str, &'static str)],
}

impl Intents {
    /// Nothing beside what the parent has.
    pub const NONE: Intents =
        Intents { readers: &[], carriers: &[], own: &[], beside: &[], made: &[], by_tool: &[] };
}

/// The neutral form of an intent.
pub fn neutral(intent: Intent) -> Option<&'static Neutral> {
    INTENTS.iter().find(|row| row.intent == intent)
}
