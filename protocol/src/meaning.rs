//! The meaning of frames for a conversation: the effect of each event, answer and command on the parts of the
//! conversation.
//!
//! A dialect's table of [`Rule`]s is declared next to its rows. A rule names a row, a [`Reducer`] and the
//! location of its values in the frame ([`Source`]). A [`Reader`] maps a message or a block of the dialect to
//! the neutral form. The tables are data: one small interpreter in each language applies them to frames and
//! has no knowledge of any vocabulary (`sdk-ts/src/ui/`).
//!
//! The tables do not repeat facts of the rows. Rows declare the start and end of a run
//! ([`crate::model::RunEffect`]), the commands that stop it ([`crate::model::RunRole`]), and dialog answers.

mod resolve;

pub use resolve::{ResolvedMeaning, resolve};

/// The row to which a rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleTarget {
    /// An event, by its type. Paths start at the event.
    Event(&'static str),
    /// A command when it is sent, by its wire name. Paths start at its parameters.
    Sent(&'static str),
    /// A successful answer to a command. Paths start at an object with `params` and `data`.
    Answer(&'static str),
    /// A rejected command. Paths start at an object with `params` and `error`.
    Refused(&'static str),
    /// A dialog, by its wire name. Paths start at its parameters.
    Dialog(&'static str),
}

/// The effect of a rule on the conversation. A reducer has slots, for which the rule provides values; the
/// comment of each variant lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reducer {
    /// Start or end of the agent's work.
    ///
    /// * `on`: `true` for the start, `false` for the end
    /// * `error`: reason for a failure
    /// * `refusal`: reason for a failure, which counts only during a run
    /// * `dropped`: `true` if the agent discards the message in progress
    Work,
    /// Outcome of the run so far. Typed clients follow these rules too.
    ///
    /// * `told`: `failed`, `aborted`, or `retried` if the agent itself retries the request; absent after a success
    /// * `message`: error message of a failure
    /// * `code`: error code of a failure, in dialects with codes
    /// * `retryable`: `true` if the same prompt may succeed later
    Outcome,
    /// Start of an abort. If `over` is `true`, the end of the abort.
    Abort,
    /// Start of a message. Slot: `message`.
    Begin,
    /// Complete state of the message in progress. Slot: `message`.
    Snapshot,
    /// A piece of the message in progress. Slots: `index`, `type`, and the appended `text` or
    /// `argumentsText`. Other slots are members of the block. Without `index`, the piece belongs to the last
    /// block, or to a new one if the last block has another type.
    Piece,
    /// A complete block of the message in progress. Slots: `index`, `type`, and the members of the block.
    Block,
    /// New values for members of the message in progress. Each slot is named after a member.
    Message,
    /// End of a message. Slot: `message`; without it, the message in progress is complete in its current
    /// state.
    End,
    /// Activity of a tool. Slots: `callId`, and members of the tool's block.
    Tool,
    /// Replacement of all messages of the conversation. Slot: `messages`.
    History,
    /// Number of messages in the conversation according to the agent. Slot: `messages`.
    Count,
    /// Replacement by another conversation. Slot: `empty`, which is `true` if it has no messages yet.
    Replace,
    /// New values of the conversation's members; a source without a value removes the member.
    Set,
    /// New values of the conversation's members; a source without a value has no effect.
    Keep,
    /// Tokens and cost of the whole session. Slot: `usage`.
    Usage,
    /// Addition of waiting user input to the conversation: the input of the answered command. If the frame belongs to
    /// no command, the input of all waiting prompts.
    Arrive,
    /// User input that was sent but is not part of the conversation yet. Slots: `text`, `images`, `mode`.
    Wait,
    /// Change of waiting user input. Slot: `state`, which is `queued`, `taken` or `gone`.
    Waited,
    /// Complete content of the queues. Slots: `steering`, `followUp`.
    Queue,
    /// Start of a compaction. Slot: `reason`.
    Compacting,
    /// End of a compaction. Slots: `message` for the summary, if there is one; `unknown` if no frame reports
    /// the remaining messages.
    Compacted,
    /// Retry of a request to the model after a delay. Slots: `attempt`, `maxAttempts`, `delayMs`, `error`;
    /// `reason` is `summary` if the request is not for an answer.
    Retry,
    /// End of the retries.
    Retried,
    /// A question of the agent. Slots: `kind` and the content of the question.
    Ask,
    /// Withdrawal of a question. Slot: `id`.
    Withdraw,
    /// A notice. Slots: `level`, `text`, `source`.
    Notice,
    /// An entry of the conversation's status or widgets. Slots: `in` (the table), `key`, `value`. Without a
    /// value the entry is removed.
    Entry,
    /// Text for the input editor. Slot: `text`.
    Draft,
    /// Start of a shell command of the client. Slot: `command`.
    Shell,
    /// Output of a shell command of the client. Slots: `id`, `text`.
    ShellOutput,
    /// End of a shell command of the client. Slot: `message`. The message enters the conversation when no run
    /// is in progress.
    ShellDone,
    /// Work of a subagent. Slots: `id`, and members of the task.
    Task,
    /// An event of a subagent. Slots: `callId`, `event`. The event is applied to the conversation in the
    /// block of the tool call.
    Child,
}

/// A constant in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constant {
    /// The constant is a string.
    Text(&'static str),
    /// The constant is a boolean.
    Flag(bool),
    /// The constant is a whole number.
    Number(i64),
}

/// The source of a value.
#[derive(Debug, Clone, Copy)]
pub enum Source {
    /// Member at a path of names separated by dots. The empty path is the value itself; a number is an index in a list.
    At(&'static str),
    /// The value is a constant.
    Is(Constant),
    /// Result of a reader for the member at a path. Fields: reader, path.
    Read(&'static str, &'static str),
    /// List with the result of a reader for each item of the list at a path. Fields: reader, path. A value that is not
    /// a list is treated as a list of one item, and the empty string as an empty list.
    Each(&'static str, &'static str),
    /// Constant that a table assigns to the text of the member at a path. Fields: path, table. No value if the table
    /// does not contain the text.
    Map(&'static str, &'static [(&'static str, Constant)]),
    /// Number at a path, multiplied by a factor.
    Times(&'static str, i64),
    /// Member at a path, converted to text. Agents repeat a client's input unchanged, even if the client did not send a
    /// string.
    Text(&'static str),
    /// Number of items in the list at the path.
    Count(&'static str),
    /// First source with a value.
    First(&'static [Source]),
    /// List with the items of all these sources.
    Join(&'static [Source]),
}

/// A condition of a rule.
#[derive(Debug, Clone, Copy)]
pub enum Condition {
    /// The member, as text, equals the string.
    Is(&'static str, &'static str),
    /// The member, as text, differs from the string.
    Not(&'static str, &'static str),
    /// The member is present and not null.
    Has(&'static str),
    /// The member is absent or null.
    Lacks(&'static str),
}

/// The name of a slot of a reducer, or of a member of a record of all dialects, with the source of its value.
pub type Binding = (&'static str, Source);

/// The effect of a row on a part of the conversation.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Row of the rule.
    pub on: RuleTarget,
    /// Conditions that must all hold.
    pub when: &'static [Condition],
    /// Effect of the rule on the conversation.
    pub reducer: Reducer,
    /// Slots with the sources of their values.
    pub bindings: &'static [Binding],
    /// Path of a list, if the rule applies to each of its items; paths then start at the item.
    pub over: Option<&'static str>,
}

impl Rule {
    /// Returns the rule for each item of a list.
    #[must_use]
    pub const fn over(self, list: &'static str) -> Self {
        Rule { over: Some(list), ..self }
    }

    /// Returns the rule with conditions.
    #[must_use]
    pub const fn when(self, when: &'static [Condition]) -> Self {
        Rule { when, ..self }
    }
}

/// Creates a rule for an event.
pub const fn event(name: &'static str, reducer: Reducer, bindings: &'static [Binding]) -> Rule {
    Rule { on: RuleTarget::Event(name), when: &[], reducer, bindings, over: None }
}

/// Creates a rule for a sent command.
pub const fn sent(name: &'static str, reducer: Reducer, bindings: &'static [Binding]) -> Rule {
    Rule { on: RuleTarget::Sent(name), when: &[], reducer, bindings, over: None }
}

/// Creates a rule for a successful answer.
pub const fn answer(name: &'static str, reducer: Reducer, bindings: &'static [Binding]) -> Rule {
    Rule { on: RuleTarget::Answer(name), when: &[], reducer, bindings, over: None }
}

/// Creates a rule for a rejected command.
pub const fn refused(name: &'static str, reducer: Reducer, bindings: &'static [Binding]) -> Rule {
    Rule { on: RuleTarget::Refused(name), when: &[], reducer, bindings, over: None }
}

/// Creates a rule for a dialog.
pub const fn dialog(name: &'static str, reducer: Reducer, bindings: &'static [Binding]) -> Rule {
    Rule { on: RuleTarget::Dialog(name), when: &[], reducer, bindings, over: None }
}

/// Returns the source of the member at a path.
pub const fn at(path: &'static str) -> Source {
    Source::At(path)
}

/// Returns the source of a constant text.
pub const fn text(value: &'static str) -> Source {
    Source::Is(Constant::Text(value))
}

/// Returns the source of a constant boolean.
pub const fn flag(value: bool) -> Source {
    Source::Is(Constant::Flag(value))
}

/// Returns the source of the reader's result for the member at a path.
pub const fn read(reader: &'static str, path: &'static str) -> Source {
    Source::Read(reader, path)
}

/// Returns the source of the reader's result for each item of the list at a path.
pub const fn each(reader: &'static str, path: &'static str) -> Source {
    Source::Each(reader, path)
}

/// The neutral form of one kind of value: its members with their sources.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Value of the reader's tag. Several cases may have the same value: the first one whose conditions hold applies.
    pub tag: &'static str,
    /// Conditions that must all hold.
    pub when: &'static [Condition],
    /// Members with their sources.
    pub gives: &'static [Binding],
}

/// Creates a case without conditions.
pub const fn case(tag: &'static str, gives: &'static [Binding]) -> Case {
    Case { tag, when: &[], gives }
}

/// The tag of the case for strings.
pub const STRING: &str = "(string)";

/// The tag of the case for all other values.
pub const OTHER: &str = "(other)";

/// The mapping from a dialect's values to the neutral form.
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    /// Name of the reader.
    pub name: &'static str,
    /// Member that distinguishes kinds; empty if there is one kind only.
    pub tag: &'static str,
    /// Cases, one for each kind.
    pub cases: &'static [Case],
}

/// The meaning of a dialect's frames.
#[derive(Debug, Clone, Copy)]
pub struct Meaning {
    /// Readers of the dialect's values.
    pub readers: &'static [Reader],
    /// Rules, in the order of their application.
    pub rules: &'static [Rule],
    /// Rows that need no rule: they do not affect a conversation, or they only repeat other rows.
    pub silent: &'static [RuleTarget],
    /// Commands for a view that starts late: their answers contain the state that the view has missed.
    pub asks: &'static [&'static str],
}
