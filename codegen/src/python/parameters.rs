//! Parameters of commands, in the form of a method signature.

use agentese_protocol::Index;
use agentese_protocol::model::{Command, Field, Presence, Shape, Timeout};

use super::literal::attribute;
use super::ty;

/// Returns the members of a command's parameters.
pub fn fields(index: &Index, command: &Command) -> &'static [Field] {
    let Some(def) = command.params.and_then(|name| index.type_def(name)) else { return &[] };
    match def.shape {
        Shape::Record { fields, .. } => fields,
        _ => &[],
    }
}

/// Returns `true` if a parameter names the session. Methods of a run set this parameter themselves.
pub fn is_session(index: &Index, field: &Field) -> bool {
    index.dialect.event_members.iter().any(|member| member.name == field.name)
}

/// Returns the parameters after `self`. If exactly one parameter is required, it may be positional. All others
/// are keyword-only.
pub fn head(fields: &[&Field], typed: bool) -> String {
    let required: Vec<&&Field> = fields.iter().filter(|field| field.presence.is_required()).collect();
    let first = match required.as_slice() {
        [only] => Some(only.name),
        _ => None,
    };
    let mut parts: Vec<String> = Vec::new();
    parts.extend(fields.iter().filter(|f| Some(f.name) == first).map(|field| parameter(field, typed)));
    parts.push("*".to_owned());
    parts.extend(required.iter().filter(|f| Some(f.name) != first).map(|field| parameter(field, typed)));
    parts.extend(fields.iter().filter(|f| !f.presence.is_required()).map(|field| parameter(field, typed)));
    parts.push(if typed { "timeout: Timeout = ..." } else { "timeout=DEFAULT" }.to_owned());
    parts.join(", ")
}

fn parameter(field: &Field, typed: bool) -> String {
    let name = attribute(field.name);
    if !typed {
        return match field.presence {
            Presence::Required | Presence::Nullable => name,
            Presence::Optional => format!("{name}=None"),
            Presence::OptionalNullable => format!("{name}=DEFAULT"),
        };
    }
    let value = ty::given(&field.ty, "shapes.");
    match field.presence {
        Presence::Required => format!("{name}: {value}"),
        Presence::Nullable => format!("{name}: {value} | None"),
        Presence::Optional => format!("{name}: {value} | None = None"),
        Presence::OptionalNullable => format!("{name}: {value} | None | Default = ..."),
    }
}

/// Returns the expression for the dictionary of a command's members. The serialization omits absent members.
pub fn members(fields: &[&Field], session: Option<&str>) -> String {
    let parts: Vec<String> = fields
        .iter()
        .map(|field| {
            let name = attribute(field.name);
            let value = match (field.presence, session) {
                (_, Some(session)) if session == field.name => "self.session".to_owned(),
                // An explicit null differs from an absent parameter.
                (Presence::Nullable, _) => format!("null({name})"),
                (Presence::OptionalNullable, _) => format!("null({name})"),
                _ => name,
            };
            format!("{}: {value}", super::literal::quote(field.name))
        })
        .collect();
    format!("{{{}}}", parts.join(", "))
}

/// Returns the documented failures of a command, as lines of a doc string.
pub fn failures(index: &Index, command: &Command) -> Vec<String> {
    let mut lines: Vec<String> = command
        .errors
        .iter()
        .map(|error| {
            let code = error.code.map(|code| format!(", code {code}")).unwrap_or_default();
            format!("Raises {} (`{}`{code}): {}.", error.kind, error.text.replace('`', "'"), error.when)
        })
        .collect();
    lines.push(match command.timeout {
        Timeout::Milliseconds(milliseconds) => {
            format!(
                "Raises TimedOutError after {} s without an answer, unless `timeout` says otherwise.",
                milliseconds / 1000
            )
        }
        Timeout::Never => "No timeout by default.".to_owned(),
    });
    lines.push(format!("Source: {}.", index.revision.document));
    lines
}
