//! The intents: operations that a client requests, independent of the dialect. A dialect's table names the
//! command that carries out each intent. Intents concern the sending of commands, as [`crate::meaning`]
//! concerns the reading of frames.
//!
//! [`INTENTS`] lists the intents with their neutral parameters and results, which no dialect defines. A
//! dialect's table of [`CommandMapping`]s is declared next to its rows. It names the command that carries out
//! an intent, the sources of the parameters ([`ParamSource`]), and the locations of neutral results in the
//! answer ([`Binding`]). The tables are data: one small interpreter in each language sends commands according
//! to them (`sdk-rust/src/any/`).

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
    /// Aborts the current run and starts a run with new input.
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
    /// Ends the delay before a retry of a failed request, and the run with it.
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

/// The kind of value of a neutral parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The value is a text.
    Text,
    /// The value is `true` or `false`.
    Flag,
    /// The value is a list of images: `{"type": "image", "mimeType": …, "data": …}`.
    Images,
}

/// A neutral parameter: a parameter of an intent, independent of the dialect.
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
    /// Handling of the parameter if the command does not accept it: `true` omits the parameter, `false` lets the call
    /// fail.
    pub hint: bool,
}

/// A neutral result: a result of an intent, independent of the dialect.
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
    /// An intermediary between agent and client answers the intent from earlier frames. The text describes the answer,
    /// for example `from the received events`.
    Seen(&'static str),
    /// These intents together replace the missing one, if the dialect has all of them. The result has the
    /// given difference.
    Through(&'static [Intent], Divergence),
}

/// One way in which the effects of a command differ from the definition of the intent that it carries out.
#[derive(Debug, Clone, Copy)]
pub struct Divergence {
    /// Description of the difference.
    pub description: &'static str,
    /// Parts of the conversation that differ after the command. A part is a path in the neutral form, such as
    /// `session.id` or `message<shell>`, or one of [`ORDER`], [`ANSWERS`], [`CALLS`], [`STOPPED`], [`SHELLS`],
    /// [`EVENTS`], [`GOES_ON`], [`HISTORY`].
    pub changes: &'static [&'static str],
    /// `true` if the difference occurs only for a command during a run.
    pub busy: bool,
    /// `true` if the agent has its own rules for rejection: it rejects the command in cases in which other agents
    /// accept it, or the reverse.
    pub refuses: bool,
    /// Parameters that cause the difference; one of them is sufficient. Empty if the difference does not depend on
    /// parameters.
    pub with: &'static [&'static str],
    /// Revisions of the agent with the difference, as `name@revision`; empty for all of them.
    pub of: &'static [&'static str],
}

/// The user's input may have another position among the messages, and the number of turns may differ. The content of
/// the input, of the model's answers and of tool results stays the same.
pub const ORDER: &str = "order";
/// The model's answers to the user's input may differ in number. Inputs that other agents answer together may have
/// separate answers, or the reverse. Tool calls that other agents skip may be executed. The agent reports every answer
/// and every result completely.
pub const ANSWERS: &str = "answers";
/// The tool calls may belong to other answers: each call of an answer may have an answer of its own without other
/// content.
pub const CALLS: &str = "calls";
/// The end of an aborted run. The agent does not report tool calls that had not started, or the results of calls that
/// had. The empty answer at the end of the run is also missing.
pub const STOPPED: &str = "stopped";
/// The message for a shell command of the user, which may be missing.
pub const SHELLS: &str = "shells";
/// All events of the current run until its end: their number, order and wording.
pub const EVENTS: &str = "events";
/// A run that the agent starts by itself after an automatic summary. Agents differ in whether they start it.
pub const GOES_ON: &str = "goesOn";
/// The messages that later answers contain, and their number.
pub const HISTORY: &str = "history";

/// Creates a difference with a description.
pub const fn divergence(description: &'static str) -> Divergence {
    Divergence { description, changes: &[], busy: false, refuses: false, with: &[], of: &[] }
}

impl Divergence {
    /// Returns the difference with the parts of the conversation that differ after the command.
    #[must_use]
    pub const fn changes(self, changes: &'static [&'static str]) -> Self {
        Divergence { changes, ..self }
    }

    /// Returns the difference, limited to commands that are sent during a run.
    #[must_use]
    pub const fn when_busy(self) -> Self {
        Divergence { busy: true, ..self }
    }

    /// Returns the difference, marked as one in the rejection of commands.
    #[must_use]
    pub const fn refuses(self) -> Self {
        Divergence { refuses: true, ..self }
    }

    /// Returns the difference, limited to commands with at least one of these parameters.
    #[must_use]
    pub const fn with(self, with: &'static [&'static str]) -> Self {
        Divergence { with, ..self }
    }

    /// Returns the difference, limited to these revisions of the agent.
    #[must_use]
    pub const fn of(self, of: &'static [&'static str]) -> Self {
        Divergence { of, ..self }
    }
}

/// An intent as defined for every dialect and language.
#[derive(Debug, Clone, Copy)]
pub struct IntentSpec {
    /// Identity of the intent.
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
    /// The value of a neutral parameter. If that parameter is absent, the command's parameter is omitted.
    From(&'static str),
    /// The parameter is a constant.
    Is(Constant),
    /// The values of the neutral parameters that are present, joined to one text. Fields: parameters, separator.
    Joined(&'static [&'static str], &'static str),
}

/// The command that carries out an intent.
#[derive(Debug, Clone, Copy)]
pub struct CommandMapping {
    /// The intent that the command carries out.
    pub intent: Intent,
    /// Wire name of the command.
    pub command: &'static str,
    /// Parameters of the command, except the id of the session.
    pub params: &'static [(&'static str, ParamSource)],
    /// Neutral results with their sources. Paths start at an object with the command's `params` and the answer's
    /// `data`.
    pub results: &'static [Binding],
    /// Differences from the definition of the intent.
    pub divergences: &'static [Divergence],
    /// Differences that occur if a bridge connects a client of the dialect to an agent of another dialect. They do not
    /// occur with agents of the dialect itself.
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

    /// Returns the mapping with differences that occur if a bridge connects a client of the dialect to an agent of
    /// another dialect.
    #[must_use]
    pub const fn bridge_divergences(self, divergences: &'static [Divergence]) -> Self {
        CommandMapping { bridge_divergences: divergences, ..self }
    }
}

/// Returns the source that takes the value of the neutral parameter with the given name.
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
    /// `true` if the adapter of the dialect in a bridge answers the command without the agent.
    pub by_adapter: bool,
}

/// Creates the entry of a command that only agents of the dialect can answer.
pub const fn dialect_only(command: &'static str, reason: &'static str) -> DialectOnly {
    DialectOnly { command, reason, by_adapter: false }
}

/// Creates the entry of a command that the adapter of the dialect in a bridge answers without the agent.
pub const fn by_adapter(command: &'static str, reason: &'static str) -> DialectOnly {
    DialectOnly { command, reason, by_adapter: true }
}

/// Parameters of a command that do not belong to the command's intents.
#[derive(Debug, Clone, Copy)]
pub struct Companion {
    /// Wire name of the command.
    pub command: &'static str,
    /// Names of the parameters.
    pub params: &'static [&'static str],
    /// `true` if agents of other dialects do not support the parameters. `false` if the adapter of the dialect in a
    /// bridge handles them.
    pub unsupported: bool,
}

/// Creates the entry of parameters that agents of other dialects do not support.
pub const fn unsupported(command: &'static str, params: &'static [&'static str]) -> Companion {
    Companion { command, params, unsupported: true }
}

/// Creates the entry of parameters that the adapter of the dialect in a bridge handles itself or by other intents.
pub const fn handled(command: &'static str, params: &'static [&'static str]) -> Companion {
    Companion { command, params, unsupported: false }
}

/// The mapping from intents to the commands of a dialect.
#[derive(Debug, Clone, Copy)]
pub struct Intents {
    /// Additional readers, for values that only the answers to intents contain.
    pub readers: &'static [Reader],
    /// Commands by intent. If several commands carry out one intent, the first one that the agent's revision has
    /// applies.
    pub mappings: &'static [CommandMapping],
    /// Commands that no intent covers.
    pub dialect_only: &'static [DialectOnly],
    /// Command parameters that do not belong to the intent of the command.
    pub companions: &'static [Companion],
    /// Events that the adapter of the dialect in a bridge generates from other events. They have no meaning of their
    /// own.
    pub derived_events: &'static [&'static str],
    /// Dialogs that a tool sends, each with the name of the tool. Agents of other dialects do not have the tool.
    pub by_tool: &'static [(&'static str, &'static str)],
}

impl Intents {
    /// A mapping that adds nothing to the mapping of the parent.
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
