//! The classes that answer an agent's dialogs.

use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::model::{Dialog, Field, Shape, Ty};

use super::literal::quote;
use super::{docs, ty};
use crate::names::snake;

/// The member of an answer that carries what was chosen or entered.
fn reply(index: &Index, dialog: &Dialog) -> Option<&'static Field> {
    let Some(Ty::Named(name)) = dialog.answer else { return None };
    let Shape::Record { fields, .. } = index.type_def(name)?.shape else { return None };
    fields.iter().find(|field| field.name != "id")
}

const WHAT: &str = "Override what you answer. What is left out, gives None or raises is answered by the declared \
                    policy: questions are dismissed, notices ignored.";

/// What runs: the classes, and the table that says which method answers what.
pub fn module(out: &mut String, index: &Index) {
    if index.dialogs.is_empty() {
        out.push_str("\nDIALOGS = {}\n");
        return;
    }
    for (class, marker) in [("Dialogs", ""), ("AsyncDialogs", "async ")] {
        let _ = writeln!(
            out,
            "\n\nclass {class}:\n    \"\"\"Answers the agent's dialogs.\n\n    {WHAT}\n    \"\"\""
        );
        for dialog in &index.dialogs {
            let _ = writeln!(out, "\n    {marker}def {}(self, dialog):", snake(dialog.name));
            docs(out, "        ", dialog.doc, &[]);
            out.push_str("        return None\n");
        }
    }
    out.push_str(
        "\n\n# Wire name: the method, the class of the parameters, the member of the answer.\nDIALOGS = {\n",
    );
    for dialog in &index.dialogs {
        let member = reply(index, dialog).map_or_else(|| "None".to_owned(), |field| quote(field.name));
        let _ = writeln!(
            out,
            "    {}: ({}, types.{}, {member}),",
            quote(dialog.wire),
            quote(&snake(dialog.name)),
            dialog.params.name
        );
    }
    out.push_str("}\n");
}

/// What is typed.
pub fn stub(out: &mut String, index: &Index) {
    if index.dialogs.is_empty() {
        return;
    }
    for (class, marker) in [("Dialogs", ""), ("AsyncDialogs", "async ")] {
        let _ = writeln!(
            out,
            "\nclass {class}:\n    \"\"\"Answers the agent's dialogs.\n\n    {WHAT}\n    \"\"\""
        );
        for dialog in &index.dialogs {
            let answer = match reply(index, dialog) {
                Some(field) => format!("{} | None", ty::given(&field.ty, "shapes.")),
                None => "None".to_owned(),
            };
            let _ = writeln!(
                out,
                "    {marker}def {}(self, dialog: types.{}) -> {answer}:",
                snake(dialog.name),
                dialog.params.name
            );
            docs(out, "        ", dialog.doc, &[]);
        }
    }
}
