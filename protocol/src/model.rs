//! The plain data that declarations expand to: what a generator walks.
//!
//! Everything here is `const`-constructible and holds no behaviour beyond look-ups, so that a
//! declaration is a table and a generator is a function from that table to text.

/// Whether a member must be there and whether it may be null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Always there, never null.
    Required,
    /// May be left out; never null.
    Optional,
    /// Always there; may be null.
    Nullable,
    /// May be left out or null. The two are kept apart on decode and encode.
    OptionalNullable,
}

impl Presence {
    /// True where the member has to be present.
    pub const fn is_required(self) -> bool {
        matches!(self, Presence::Required | Presence::Nullable)
    }

    /// True where `null` is a value of the member.
    pub const fn is_nullable(self) -> bool {
        matches!(self, Presence::Nullable | Presence::OptionalNullable)
    }
}

/// In which revisions something is there. Revisions are named with their dialect, as in `pi@1.5`, and count for the heirs
/// that take them over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The revisions that brought it: it is there from any of them on. None: from the beginning.
    pub since: &'static [&'static str],
    /// The revisions that took it away: it is gone from any of them on.
    pub until: &'static [&'static str],
}

impl Span {
    /// In every revision.
    pub const ALWAYS: Span = Span { since: &[], until: &[] };

    /// Whether it holds where those revisions were reached.
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
    /// A whole number that may be negative; exact within ±2^53.
    Integer,
    /// A whole number from zero; exact up to 2^53.
    Count,
    /// Any JSON number; kept as written (`0` stays `0`, never `0.0`).
    Number,
    /// Any JSON value at all.
    Any,
    /// Any JSON object.
    Object,
    /// An array of values of one type.
    List(&'static Ty),
    /// An object whose keys are free and whose values have one type.
    Map(&'static Ty),
    /// A declared type, by its name.
    Named(&'static str),
}

/// A member of a record.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The member's name on the wire, verbatim.
    pub name: &'static str,
    /// What it means, with units where there are any.
    pub doc: &'static str,
    /// Whether it has to be there, and whether it may be null.
    pub presence: Presence,
    /// The type of its value.
    pub ty: Ty,
    /// The revisions that have it.
    pub span: Span,
    /// Another name of the same member, and the revisions that call it so.
    pub renamed: Option<(&'static str, Span)>,
}

/// A string of a set.
#[derive(Debug, Clone, Copy)]
pub struct StringValue {
    /// The string.
    pub value: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// The revisions that have it.
    pub span: Span,
}

/// The value of a member that is always the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConstantValue {
    /// A fixed string, as in `"type": "text"`.
    String(&'static str),
    /// A fixed boolean, as in `"cancelled": true`.
    Boolean(bool),
}

/// A member whose value is part of the type: a tag, most of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constant {
    /// The member's name.
    pub member: &'static str,
    /// The only value it has.
    pub value: ConstantValue,
}

/// One way a [`Shape::Choice`] can look, told apart by JSON kind or by required members.
#[derive(Debug, Clone, Copy)]
pub struct Alternative {
    /// The name of the arm in generated code.
    pub name: &'static str,
    /// Its type.
    pub ty: Ty,
}

/// What a declared type looks like.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// An object. Members that are not declared are kept by the clients and ignored by servers.
    Record {
        /// Members with one fixed value; they come first on the wire.
        constants: &'static [Constant],
        /// The other members, in wire order.
        fields: &'static [Field],
    },
    /// One of several records, told apart by a constant member.
    Union {
        /// The member that tells the variants apart.
        tag: &'static str,
        /// True where values of the tag outside this list are kept as `Unknown`.
        open: bool,
        /// Names of the records, each with a constant for `tag`.
        variants: &'static [&'static str],
    },
    /// One of several shapes without a tag. Always closed; tried in order.
    Choice {
        /// The shapes.
        alternatives: &'static [Alternative],
    },
    /// A set of strings.
    Strings {
        /// True where other strings may appear and are kept.
        open: bool,
        /// The documented values.
        values: &'static [StringValue],
    },
}

/// A named type.
#[derive(Debug, Clone, Copy)]
pub struct TypeDef {
    /// Its name, unique over all dialects.
    pub name: &'static str,
    /// What it is; the first sentence stands alone.
    pub doc: &'static str,
    /// What it looks like.
    pub shape: Shape,
    /// A value of the type as JSON, validated by the tests.
    pub example: Option<&'static str>,
    /// The revisions in which unions have it.
    pub span: Span,
}

/// When a command is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Once, when the work is done.
    Done,
    /// Once, when it is clear that the work can start; a refusal is that one answer.
    Accepted,
    /// At once; a failure with the same id may follow later.
    Acknowledged,
    /// Never: in JSON-RPC, a notification of the client.
    Never,
}

/// What a command has to do with runs (the work that a prompt starts).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunRole {
    /// Nothing.
    None,
    /// Starts a run.
    Starts,
    /// Acts on the run that is going on (steering, queueing).
    Acts,
    /// Stops the run that is going on.
    Stops,
    /// Puts something else in its place (a session, a compacted conversation): the run that is going
    /// on is over when this is answered, whether its closing events come or not.
    Replaces,
}

/// Which of a server's lanes a command runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// Handled at once, never behind other work.
    Immediate,
    /// One at a time, in order of arrival.
    Session,
    /// Shell commands: side by side, never behind another lane.
    Bash,
}

/// How long a client waits for an answer by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// That many milliseconds.
    Milliseconds(u64),
    /// Without a limit: the work may take any time.
    Never,
}

/// A documented failure.
#[derive(Debug, Clone, Copy)]
pub struct ErrorText {
    /// The JSON-RPC code, in dialects that have codes.
    pub code: Option<i32>,
    /// What kind of failure it is: the name that clients give it, in capitals as in `NoApiKey`. Failures that mean the
    /// same have the same name in all rows and dialects.
    pub kind: &'static str,
    /// The text, exactly; `{…}` stands for what varies.
    pub text: &'static str,
    /// When it is sent.
    pub when: &'static str,
    /// The revisions that have it.
    pub span: Span,
}

/// A request that a client sends.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// The name of the helper in every client.
    pub name: &'static str,
    /// The name on the wire.
    pub wire: &'static str,
    /// What it does; the first sentence stands alone.
    pub doc: &'static str,
    /// The record of its parameters, where it has any.
    pub params: Option<&'static str>,
    /// That record, where the row itself declares it.
    pub params_def: Option<&'static TypeDef>,
    /// The type of the answer's data, where there is any.
    pub result: Option<Ty>,
    /// Whether the data may be null.
    pub result_nullable: bool,
    /// The revisions in which the answer has data; it has none in the others.
    pub result_span: Span,
    /// In the view of a client: whether only some of the dialect's revisions answer with data.
    pub result_optional: bool,
    /// When it is answered.
    pub answer: Answer,
    /// When it is answered in other revisions, and which ones those are.
    pub later_answer: Option<(Answer, Span)>,
    /// What it has to do with runs.
    pub run: RunRole,
    /// Which lane it runs in.
    pub lane: Lane,
    /// How long a client waits for the answer by default.
    pub timeout: Timeout,
    /// True where it changes nothing: a client whose call timed out may make it again.
    pub reads: bool,
    /// Parameters that count as left out where their value is of another type: the agents of the dialect do not look at
    /// it then.
    pub tolerates: &'static [&'static str],
    /// What a parameter of another type is refused with: the parameter and the [`ErrorText::kind`]. A parameter with a dot
    /// at its end stands for what is within it.
    pub wrong: &'static [(&'static str, &'static str)],
    /// Documented failures.
    pub errors: &'static [ErrorText],
    /// The revisions that have it.
    pub span: Span,
    /// Example parameters as a JSON object.
    pub example: &'static str,
    /// The data of the example's answer as JSON, where there is any.
    pub example_result: Option<&'static str>,
}

/// What an event says about the run that is going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEffect {
    /// Nothing.
    None,
    /// Work goes on (or goes on again).
    Begins,
    /// The run is over unless something follows that begins or holds it.
    MayEnd,
    /// The run is not over: something will follow.
    Holds,
    /// As [`RunEffect::MayEnd`], except where the named boolean member is true: then it holds.
    MayEndUnless(&'static str),
    /// As [`RunEffect::MayEnd`], except where the named boolean member is false: then it holds.
    MayEndIf(&'static str),
    /// As [`RunEffect::Holds`], except where the named boolean member is false: then it may end.
    HoldsIf(&'static str),
    /// The run is over, whatever follows.
    Ends,
}

/// A frame that a server sends without being asked.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// The value of the event's `type` member.
    pub name: &'static str,
    /// When it is sent; the first sentence stands alone.
    pub doc: &'static str,
    /// The record of its members.
    pub payload: &'static TypeDef,
    /// What it says about the run.
    pub run: RunEffect,
    /// The revisions in which it says that.
    pub run_span: Span,
    /// What it says in other revisions, and which ones those are; it says nothing in the rest.
    pub later_run: Option<(RunEffect, Span)>,
    /// True where a newer one of the same kind carries all that an older one did.
    pub snapshot: bool,
    /// The revisions in which that is so.
    pub snapshot_span: Span,
    /// True where no document names it: it is decoded when it comes and never sent by ours.
    pub undocumented: bool,
    /// The revisions that have it.
    pub span: Span,
    /// The event's members as JSON, with `type`.
    pub example: &'static str,
}

/// A question or a notice from the server to the person behind the client.
#[derive(Debug, Clone, Copy)]
pub struct Dialog {
    /// The name of the handler method in every client.
    pub name: &'static str,
    /// The method's name on the wire.
    pub wire: &'static str,
    /// What it asks; the first sentence stands alone.
    pub doc: &'static str,
    /// The record of its parameters.
    pub params: &'static TypeDef,
    /// The type of the answer, or none where none is expected.
    pub answer: Option<Ty>,
    /// The frames that it stands in, where they are its own and not those of the dialect's dialogs. The answer is all
    /// members of its type then.
    pub frames: Option<OwnFrames>,
    /// The answer that means "no answer", as JSON (a result, or the answer frame without its id).
    pub fallback: Option<&'static str>,
    /// The member that says after how many milliseconds the agent answers for itself: clients withdraw the question
    /// then, and send nothing.
    pub expires: Option<&'static str>,
    /// The member that names an open question, by its id, which this one takes back: nobody answers either of them.
    pub withdraws: Option<&'static str>,
    /// True where no document names it: it is obeyed when it comes and never sent by ours.
    pub undocumented: bool,
    /// The revisions that have it.
    pub span: Span,
    /// Example parameters as a JSON object.
    pub example: &'static str,
}

/// The `type` of the frames of one dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnFrames {
    /// Of the question.
    pub request: &'static str,
    /// Of the answer; none where none is expected.
    pub answer: Option<&'static str>,
    /// Of what a client may send before the answer, and the type of its members.
    pub progress: Option<(&'static str, Ty)>,
}

/// A setting that a document names.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The dotted key.
    pub key: &'static str,
    /// The type of its value.
    pub ty: Ty,
    /// The default as JSON; none where the setting has no default.
    pub default: Option<&'static str>,
    /// What it does, with units.
    pub doc: &'static str,
}

/// One row of a declaration.
#[derive(Debug, Clone, Copy)]
pub enum Row {
    /// A named type.
    Type(&'static TypeDef),
    /// A command.
    Command(&'static Command),
    /// An event.
    Event(&'static Event),
    /// A dialog.
    Dialog(&'static Dialog),
}
