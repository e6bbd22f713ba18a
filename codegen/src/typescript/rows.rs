//! Look-ups in the declaration, shared by several TypeScript generators.

use agentese_protocol::Index;
use agentese_protocol::model::{Command, Field, Shape};

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
