//! Look-ups that several of this target's files need.

use agentese_protocol::Index;
use agentese_protocol::model::{Command, Field, Shape};

/// The members of a command's parameters.
pub fn fields(index: &Index, command: &Command) -> &'static [Field] {
    let Some(def) = command.params.and_then(|name| index.type_def(name)) else { return &[] };
    match def.shape {
        Shape::Record { fields, .. } => fields,
        _ => &[],
    }
}

/// Whether a parameter names the session, which a run knows by itself.
pub fn is_session(index: &Index, field: &Field) -> bool {
    index.dialect.event_members.iter().any(|member| member.name == field.name)
}
