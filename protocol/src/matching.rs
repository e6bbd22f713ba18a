//! The rules for the comparison of two transcripts of a dialect. They cover values that an agent generates, texts that
//! it streams in pieces, the order of frames, and differences that are not faults.
//!
//! Paths are member names separated by dots; `[]` is a placeholder for every element of an array.

/// The rule by which the two values of a member are compared. Values of members without a rule must be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sameness {
    /// An id that the agent generates. One expected id always corresponds to the same found id, and the reverse.
    Id,
    /// A point in time, in the notation and unit of the expected one. A message has the same time in all frames that
    /// repeat it.
    Moment,
    /// A duration: any non-negative number.
    Duration,
    /// A number that the agent estimates. It may differ from the expected number by a fifth, or by ten.
    Estimate,
    /// The path of a file that the agent creates, compared like [`Sameness::Id`].
    File,
    /// The version of the agent: any string.
    Version,
    /// The text of an undocumented failure: any text. The same failure always has the same text.
    Words,
}

/// A member whose values need not be equal.
#[derive(Debug, Clone, Copy)]
pub struct MemberRule {
    /// Record of the member; `*` for undeclared objects.
    pub record: &'static str,
    /// Name of the member.
    pub member: &'static str,
    /// Rule for the comparison of the member's values.
    pub same: Sameness,
}

/// The effect that a choice of the agent has on a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChoiceEffect {
    /// The member contains the chosen value.
    Value,
    /// The choice decides if the member is present.
    Presence,
    /// The member is an amount that depends on the choice: any non-negative number if the choices differ.
    Amount,
}

/// A member that shows a free choice of the agent, for example of its model.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// Record of the member.
    pub record: &'static str,
    /// Name of the member.
    pub member: &'static str,
    /// Path of the choice in a fresh agent's answer to the probe command.
    pub state: &'static str,
    /// Effect of the choice on the member.
    pub effect: ChoiceEffect,
}

/// The condition of a [`Wording`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordingCondition {
    /// The rule applies without a condition.
    Always,
    /// The rule applies if the boolean member is true.
    True(&'static str),
    /// The rule applies if the member is one of the strings.
    OneOf(&'static str, &'static [&'static str]),
}

/// Members of a record whose texts no document prescribes. One expected text must always correspond to the same found
/// text. Values that are not texts must be equal.
#[derive(Debug, Clone, Copy)]
pub struct Wording {
    /// Name of the record.
    pub record: &'static str,
    /// Condition of the rule.
    pub when: WordingCondition,
    /// Names of the members.
    pub members: &'static [&'static str],
    /// Name of the allowance that permits a difference. `None` if a difference is only reported as information.
    pub allowance: Option<&'static str>,
}

/// A part of texts that differs from run to run.
#[derive(Debug, Clone, Copy)]
pub struct Token {
    /// Regular expression; if it has a group, the group is the part.
    pub pattern: &'static str,
    /// Comparison of the parts: [`Sameness::Id`], [`Sameness::Moment`] or [`Sameness::Duration`].
    pub same: Sameness,
}

/// An event with a piece of a text. Consecutive events that are otherwise equal are joined.
#[derive(Debug, Clone, Copy)]
pub struct Delta {
    /// Type of the event.
    pub event: &'static str,
    /// Path of the piece.
    pub text: &'static str,
}

/// Events with the current state of a message in progress.
#[derive(Debug, Clone, Copy)]
pub struct Snapshots {
    /// Type of the event that starts a message.
    pub begins: &'static str,
    /// Type of the event that reports an addition to a message.
    pub grows: &'static str,
    /// Type of the event that ends a message.
    pub ends: &'static str,
    /// Path of the message in the events of the types `begins` and `ends`.
    pub message: &'static str,
    /// Name of the record of messages in progress.
    pub record: &'static str,
    /// Paths at which an event of the type that `grows` names has a snapshot of the incomplete message. Each snapshot
    /// is compared with the pieces so far and with the complete message.
    pub within: &'static [&'static str],
    /// Path of the kind of piece in events of the type `grows`.
    pub kind: &'static str,
    /// Path of the index of the open block in these events.
    pub block: &'static str,
    /// Path of the piece.
    pub piece: &'static str,
    /// Path of the message's list of blocks.
    pub blocks: &'static str,
    /// Kinds of pieces, each with the member of the block to which such a piece is appended.
    pub texts: &'static [(&'static str, &'static str)],
    /// Members of the message that do not change while the message is in progress.
    pub steady: &'static [&'static str],
    /// Members that are not compared while the message is in progress.
    pub loose: &'static [&'static str],
    /// Members whose final value is known only at the end of the message, each with its value before the end as JSON.
    pub until: &'static [(&'static str, &'static str)],
}

/// Events about tools.
#[derive(Debug, Clone, Copy)]
pub struct Tools {
    /// Type of the event that starts a tool.
    pub begins: &'static str,
    /// Event with the output of a tool so far. The number of these events and the positions at which they cut the
    /// output are not compared.
    pub shows: Option<ToolUpdate>,
    /// Type of the event that ends a tool.
    pub ends: &'static str,
    /// Path of the call's id in the events of the types `begins` and `ends`, and in the event of `shows`.
    pub call: &'static str,
    /// Other events about a call, each with the path of the call's id. The order of events about different concurrent
    /// calls is not compared.
    pub others: &'static [(&'static str, &'static str)],
    /// Lists in which the results of concurrent calls may have any order. Fields: record, member.
    pub lists: &'static [(&'static str, &'static str)],
    /// Path of the call's id in an element of these lists.
    pub listed: &'static str,
}

/// The event with the output of a tool so far.
#[derive(Debug, Clone, Copy)]
pub struct ToolUpdate {
    /// Type of the event.
    pub event: &'static str,
    /// Path of the output so far.
    pub partial: &'static str,
    /// Path of the final output, in the event that ends the tool.
    pub result: &'static str,
    /// Path of the texts within each of the two outputs.
    pub texts: &'static str,
    /// Path of the boolean within each of the two outputs that is `true` if the beginning of the text is missing.
    pub cut: &'static str,
}

/// The commands that return a complete session and open a stored one.
#[derive(Debug, Clone, Copy)]
pub struct Sessions {
    /// Command whose answer contains all messages, and their path in the answer; `None` if there is no such command.
    pub history: Option<(&'static str, &'static str)>,
    /// Files of sessions; `None` if no command opens one.
    pub files: Option<SessionFiles>,
    /// Tool that runs shell commands.
    pub shell: &'static str,
}

/// The files of stored sessions.
#[derive(Debug, Clone, Copy)]
pub struct SessionFiles {
    /// Command whose answer contains the path of the file, and the location of the path in the answer.
    pub reported_by: (&'static str, &'static str),
    /// Command that opens the session of a file, and the location of the path in its parameters.
    pub opened: (&'static str, &'static str),
}

/// The scope of an allowance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowanceScope {
    /// The allowance holds in all cases.
    Everywhere,
    /// The allowance holds only in cases that name it, within the bounds that the case sets.
    InCases,
}

/// A list that may have other entries than the expected ones.
#[derive(Debug, Clone, Copy)]
pub struct Entries {
    /// Name of the member with the list.
    pub member: &'static str,
    /// Members that identify an entry.
    pub keys: &'static [&'static str],
    /// Members of an entry that may differ.
    pub free: &'static [&'static str],
}

/// A record and its member.
pub type MemberOf = (&'static str, &'static str);

/// The kind of an allowed difference of the found transcript from the expected one.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// The member is null in one transcript and absent in the other.
    NullOrAbsent(&'static [MemberOf]),
    /// The member is empty in both transcripts, each time in one of four forms: null, an empty object, an object of
    /// nulls, or absent.
    Empty(&'static [MemberOf]),
    /// The found transcript lacks the member.
    LeftOut(&'static [MemberOf]),
    /// The found transcript has an additional member with a certain value. Fields: record, member, value as
    /// JSON.
    Added(&'static [(&'static str, &'static str, &'static str)]),
    /// The found transcript has an additional member, if a boolean member of the same object is true in both
    /// transcripts. Fields: record, member, boolean member.
    AddedWhere(&'static [(&'static str, &'static str, &'static str)]),
    /// The found transcript lacks an undeclared member.
    Undeclared,
    /// The found transcript has a certain other value for the member. Fields: record, member, expected value,
    /// found value; both values as JSON.
    Instead(&'static [(&'static str, &'static str, &'static str, &'static str)]),
    /// The found number is one higher than the expected one, if a boolean member of the same object is true
    /// in both transcripts. Fields: record, member, boolean member.
    OneHigher(&'static str, &'static str, &'static str),
    /// The found text lacks an ending. Fields: record, member, regular expression of the ending.
    WithoutEnding(&'static str, &'static str, &'static str),
    /// Two texts match if one is a suffix of the other, provided that the boolean member of the same object is true in
    /// both transcripts. Fields: record, text member, boolean member.
    CutElsewhere(&'static [(&'static str, &'static str, &'static str)]),
    /// The record contains another piece of a text that was cut. Fields: record, path of the boolean for a cut text,
    /// members about the complete text. If the boolean is true in both transcripts, texts and other members may differ.
    /// The listed members must be equal.
    CutFacts(&'static [(&'static str, &'static str, &'static [&'static str])]),
    /// A string replaces an array of blocks with the same text. Fields: record, member, member of a block that holds
    /// the text.
    StringForBlocks(&'static [(&'static str, &'static str, &'static str)]),
    /// Lists have other entries. Entries that occur in both lists are recognized by their identifying members; some of
    /// the other members may differ.
    OtherEntries(&'static [Entries]),
    /// A session file is in another folder, or is named by another scheme.
    OtherFolder,
    /// A text that a [`Wording`] covers has another wording.
    OtherWords,
    /// Events of these types are missing or additional in the found transcript.
    Events(&'static [&'static str]),
    /// The found transcript has additional events of certain kinds. Fields: event, path of the kind, kinds.
    EventKinds(&'static str, &'static str, &'static [&'static str]),
    /// The found transcript lacks dialogs of a method, if a member has a certain value. Fields: method,
    /// member, value.
    DialogsLeftOut(&'static str, &'static str, &'static str),
    /// Events contain no snapshots of the message in progress.
    NoSnapshots,
    /// The agent rejects a command whose arguments do not match the declaration, instead of accepting it. Fields:
    /// command, and members that keep their earlier values in later answers.
    Refused(&'static [(&'static str, &'static [&'static str])]),
    /// The agent rejects a command because an argument matches a regular expression. Fields: command, argument,
    /// expression, members. The previous session stays open, so the listed members of later answers have the values of
    /// that session.
    RefusedFor(&'static str, &'static str, &'static str, &'static [&'static str]),
    /// A failure is answered with the command's own name and its id.
    OwnNameAndId,
    /// A failure without a usable command name is answered with any name, with or without the id.
    AnyName,
    /// A command has one answer, a failure, instead of two answers, a failure and a success.
    OneAnswer,
    /// A success with the same id precedes the failure instead of following it.
    AcknowledgedFirst,
    /// A blank line is ignored instead of answered.
    BlankUnanswered,
    /// An integer id that no double can represent is returned exactly.
    ExactId,
    /// A JSON-RPC error has the second code instead of the first.
    ErrorCode(i64, i64),
    /// The agent sends the closing events of a run after a command replaced the session or the conversation.
    ClosingEvents(&'static [&'static str]),
    /// The exit code differs, if both codes are failures and no command was answered.
    ExitCode,
    /// The process ends by the signal in one transcript, and cleanly in the other.
    SignalExit,
    /// Any difference that the bounds of the case permit.
    Bounded,
}

/// A difference that is not a fault, with a reason.
#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    /// Name of the allowance.
    pub name: &'static str,
    /// Scope of the allowance.
    pub scope: AllowanceScope,
    /// Description of the allowed difference.
    pub statement: &'static str,
    /// Reason for the allowance: a statement of the document in our own words.
    pub reason: &'static str,
    /// Kind of the difference.
    pub form: Form,
}

/// Placeholders in documented error texts that stand for a text of the agent. Other placeholders stand for a value of
/// the request.
pub const OWN_PLACEHOLDERS: &[&str] = &["reason", "remedy"];

/// The rules for the comparison of a dialect's transcripts.
#[derive(Debug, Clone, Copy)]
pub struct Matching {
    /// Members whose values need not be equal.
    pub members: &'static [&'static [MemberRule]],
    /// Members that show free choices of the agent.
    pub choices: &'static [&'static [Choice]],
    /// Members whose texts no document prescribes.
    pub wording: &'static [&'static [Wording]],
    /// Parts of texts that differ from run to run.
    pub tokens: &'static [Token],
    /// Members that distinguish events of one type.
    pub event_keys: &'static [&'static str],
    /// Additional members that distinguish events of one type. They apply if the agent rejected a command, so that the
    /// events of its run are missing.
    pub fine_event_keys: &'static [&'static str],
    /// Members that identify concurrent streams of events. The order of events from different streams is not compared.
    pub stream_keys: &'static [&'static str],
    /// Members that distinguish dialogs of one method. The first of them that is present applies.
    pub dialog_keys: &'static [&'static str],
    /// Members that agents leave in the blocks of a message while it is streamed. They are not compared.
    pub transient_members: &'static [&'static str],
    /// Events with pieces of texts.
    pub deltas: &'static [Delta],
    /// Events with messages in progress.
    pub snapshots: Option<Snapshots>,
    /// Events about tools.
    pub tools: Option<Tools>,
    /// Commands about sessions.
    pub sessions: Sessions,
    /// Differences that are not faults.
    pub allowances: &'static [&'static [Allowance]],
}
