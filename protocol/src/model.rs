//! The data types of declarations, which generators read.
//!
//! All types are `const`-constructible and have no behaviour beyond lookups. A declaration is a table, and a generator
//! is a function from that table to text.

/// The presence of a member: required or optional, nullable or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The member is always present and never null.
    Required,
    /// The member may be absent but is never null.
    Optional,
    /// The member is always present and may be null.
    Nullable,
    /// The member may be absent or null. Decoding and encoding preserve the difference.
    OptionalNullable,
}

impl Presence {
    /// Returns `true` if the member must be present.
    pub const fn is_required(self) -> bool {
        matches!(self, Presence::Required | Presence::Nullable)
    }

    /// Returns `true` if the member may be null.
    pub const fn is_nullable(self) -> bool {
        matches!(self, Presence::Nullable | Presence::OptionalNullable)
    }
}

/// The revisions that have a part of a declaration. Names of revisions include the dialect, as in `pi@1.5`, and apply
/// to the dialects that inherit them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Revisions that introduce the part: it exists in each of them and in later ones. Empty: from the first revision
    /// on.
    pub since: &'static [&'static str],
    /// Revisions that remove the part: it is missing in each of them and in later ones.
    pub until: &'static [&'static str],
}

impl Span {
    /// The span of every revision.
    pub const ALWAYS: Span = Span { since: &[], until: &[] };

    /// Returns `true` if the span includes a revision. `reached` has the ids of that revision and of all revisions that
    /// it includes.
    pub fn holds(&self, reached: &[String]) -> bool {
        let any =
            |revisions: &[&str]| revisions.iter().any(|revision| reached.iter().any(|id| id == revision));
        (self.since.is_empty() || any(self.since)) && !any(self.until)
    }
}

/// The type of a value on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ty {
    /// A JSON string.
    String,
    /// `true` or `false`.
    Boolean,
    /// An integer, exact within ±2^53.
    Integer,
    /// A non-negative integer, exact up to 2^53.
    Count,
    /// Any JSON number, preserved as written (`0` stays `0`, never `0.0`).
    Number,
    /// Any JSON value.
    Any,
    /// Any JSON object.
    Object,
    /// An array of values of one type.
    List(&'static Ty),
    /// An object with free keys and values of one type.
    Map(&'static Ty),
    /// A declared type, by its name.
    Named(&'static str),
}

/// A member of a record.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Wire name of the member, verbatim.
    pub name: &'static str,
    /// Meaning of the member, with its unit if it has one.
    pub doc: &'static str,
    /// Presence of the member.
    pub presence: Presence,
    /// Type of the member's value.
    pub ty: Ty,
    /// Revisions that have the member.
    pub span: Span,
    /// Another name of the same member, with the revisions that use it.
    pub renamed: Option<(&'static str, Span)>,
}

/// A string of a set.
#[derive(Debug, Clone, Copy)]
pub struct StringValue {
    /// The string as sent.
    pub value: &'static str,
    /// Meaning of the string.
    pub doc: &'static str,
    /// Revisions that have the string.
    pub span: Span,
}

/// The value of a constant member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConstantValue {
    /// A fixed string, as in `"type": "text"`.
    String(&'static str),
    /// A fixed boolean, as in `"cancelled": true`.
    Boolean(bool),
}

/// A member whose value is part of the type, usually a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constant {
    /// Name of the member.
    pub member: &'static str,
    /// The only value of the member.
    pub value: ConstantValue,
}

/// An alternative of a [`Shape::Choice`], identified by its JSON kind or by its required members.
#[derive(Debug, Clone, Copy)]
pub struct Alternative {
    /// Name of the arm in generated code.
    pub name: &'static str,
    /// Type of the alternative.
    pub ty: Ty,
}

/// The shape of a declared type.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// An object. Clients preserve undeclared members; servers ignore them.
    Record {
        /// Members with a fixed value; they come first on the wire.
        constants: &'static [Constant],
        /// The other members, in wire order.
        fields: &'static [Field],
    },
    /// One of several records, identified by a constant member.
    Union {
        /// Member that identifies the variants.
        tag: &'static str,
        /// `true` if other values of the tag are preserved as `Unknown`.
        open: bool,
        /// Names of the records, each with a constant for `tag`.
        variants: &'static [&'static str],
    },
    /// One of several shapes without a tag. Always closed; the alternatives are tried in order.
    Choice {
        /// Alternative shapes.
        alternatives: &'static [Alternative],
    },
    /// A set of strings.
    Strings {
        /// `true` if other strings may appear and are preserved.
        open: bool,
        /// Documented values.
        values: &'static [StringValue],
    },
}

/// A named type.
#[derive(Debug, Clone, Copy)]
pub struct TypeDef {
    /// Name of the type, unique in all dialects.
    pub name: &'static str,
    /// Description of the type; the first sentence is self-contained.
    pub doc: &'static str,
    /// Shape of the type.
    pub shape: Shape,
    /// Example value as JSON, validated by the tests.
    pub example: Option<&'static str>,
    /// Revisions whose unions contain the type.
    pub span: Span,
}

/// The time of a command's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The agent sends one answer, when the work is complete.
    Done,
    /// The agent sends one answer before the work starts: the command is accepted or rejected.
    Accepted,
    /// The agent answers immediately; a failure with the same id may follow later.
    Acknowledged,
    /// The agent sends no answer: in JSON-RPC, the command is a notification of the client.
    Never,
}

/// The role of a command with respect to runs (the work that a prompt starts).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunRole {
    /// The command has no effect on runs.
    None,
    /// The command starts a run.
    Starts,
    /// The command acts on the current run (steering, queueing).
    Acts,
    /// The command stops the current run.
    Stops,
    /// The command replaces the session or the conversation. The current run is over with the answer, even if
    /// its closing events are missing.
    Replaces,
}

/// The lane of a server in which a command is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// The command is executed at once, never queued behind other work.
    Immediate,
    /// Commands of one session are executed one at a time, in the order of arrival.
    Session,
    /// Shell commands are executed concurrently, never queued behind another lane.
    Bash,
}

/// The default timeout of a client for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// The timeout in milliseconds.
    Milliseconds(u64),
    /// The client waits without a timeout, because the work may take any time.
    Never,
}

/// A documented failure.
#[derive(Debug, Clone, Copy)]
pub struct ErrorText {
    /// JSON-RPC code, in dialects with codes.
    pub code: Option<i32>,
    /// Kind of the failure in camel case, as in `NoApiKey`; clients use it as a name. Failures of the same meaning have
    /// the same kind in all rows and dialects.
    pub kind: &'static str,
    /// Exact text; `{…}` is a placeholder.
    pub text: &'static str,
    /// Condition of the failure.
    pub when: &'static str,
    /// Revisions that have the failure.
    pub span: Span,
}

/// A request that a client sends.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// Name of the method for the command in every client.
    pub name: &'static str,
    /// Wire name of the command.
    pub wire: &'static str,
    /// Description of the command; the first sentence is self-contained.
    pub doc: &'static str,
    /// Name of the parameter record, if the command has parameters.
    pub params: Option<&'static str>,
    /// Declaration of that record, if the row itself declares it.
    pub params_def: Option<&'static TypeDef>,
    /// Type of the answer's data, if it has any.
    pub result: Option<Ty>,
    /// `true` if the data may be null.
    pub result_nullable: bool,
    /// Revisions in which the answer has data; in others it has none.
    pub result_span: Span,
    /// In the view of a client: `true` if only some of the dialect's revisions answer with data.
    pub result_optional: bool,
    /// Time of the answer.
    pub answer: Answer,
    /// Time of the answer in other revisions, with the span of those revisions.
    pub later_answer: Option<(Answer, Span)>,
    /// Role with respect to runs.
    pub run: RunRole,
    /// Lane in which the command is executed.
    pub lane: Lane,
    /// Default timeout of a client for the answer.
    pub timeout: Timeout,
    /// `true` if the command changes nothing: a client may repeat it after a timeout.
    pub reads: bool,
    /// Parameters that the agents of the dialect ignore if the value has another type. Such a parameter is treated as
    /// absent.
    pub tolerates: &'static [&'static str],
    /// Documented failures for parameters whose value has another type. Fields: parameter, [`ErrorText::kind`]. A dot
    /// at the end of a parameter's name stands for the values inside the parameter.
    pub wrong: &'static [(&'static str, &'static str)],
    /// Documented failures.
    pub errors: &'static [ErrorText],
    /// Revisions that have the command.
    pub span: Span,
    /// Example of the parameters as a JSON object.
    pub example: &'static str,
    /// Data of the example's answer as JSON, if it has any.
    pub example_result: Option<&'static str>,
}

/// The effect of an event on the current run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEffect {
    /// The event has no effect on the run.
    None,
    /// The event shows that the work continues or resumes.
    Begins,
    /// The run is over unless a later event resumes it or keeps it open.
    MayEnd,
    /// The run is not over: an event will follow.
    Holds,
    /// As [`RunEffect::MayEnd`], but as [`RunEffect::Holds`] if the named boolean member is true.
    MayEndUnless(&'static str),
    /// As [`RunEffect::MayEnd`], but as [`RunEffect::Holds`] if the named boolean member is false.
    MayEndIf(&'static str),
    /// As [`RunEffect::Holds`], but as [`RunEffect::MayEnd`] if the named boolean member is false.
    HoldsIf(&'static str),
    /// The run is over in any case.
    Ends,
}

/// A frame that a server sends without a request.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// Value of the event's `type` member.
    pub name: &'static str,
    /// Description of the event; the first sentence is self-contained.
    pub doc: &'static str,
    /// Record of the event's members.
    pub payload: &'static TypeDef,
    /// Effect on the current run.
    pub run: RunEffect,
    /// Revisions in which the event has that effect.
    pub run_span: Span,
    /// Effect in other revisions, with the span of those revisions; no effect in the rest.
    pub later_run: Option<(RunEffect, Span)>,
    /// `true` if a newer event of the same kind contains all data of an older one.
    pub snapshot: bool,
    /// Revisions in which `snapshot` applies.
    pub snapshot_span: Span,
    /// `true` if no document names the event: clients decode it, and our server never sends it.
    pub undocumented: bool,
    /// Revisions that have the event.
    pub span: Span,
    /// Example of the event's members as JSON, including `type`.
    pub example: &'static str,
}

/// A question or a notice from the server to the user of the client.
#[derive(Debug, Clone, Copy)]
pub struct Dialog {
    /// Name of the handler method in every client.
    pub name: &'static str,
    /// Wire name of the method.
    pub wire: &'static str,
    /// Description of the dialog; the first sentence is self-contained.
    pub doc: &'static str,
    /// Record of the parameters.
    pub params: &'static TypeDef,
    /// Type of the answer; `None` if no answer is expected.
    pub answer: Option<Ty>,
    /// Frame types of this dialog, if they differ from those of the dialect's other dialogs. The answer then consists
    /// of all members of its type.
    pub frames: Option<OwnFrames>,
    /// Answer that stands for "the user gave no answer", as JSON: a result, or the answer frame without its id.
    pub fallback: Option<&'static str>,
    /// Name of the member with the timeout in milliseconds. After the timeout, the agent answers the dialog itself;
    /// clients withdraw the dialog and send no answer.
    pub expires: Option<&'static str>,
    /// For a dialog that withdraws another one: name of the member with the id of the other dialog. Neither dialog is
    /// answered.
    pub withdraws: Option<&'static str>,
    /// `true` if no document names the dialog: clients handle it, and our server never sends it.
    pub undocumented: bool,
    /// Revisions that have the dialog.
    pub span: Span,
    /// Example of the parameters as a JSON object.
    pub example: &'static str,
}

/// The `type` of the frames of a dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnFrames {
    /// Type of the request.
    pub request: &'static str,
    /// Type of the answer; `None` if no answer is expected.
    pub answer: Option<&'static str>,
    /// Frame that a client may send before the answer: value of its `type`, and declared type of its members.
    pub progress: Option<(&'static str, Ty)>,
}

/// A setting in a document.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The dotted key.
    pub key: &'static str,
    /// Type of the value.
    pub ty: Ty,
    /// Default as JSON; `None` if the setting has no default.
    pub default: Option<&'static str>,
    /// Description of the setting, with its unit.
    pub doc: &'static str,
}

/// One row of a declaration.
#[derive(Debug, Clone, Copy)]
pub enum Row {
    /// The row is a named type.
    Type(&'static TypeDef),
    /// The row is a command.
    Command(&'static Command),
    /// The row is an event.
    Event(&'static Event),
    /// The row is a dialog.
    Dialog(&'static Dialog),
}
