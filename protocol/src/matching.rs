//! What a comparison of two transcripts has to know of a dialect: which values an agent makes up, what streams
//! in pieces, what may stand in which order, and where a difference is no fault.
//!
//! Paths are names of members with dots between; `[]` stands for every element of an array.

/// How the values of a member are compared. What is not listed has to be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sameness {
    /// A name that the agent makes up: one expected name stands for one found name throughout.
    Id,
    /// A moment: of one kind and one unit, and the same wherever the same message is sent.
    Moment,
    /// A length of time: a number from zero.
    Duration,
    /// A number that the agent estimates: within a fifth of the expected one, or within ten.
    Estimate,
    /// The path of a file that the agent makes: as with [`Sameness::Id`].
    File,
    /// The agent's own version: any string.
    Version,
    /// Words of a failure that no document has: any words, the same for the same.
    Words,
}

/// A member whose values are not compared for equality.
#[derive(Debug, Clone, Copy)]
pub struct MemberRule {
    /// The record that the member belongs to; `*` where nothing is declared of the object.
    pub record: &'static str,
    /// The member.
    pub member: &'static str,
    /// How its values are compared.
    pub same: Sameness,
}

/// How a choice of the agent's shows in a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chosen {
    /// The member is what was chosen.
    Value,
    /// The member is there, or not.
    Presence,
    /// The member is an amount that follows from what was chosen: any number from zero where that is another.
    Amount,
}

/// A member that shows what every agent chooses for itself: its model, say.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// The record that the member belongs to.
    pub record: &'static str,
    /// The member.
    pub member: &'static str,
    /// Where the answer to the first question of a fresh agent says what was chosen.
    pub state: &'static str,
    /// How it shows.
    pub chosen: Chosen,
}

/// When a [`Wording`] holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// Where this boolean member is true.
    True(&'static str),
    /// Where this member is one of these strings.
    OneOf(&'static str, &'static [&'static str]),
}

/// Members of a record that hold words no document has. The same expected words have to be the same found
/// words throughout; what is no text has to be equal.
#[derive(Debug, Clone, Copy)]
pub struct Wording {
    /// The record.
    pub record: &'static str,
    /// When it holds.
    pub when: When,
    /// The members.
    pub members: &'static [&'static str],
    /// The allowance that a difference falls under; none where it is only worth knowing.
    pub allowance: Option<&'static str>,
}

/// A part of texts that differs from run to run.
#[derive(Debug, Clone, Copy)]
pub struct Token {
    /// A regular expression; where it has a group, the group is the part.
    pub pattern: &'static str,
    /// How the parts are compared: [`Sameness::Id`], [`Sameness::Moment`] or [`Sameness::Duration`].
    pub same: Sameness,
}

/// An event that carries a piece of a text. Consecutive ones that are otherwise equal are joined.
#[derive(Debug, Clone, Copy)]
pub struct Delta {
    /// The event.
    pub event: &'static str,
    /// The piece.
    pub text: &'static str,
}

/// Events that carry the message as far as it has come.
#[derive(Debug, Clone, Copy)]
pub struct Snapshots {
    /// The event with which a message begins.
    pub begins: &'static str,
    /// The event with which it grows.
    pub grows: &'static str,
    /// The event with which it is complete.
    pub ends: &'static str,
    /// Where the message stands in the first and the last.
    pub message: &'static str,
    /// The record of messages that grow.
    pub record: &'static str,
    /// Where it stands in the one between: snapshots that are held against the deltas and the complete message.
    pub within: &'static [&'static str],
    /// What kind of piece an event of the second kind carries.
    pub kind: &'static str,
    /// The index of the block that grows.
    pub block: &'static str,
    /// The piece.
    pub piece: &'static str,
    /// The message's list of blocks.
    pub blocks: &'static str,
    /// Kinds of pieces, and the member of the block that they make.
    pub texts: &'static [(&'static str, &'static str)],
    /// Members of the message that do not change while it grows.
    pub steady: &'static [&'static str],
    /// Members that are free while it grows.
    pub loose: &'static [&'static str],
    /// Members of the message that are only known at the end, and what they are before; JSON.
    pub until: &'static [(&'static str, &'static str)],
}

/// Events about tools.
#[derive(Debug, Clone, Copy)]
pub struct Tools {
    /// A tool begins.
    pub begins: &'static str,
    /// It has something to show; how often and where it is cut is free.
    pub shows: Option<ToolUpdate>,
    /// It is done.
    pub ends: &'static str,
    /// The id of the call in the events above.
    pub call: &'static str,
    /// Other events of a call, and where they name it. Calls that run side by side come in any order.
    pub others: &'static [(&'static str, &'static str)],
    /// Lists in which results of such calls stand in any order: record and member.
    pub lists: &'static [(&'static str, &'static str)],
    /// The call's id in an element of those lists.
    pub listed: &'static str,
}

/// The event with which a tool shows what it has so far.
#[derive(Debug, Clone, Copy)]
pub struct ToolUpdate {
    /// The event.
    pub event: &'static str,
    /// What it has so far.
    pub partial: &'static str,
    /// What it had in the end, in the event with which it is done.
    pub result: &'static str,
    /// Their texts.
    pub texts: &'static str,
    /// Where either says with `true` that the beginning of its text is missing.
    pub cut: &'static str,
}

/// How an agent is asked for the whole of a session, and made to go on with a kept one.
#[derive(Debug, Clone, Copy)]
pub struct Sessions {
    /// The command that is answered with all messages, and where they stand in its answer; none where there is no such
    /// command.
    pub history: Option<(&'static str, &'static str)>,
    /// Files that keep sessions; none where no command opens one.
    pub files: Option<SessionFiles>,
    /// The tool that runs commands of the shell.
    pub shell: &'static str,
}

/// The files that keep sessions.
#[derive(Debug, Clone, Copy)]
pub struct SessionFiles {
    /// The command that is answered with the path of the file, and where it stands in its answer.
    pub told: (&'static str, &'static str),
    /// The command that goes on with the session of a file, and where its parameters have the path.
    pub opened: (&'static str, &'static str),
}

/// Where an allowance holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// Wherever the difference is seen.
    Everywhere,
    /// In cases that name it, within the bounds that they set.
    InCases,
}

/// A list of which other entries may be listed.
#[derive(Debug, Clone, Copy)]
pub struct Entries {
    /// The member that is the list.
    pub member: &'static str,
    /// The members by which an entry is found.
    pub marks: &'static [&'static str],
    /// Members of an entry that may differ.
    pub free: &'static [&'static str],
}

/// Record and member.
pub type MemberOf = (&'static str, &'static str);

/// What kind of difference is allowed.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// The member is null in one and absent in the other.
    NullOrAbsent(&'static [MemberOf]),
    /// The member has nothing in it, in both: null, an empty object, an object of nulls, or absent.
    Empty(&'static [MemberOf]),
    /// The member is left out.
    LeftOut(&'static [MemberOf]),
    /// The member is there in addition, with this value (JSON).
    Added(&'static [(&'static str, &'static str, &'static str)]),
    /// The member is there in addition, where this boolean member beside it is true.
    AddedWhere(&'static [(&'static str, &'static str, &'static str)]),
    /// A member that the declaration does not have is left out.
    Undeclared,
    /// Record, member, the expected value and the value in its place; JSON.
    Instead(&'static [(&'static str, &'static str, &'static str, &'static str)]),
    /// Record, member: the number is one higher where the boolean member beside it is true.
    OneHigher(&'static str, &'static str, &'static str),
    /// Record, member: the text lacks the ending that this regular expression describes.
    WithoutEnding(&'static str, &'static str, &'static str),
    /// Record, member: one text is the ending of the other, where the boolean member beside it is true in both.
    CutElsewhere(&'static [(&'static str, &'static str, &'static str)]),
    /// Record, where in it a boolean says that a text was cut, and facts of the whole text: where it is true in both,
    /// texts may be other pieces of the whole one, and facts of both may differ below the record but for those of the
    /// whole.
    CutFacts(&'static [(&'static str, &'static str, &'static [&'static str])]),
    /// Record, member: a string in place of an array of blocks with the same text, which stands in that member
    /// of the blocks.
    StringForBlocks(&'static [(&'static str, &'static str, &'static str)]),
    /// Lists whose elements are found by their marks: others may be listed, and some members of those that both
    /// have may differ.
    OtherEntries(&'static [Entries]),
    /// A session file in another folder, or with another scheme of names.
    OtherFolder,
    /// What a [`Wording`] names.
    OtherWords,
    /// Events of these types are left out, or sent in addition.
    Events(&'static [&'static str]),
    /// Kinds of an event are sent in addition: the event, where its kind stands, the kinds.
    EventKinds(&'static str, &'static str, &'static [&'static str]),
    /// Dialogs in which this member has this value are left out: method, member, value.
    DialogsLeftOut(&'static str, &'static str, &'static str),
    /// Events carry no snapshots at all.
    NoSnapshots,
    /// A command that was accepted although its arguments are not as declared is refused. What it would have
    /// set, by the members of later answers, stays as it was.
    Refused(&'static [(&'static str, &'static [&'static str])]),
    /// A command is refused for an argument: the command, the argument, the regular expression that it matches.
    /// What later answers say of these members is that of the session that was left open.
    RefusedFor(&'static str, &'static str, &'static str, &'static [&'static str]),
    /// A failure is answered with the command's own name and its id.
    OwnNameAndId,
    /// A failure without a usable command name is answered with any name, with or without the id.
    AnyName,
    /// One failure answers a command that was answered with a failure and a success.
    OneAnswer,
    /// A success with the same id comes before the failure instead of behind it.
    AcknowledgedFirst,
    /// A blank line is passed over instead of answered.
    BlankUnanswered,
    /// An integer id that no double holds comes back exactly.
    ExactId,
    /// A JSON-RPC error with the second code in place of the first.
    ErrorCode(i64, i64),
    /// The closing events of a run that a command put something else in the place of are sent.
    ClosingEvents(&'static [&'static str]),
    /// Another exit code where neither is success and nothing was answered.
    ExitCode,
    /// An end by the signal that was sent, or a clean one.
    SignalExit,
    /// Whatever differs within the bounds that the case sets.
    Bounded,
}

/// A difference that is no fault, for a reason.
#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    /// Its name.
    pub name: &'static str,
    /// Where it holds.
    pub holds: Holds,
    /// What is allowed.
    pub says: &'static str,
    /// Why: what the document says, in our words.
    pub reason: &'static str,
    /// What kind of difference it is.
    pub form: Form,
}

/// Placeholders of documented failures that stand for words of the agent's own. Others stand for something of
/// the request.
pub const OWN_WORDS: &[&str] = &["reason", "remedy"];

/// What a comparison has to know of a dialect.
#[derive(Debug, Clone, Copy)]
pub struct Matching {
    /// Members whose values are not compared for equality.
    pub members: &'static [&'static [MemberRule]],
    /// Members that show what every agent chooses for itself.
    pub choices: &'static [&'static [Choice]],
    /// Members whose words are free.
    pub wording: &'static [&'static [Wording]],
    /// Parts of texts that differ from run to run.
    pub tokens: &'static [Token],
    /// What tells events of one type apart.
    pub marks: &'static [&'static str],
    /// What tells them apart further, where some of them are missing for a reason.
    pub fine_marks: &'static [&'static str],
    /// Events that differ in one of these are in no order to each other.
    pub strands: &'static [&'static str],
    /// What tells dialogs of one method apart: the first of these that is there.
    pub dialog_marks: &'static [&'static str],
    /// Members of blocks of a message that agents let slip while it grows; they are not compared.
    pub slips: &'static [&'static str],
    /// Events that come in pieces.
    pub deltas: &'static [Delta],
    /// Messages that grow.
    pub snapshots: Option<Snapshots>,
    /// Tools.
    pub tools: Option<Tools>,
    /// Sessions.
    pub sessions: Sessions,
    /// Differences that are no faults.
    pub allowances: &'static [&'static [Allowance]],
}
