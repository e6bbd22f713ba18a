//! The intents of a client independent of a dialect, and the command of a dialect that carries each intent. The
//! counterpart of [`crate::meaning`] for writing.
//!
//! [`INTENTS`] names the common operations of the dialects, with neutral parameters and results. A dialect's table of
//! [`CommandMapping`]s is declared next to its rows. It names the command that carries an intent, the source of its
//! parameters ([`ParamSource`]), and the location of the neutral results in the answer ([`Binding`]). The tables are
//! data: one small interpreter in each language makes calls by them (`sdk-rust/src/any/`).

mod neutral;
mod resolve;

use crate::meaning::{Binding, Constant, Reader};

pub use neutral::INTENTS;
pub use resolve::{ResolvedIntents, resolve};

/// An operation that a client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Intent {
    /// Starts a run with the user's input.
    Prompt,
    /// Sends input to the current run.
    Steer,
    /// Queues input for the end of the run.
    FollowUp,
    /// Replaces the current run by one with new input.
    AbortAndPrompt,
    /// Aborts the current run.
    Abort,
    /// Removes all messages from the queues.
    ClearQueue,
    /// Starts a new session.
    NewSession,
    /// Opens a stored session.
    OpenSession,
    /// Lists the stored sessions.
    ListSessions,
    /// Deletes a stored session.
    DeleteSession,
    /// Continues in a copy of the session.
    CloneSession,
    /// Continues from an earlier position of the conversation.
    Fork,
    /// Lists the positions from which a fork can be made.
    ForkPoints,
    /// Returns the activity of the agent and its settings.
    State,
    /// Returns the messages of the conversation.
    Messages,
    /// Returns the text of the model's last message.
    LastText,
    /// Returns token counts and cost.
    Stats,
    /// Lists the available models.
    Models,
    /// Switches to another model.
    SetModel,
    /// Switches to the next model.
    CycleModel,
    /// Lists the available thinking levels.
    ThinkingLevels,
    /// Switches to another thinking level.
    SetThinking,
    /// Switches to the next thinking level.
    CycleThinking,
    /// Sets the delivery of steering messages.
    SetSteeringMode,
    /// Sets the delivery of follow-up messages.
    SetFollowUpMode,
    /// Sets the time at which steering messages reach the run.
    SetInterruptMode,
    /// Replaces older messages by a summary.
    Compact,
    /// Switches automatic compaction on or off.
    SetAutoCompaction,
    /// Switches automatic retries of failed requests to the model on or off.
    SetAutoRetry,
    /// Ends the delay before such a retry.
    AbortRetry,
    /// Runs a shell command of the user.
    Bash,
    /// Aborts the shell command of the user.
    AbortBash,
    /// Exports the conversation as an HTML page.
    Export,
    /// Sets the name of the session.
    SetSessionName,
    /// Lists the commands that a prompt can invoke with `/name`.
    Commands,
    /// Returns the entries of the session.
    Entries,
    /// Returns the session as a tree.
    Tree,
    /// Returns the todo list of the agent.
    Todos,
}

/// The kind of a neutral parameter.
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
    /// Name of the parameter.
    pub name: &'static str,
    /// Kind of the parameter.
    pub kind: Kind,
    /// `true` if the parameter must be present.
    pub required: bool,
    /// Meaning of the parameter.
    pub doc: &'static str,
    /// `true` to omit the parameter for a command that does not accept it. If `false`, a call with the parameter fails
    /// there.
    pub hint: bool,
}

/// A neutral result.
#[derive(Debug, Clone, Copy)]
pub struct ResultSpec {
    /// Name of the result; a dot in it separates an object from its member.
    pub name: &'static str,
    /// Meaning of the result.
    pub doc: &'static str,
}

/// The handling of an intent for an agent whose dialect has no command for it.
#[derive(Debug, Clone, Copy)]
pub enum Fallback {
    /// The intent is not supported, for this reason.
    Lost(&'static str),
    /// An intermediary between the agent and a client can answer the intent from earlier frames, by this method.
    Seen(&'static str),
    /// Other intents replace it, if the dialect has them, with this difference.
    Through(&'static [Intent], Divergence),
}

/// A difference from the definition of an intent.
#[derive(Debug, Clone, Copy)]
pub struct Divergence {
    /// Description of the difference.
    pub description: &'static str,
    /// Parts that differ after such a command: paths in the neutral form, as `session.id` and `message<shell>`, or
    /// [`ORDER`], [`ANSWERS`], [`CALLS`], [`STOPPED`], [`SHELLS`], [`EVENTS`], [`GOES_ON`], [`HISTORY`].
    pub changes: &'static [&'static str],
    /// `true` if the difference occurs only for a command during a run.
    pub busy: bool,
    /// `true` if the agent rejects the command, or accepts it, unlike other agents.
    pub refuses: bool,
    /// Parameters of which the command must have one for the difference to occur; empty if it occurs without them.
    pub with: &'static [&'static str],
    /// Revisions of the agent with the difference, as `name@revision`; empty for all of them.
    pub of: &'static [&'static str],
}

/// The position of the user's input among the other messages, and the number of turns. The input that the model
/// receives and that events report, the answers of the model and the results of tools are the same.
pub const ORDER: &str = "order";
/// The number of the model's answers to the user's input, and their assignment. Inputs that others answer together have
/// separate answers, or the reverse, and calls that others skip are executed. Every answer and every result is reported
/// completely.
pub const ANSWERS: &str = "answers";
/// The assignment of calls to answers: calls of one answer may have separate answers, which contain no other content.
pub const CALLS: &str = "calls";
/// The calls of an aborted answer: calls that had not started are not reported, and neither are the results of started
/// calls. The empty answer at the end of the run is also missing.
pub const STOPPED: &str = "stopped";
/// The presence of a message for a shell command of the user.
pub const SHELLS: &str = "shells";
/// All events of the current run until its end: their number, order and wording.
pub const EVENTS: &str = "events";
/// The presence of a run of the agent's own after an automatic summary.
pub const GOES_ON: &str = "goesOn";
/// The messages in later answers, and their number.
pub const HISTORY: &str = "history";

/// Creates a difference with a description.
pub const fn divergence(description: &'static str) -> Divergence {
    Divergence { description, changes: &[], busy: false, refuses: false, with: &[], of: &[] }
}

impl Divergence {
    /// Returns the difference with the parts that differ after such a command.
    #[must_use]
    pub const fn changes(self, changes: &'static [&'static str]) -> Self {
        Divergence { changes, ..self }
    }

    /// Returns the difference for commands during a run only.
    #[must_use]
    pub const fn when_busy(self) -> Self {
        Divergence { busy: true, ..self }
    }

    /// Returns the difference for an agent with its own rules for rejections.
    #[must_use]
    pub const fn refuses(self) -> Self {
        Divergence { refuses: true, ..self }
    }

    /// Returns the difference for a command with one of these parameters.
    #[must_use]
    pub const fn with(self, with: &'static [&'static str]) -> Self {
        Divergence { with, ..self }
    }

    /// Returns the difference for these revisions of the agent only.
    #[must_use]
    pub const fn of(self, of: &'static [&'static str]) -> Self {
        Divergence { of, ..self }
    }
}

/// An intent as defined for every dialect and language.
#[derive(Debug, Clone, Copy)]
pub struct IntentSpec {
    /// The intent.
    pub intent: Intent,
    /// Name of the intent.
    pub name: &'static str,
    /// Description of the intent; the first sentence is self-contained.
    pub doc: &'static str,
    /// Parameters of the intent.
    pub params: &'static [Param],
    /// Results of the intent.
    pub results: &'static [ResultSpec],
    /// Handling of the intent for a dialect without a command for it.
    pub without: Fallback,
}

/// The source of a command's parameter.
#[derive(Debug, Clone, Copy)]
pub enum ParamSource {
    /// The neutral parameter; the command's parameter is omitted if it is absent.
    From(&'static str),
    /// A constant.
    Is(Constant),
    /// The neutral parameters that are present, joined by the text.
    Joined(&'static [&'static str], &'static str),
}

/// The command that carries an intent.
#[derive(Debug, Clone, Copy)]
pub struct CommandMapping {
    /// The intent.
    pub intent: Intent,
    /// Wire name of the command.
    pub command: &'static str,
    /// Parameters of the command, except the id of the session.
    pub params: &'static [(&'static str, ParamSource)],
    /// Neutral results, with paths that start at an object with `params` and `data` of the answer.
    pub results: &'static [Binding],
    /// Differences from the definition of the intent.
    pub divergences: &'static [Divergence],
    /// Differences of a bridge between a client of the dialect and an agent of another dialect. Agents of the dialect
    /// behave so; bridges do not.
    pub bridge_divergences: &'static [Divergence],
}

/// Creates a mapping without parameters and results.
pub const fn mapping(intent: Intent, command: &'static str) -> CommandMapping {
    CommandMapping { intent, command, params: &[], results: &[], divergences: &[], bridge_divergences: &[] }
}

impl CommandMapping {
    /// Returns the mapping with parameters.
    #[must_use]
    pub const fn params(self, params: &'static [(&'static str, ParamSource)]) -> Self {
        CommandMapping { params, ..self }
    }

    /// Returns the mapping with results.
    #[must_use]
    pub const fn results(self, results: &'static [Binding]) -> Self {
        CommandMapping { results, ..self }
    }

    /// Returns the mapping with differences from the definition of the intent.
    #[must_use]
    pub const fn divergences(self, divergences: &'static [Divergence]) -> Self {
        CommandMapping { divergences, ..self }
    }

    /// Returns the mapping with differences of a bridge between a client of the dialect and an agent of another
    /// dialect.
    #[must_use]
    pub const fn bridge_divergences(self, divergences: &'static [Divergence]) -> Self {
        CommandMapping { bridge_divergences: divergences, ..self }
    }
}

/// Returns the source of the neutral parameter with that name.
pub const fn from(name: &'static str) -> ParamSource {
    ParamSource::From(name)
}

/// A command that no intent covers.
#[derive(Debug, Clone, Copy)]
pub struct DialectOnly {
    /// Wire name of the command.
    pub command: &'static str,
    /// Reason for the missing intent.
    pub reason: &'static str,
    /// `true` if the adapter of the dialect answers it without the agent.
    pub by_adapter: bool,
}

/// Creates the entry of a command that only agents of the dialect can answer.
pub const fn dialect_only(command: &'static str, reason: &'static str) -> DialectOnly {
    DialectOnly { command, reason, by_adapter: false }
}

/// Creates the entry of a command that the adapter of the dialect answers without the agent.
pub const fn by_adapter(command: &'static str, reason: &'static str) -> DialectOnly {
    DialectOnly { command, reason, by_adapter: true }
}

/// The parameters of a command that its intents do not cover.
#[derive(Debug, Clone, Copy)]
pub struct Companion {
    /// Wire name of the command.
    pub command: &'static str,
    /// Names of the parameters.
    pub params: &'static [&'static str],
    /// `true` if only agents of the dialect support the parameters.
    pub unsupported: bool,
}

/// Creates the entry of parameters that only agents of the dialect support.
pub const fn unsupported(command: &'static str, params: &'static [&'static str]) -> Companion {
    Companion { command, params, unsupported: true }
}

/// Creates the entry of parameters that the adapter of the dialect implements itself, or by other intents.
pub const fn handled(command: &'static str, params: &'static [&'static str]) -> Companion {
    Companion { command, params, unsupported: false }
}

/// The mapping from intents to the commands of a dialect.
#[derive(Debug, Clone, Copy)]
pub struct Intents {
    /// Readers of values that no frame of the meaning has.
    pub readers: &'static [Reader],
    /// Commands by intent. Of several commands for one intent, the first one in the agent's revision applies.
    pub mappings: &'static [CommandMapping],
    /// Commands that no intent covers.
    pub dialect_only: &'static [DialectOnly],
    /// Parameters of other commands that no intent covers.
    pub companions: &'static [Companion],
    /// Events without their own meaning that the adapter of the dialect generates from other events.
    pub derived_events: &'static [&'static str],
    /// Dialogs that a tool of the dialect's agents sends, with the name of the tool. Models of other agents have no
    /// such tool.
    pub by_tool: &'static [(&'static str, &'static str)],
}

impl Intents {
    /// The mapping without additions to that of the parent.
    pub const NONE: Intents = Intents {
        readers: &[],
        mappings: &[],
        dialect_only: &[],
        companions: &[],
        derived_events: &[],
        by_tool: &[],
    };
}

/// Finds the neutral form of an intent. Returns `None` if there is none.
pub fn intent_spec(intent: Intent) -> Option<&'static IntentSpec> {
    INTENTS.iter().find(|row| row.intent == intent)
}
