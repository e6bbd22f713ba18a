//! Look-ups that several of this target's files need.

use agentese_protocol::Index;
use agentese_protocol::model::{Command, Dialog, Field, Shape, Ty};

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

/// The member of an answer to a dialog that carries what was chosen or entered.
pub fn reply(index: &Index, dialog: &Dialog) -> Option<&'static Field> {
    let Some(Ty::Named(name)) = dialog.answer else { return None };
    let Shape::Record { fields, .. } = index.type_def(name)?.shape else { return None };
    fields.iter().find(|field| field.name != "id")
}
