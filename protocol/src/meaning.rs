//! What frames mean for a conversation: which event, answer or command does what to which part of it.
//!
//! A dialect's table of [`Rule`]s stands beside its rows. A rule names a row, what is done ([`Act`]) and where the values
//! for that are found in the frame ([`Source`]); a [`Reader`] says how a message or a block of the dialect is written in
//! the neutral form. The tables are data: one small interpreter in each language folds frames by them and knows no
//! vocabulary (`sdk-ts/src/ui/`).
//!
//! What rows already say is not said again here: where a run begins and ends ([`crate::model::RunEffect`]), what stops it
//! ([`crate::model::RunRole`]), and how dialogs are answered.

mod resolve;

pub use resolve::{Resolved, resolve};

/// The row that a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// An event, by its type. Values are looked for in the event.
    Event(&'static str),
    /// A command as it is sent, by its wire name. Values are looked for in its parameters.
    Sent(&'static str),
    /// The answer to a command that succeeded. Values are looked for in `params` and `data`.
    Answer(&'static str),
    /// A command that was refused. Values are looked for in `params` and `error`.
    Refused(&'static str),
    /// A dialog, by its wire name. Values are looked for in its parameters.
    Dialog(&'static str),
}

/// What is done to the conversation. Each names the slots that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Work goes on or is over: `on`; why it failed: `error`, or `refusal` where that counts during a run only; `dropped` where the agent forgets the message that grows.
    Work,
    /// How the run stands, as far as this frame tells: `told` is `failed`, `aborted`, or `retried` where the agent makes the
    /// request again by itself; without it all is well. Of a failure also `message`, `code` where the dialect has one, and
    /// `retryable` where the same prompt may succeed. Typed clients follow these rules too.
    Outcome,
    /// Somebody wants the work to stop; with `over`, that is done.
    Abort,
    /// A message begins: `message`.
    Begin,
    /// The message that grows, whole as it stands: `message`.
    Snapshot,
    /// A piece of the message that grows: `index`, `type`, and what is appended: `text` or `argumentsText`. Other slots
    /// are members of the block. Without `index` it is the last block, or a new one where that is of another type.
    Piece,
    /// A block of the message that grows, whole: `index`, `type`, and the members of the block.
    Block,
    /// Members of the message that grows.
    Message,
    /// A message is complete: `message`; without it the message that grows is complete as it stands.
    End,
    /// What a tool does: `callId`, and members of its block.
    Tool,
    /// The messages of the conversation, all of them: `messages`.
    History,
    /// The agent says how many messages the conversation has: `messages`.
    Count,
    /// Another conversation takes the place of this one: `empty` where nothing was said in it yet.
    Replace,
    /// Members of the conversation are set; a source without a value takes the member away.
    Set,
    /// Members of the conversation are set where the source has a value.
    Keep,
    /// Tokens and cost of the whole session: `usage`.
    Usage,
    /// The user's words enter the conversation: those of the command that is answered, else all prompts that wait.
    Arrive,
    /// The user's words are on their way: `text`, `images`, `mode`.
    Wait,
    /// What became of them: `state`, which is `queued`, `taken` or `gone`.
    Waited,
    /// What waits in the queues, all of it: `steering`, `followUp`.
    Queue,
    /// Compaction begins: `reason`.
    Compacting,
    /// Compaction is over: `message`, the summary, where there is one; `unknown` where nobody tells what it left.
    Compacted,
    /// The request to the model is made again after a pause: `attempt`, `maxAttempts`, `delayMs`, `error`;
    /// `reason` is `summary` where it is not the answer that is made again.
    Retry,
    /// That is over.
    Retried,
    /// A question is open: `kind` and what it shows.
    Ask,
    /// A question is taken back: `id`.
    Withdraw,
    /// A notice: `level`, `text`, `source`.
    Notice,
    /// An entry of a table of the conversation: `in`, `key`, `value`; without a value it is taken away.
    Entry,
    /// Text for the editor: `text`.
    Draft,
    /// A shell command of the client runs: `command`.
    Shell,
    /// It wrote something: `id`, `text`.
    ShellOutput,
    /// It is over: `message`, which takes its place in the conversation when no run is going on.
    ShellDone,
    /// Work of a subagent: `id`, and members of the task.
    Task,
    /// An event of a subagent: `callId`, `event`, which is folded into the tool's block.
    Child,
}

/// A value that stands in the table itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constant {
    /// A string.
    Text(&'static str),
    /// A boolean.
    Flag(bool),
    /// A whole number.
    Number(i64),
}

/// Where a value is found.
#[derive(Debug, Clone, Copy)]
pub enum Source {
    /// The member at that path, with dots between; the empty path is the value itself, a number a place in a list.
    At(&'static str),
    /// Always that.
    Is(Constant),
    /// What the reader makes of the member at that path.
    Read(&'static str, &'static str),
    /// What the reader makes of each item of the list at that path; a value that is no list is a list of one, and the
    /// empty string one of none.
    Each(&'static str, &'static str),
    /// What stands beside the value of that member, as text; nothing where it stands beside none.
    Map(&'static str, &'static [(&'static str, Constant)]),
    /// A number, that many times.
    Times(&'static str, i64),
    /// The member at that path as text: agents repeat what clients sent, also where it should have been a string.
    Text(&'static str),
    /// How many items the list at that path has.
    Count(&'static str),
    /// The first of these that has a value.
    First(&'static [Source]),
    /// The items of all of these lists.
    Join(&'static [Source]),
}

/// A condition.
#[derive(Debug, Clone, Copy)]
pub enum Test {
    /// The member is that, as text.
    Is(&'static str, &'static str),
    /// The member is not that.
    Not(&'static str, &'static str),
    /// The member is there and not null.
    Has(&'static str),
    /// The member is missing or null.
    Lacks(&'static str),
}

/// A slot of an act, or a member of a neutral record, and where its value is found.
pub type Slot = (&'static str, Source);

/// What a row does to a part of the conversation.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The row.
    pub on: On,
    /// All of these have to hold.
    pub when: &'static [Test],
    /// What is done.
    pub act: Act,
    /// Where its values are found.
    pub slots: &'static [Slot],
    /// The list for each of whose items it is done: values are looked for in the item then.
    pub over: Option<&'static str>,
}

impl Rule {
    /// The rule, for each item of a list.
    #[must_use]
    pub const fn over(self, list: &'static str) -> Self {
        Rule { over: Some(list), ..self }
    }

    /// The rule, under conditions.
    #[must_use]
    pub const fn when(self, when: &'static [Test]) -> Self {
        Rule { when, ..self }
    }
}

/// A rule about an event.
pub const fn event(name: &'static str, act: Act, slots: &'static [Slot]) -> Rule {
    Rule { on: On::Event(name), when: &[], act, slots, over: None }
}

/// A rule about a command that is sent.
pub const fn sent(name: &'static str, act: Act, slots: &'static [Slot]) -> Rule {
    Rule { on: On::Sent(name), when: &[], act, slots, over: None }
}

/// A rule about the answer to a command.
pub const fn answer(name: &'static str, act: Act, slots: &'static [Slot]) -> Rule {
    Rule { on: On::Answer(name), when: &[], act, slots, over: None }
}

/// A rule about a command that is refused.
pub const fn refused(name: &'static str, act: Act, slots: &'static [Slot]) -> Rule {
    Rule { on: On::Refused(name), when: &[], act, slots, over: None }
}

/// A rule about a dialog.
pub const fn dialog(name: &'static str, act: Act, slots: &'static [Slot]) -> Rule {
    Rule { on: On::Dialog(name), when: &[], act, slots, over: None }
}

/// The member at that path.
pub const fn at(path: &'static str) -> Source {
    Source::At(path)
}

/// Always that text.
pub const fn text(value: &'static str) -> Source {
    Source::Is(Constant::Text(value))
}

/// Always that.
pub const fn flag(value: bool) -> Source {
    Source::Is(Constant::Flag(value))
}

/// What a reader makes of the member at that path.
pub const fn read(reader: &'static str, path: &'static str) -> Source {
    Source::Read(reader, path)
}

/// What a reader makes of each item of the list at that path.
pub const fn each(reader: &'static str, path: &'static str) -> Source {
    Source::Each(reader, path)
}

/// The neutral form of one kind of value: members and where they are found.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// The value of the reader's tag. Several cases may have the same: the first whose conditions hold is taken.
    pub tag: &'static str,
    /// All of these have to hold.
    pub when: &'static [Test],
    /// The members.
    pub gives: &'static [Slot],
}

/// A case without conditions.
pub const fn case(tag: &'static str, gives: &'static [Slot]) -> Case {
    Case { tag, when: &[], gives }
}

/// The tag of the case for strings.
pub const STRING: &str = "(string)";

/// The tag of the case for everything else.
pub const OTHER: &str = "(other)";

/// How values of a dialect are written in the neutral form.
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    /// Its name.
    pub name: &'static str,
    /// The member that tells kinds apart; empty where there is one kind.
    pub tag: &'static str,
    /// The kinds.
    pub cases: &'static [Case],
}

/// What the frames of a dialect mean.
#[derive(Debug, Clone, Copy)]
pub struct Meaning {
    /// How its values are read.
    pub readers: &'static [Reader],
    /// What its rows do, in the order in which it is done.
    pub rules: &'static [Rule],
    /// Rows that do nothing to a conversation, or nothing that other rows do not tell.
    pub silent: &'static [On],
    /// The commands whose answers tell a view that begins late what it has missed.
    pub asks: &'static [&'static str],
}
