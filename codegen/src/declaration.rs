//! Lists and look-ups that the generators of several languages share.

use agentese_protocol::Index;
use agentese_protocol::index::named;
use agentese_protocol::model::{Command, ConstantValue, Dialog, Field, Presence, Shape, Ty, TypeDef};

/// Types outside the dialects: types of files, and types of frames between the agent and its extensions.
pub const FORMATS: &[&str] = &[
    "TranscriptRecord",
    "ModelScript",
    "Scenario",
    "CaseDefaults",
    "Profile",
    "ExpectedFailures",
    "ModelRequest",
    "SuiteReport",
    "SuiteSummary",
    "HostFrame",
    "ExtensionFrame",
    "HostAnswers",
    "HookAnswers",
    "ExtensionAnswers",
    "DriverInstruction",
    "DriverReport",
];

/// The file types that the TypeScript package contains too. They are formats that a client and its tests
/// exchange.
pub const SHARED_FORMATS: &[&str] = &["TranscriptRecord", "ModelScript"];

/// Returns `revision 0.55`, or `revisions 0.55 and 1.5`.
pub fn names_of_revisions(index: &Index) -> String {
    let names: Vec<&str> = index.dialect.revisions.iter().map(|revision| revision.name).collect();
    match names.as_slice() {
        [one] => format!("revision {one}"),
        [first @ .., last] => format!("revisions {} and {last}", first.join(", ")),
        [] => String::new(),
    }
}

/// Returns the documents of all revisions.
pub fn sources(index: &Index) -> String {
    let documents: Vec<&str> = index.dialect.revisions.iter().map(|revision| revision.document).collect();
    documents.join("; ")
}

/// Returns the value of a record's tag.
pub fn tag_of(def: &TypeDef, tag: &str) -> Option<&'static str> {
    let Shape::Record { constants, .. } = def.shape else { return None };
    constants.iter().find(|constant| constant.member == tag).and_then(|constant| match constant.value {
        ConstantValue::String(text) => Some(text),
        ConstantValue::Boolean(_) => None,
    })
}

/// Returns the first command without a session parameter whose response names a session.
pub fn opens_session(index: &Index) -> Option<&'static str> {
    let session = index.dialect.event_members.first()?.name;
    let fields =
        |record: Option<&str>| match record.and_then(|name| index.type_def(name)).map(|def| def.shape) {
            Some(Shape::Record { fields, .. }) => fields,
            _ => &[],
        };
    let mut commands = index.commands.iter();
    let opens = |command: &Command| {
        let needed = |field: &Field| field.presence == Presence::Required;
        let gives = |field: &Field| field.name == session;
        let result = command.result.as_ref().and_then(named);
        !fields(command.params).iter().any(needed) && fields(result).iter().any(gives)
    };
    commands.find(|command| opens(command)).map(|command| command.wire)
}

/// Returns the members of a dialog's answer. Each has a name, a JSON type (`any` if several are possible), and
/// a flag that is `true` if the member is required.
pub fn answer_members(index: &Index, dialog: &Dialog) -> Vec<(&'static str, &'static str, bool)> {
    let fields: &[Field] = match dialog.answer.as_ref().and_then(named).and_then(|name| index.type_def(name))
    {
        Some(TypeDef { shape: Shape::Record { fields, .. }, .. }) => fields,
        _ => &[],
    };
    // The id is the id of the question.
    let own = fields.iter().filter(|field| field.name != "id");
    own.map(|field| {
        let is_null = matches!(field.presence, Presence::Nullable | Presence::OptionalNullable);
        let kind = if is_null { "any" } else { json_type(index, &field.ty) };
        (field.name, kind, field.presence == Presence::Required)
    })
    .collect()
}

fn json_type(index: &Index, ty: &Ty) -> &'static str {
    match ty {
        Ty::String => "string",
        Ty::Boolean => "boolean",
        Ty::Integer | Ty::Count | Ty::Number => "number",
        Ty::List(_) => "array",
        Ty::Object | Ty::Map(_) => "object",
        Ty::Any => "any",
        Ty::Named(name) => match index.type_def(name).map(|def| def.shape) {
            Some(Shape::Record { .. }) => "object",
            Some(Shape::Strings { .. }) => "string",
            _ => "any",
        },
    }
}
