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

/// How a handler hears that its question is none any more.
const WITHDRAWN: [&str; 2] = [
    "A question that the agent takes back, or whose connection ends, is answered no more:\n    \
     `agentese.withdrawn` tells a handler so.",
    "The task of a question that the agent takes back, or whose connection ends, is cancelled, and\n    nothing is sent.",
];

/// What handlers are called for: what takes a question back is the connection's to obey.
fn handled(index: &Index) -> impl Iterator<Item = &'static Dialog> {
    index.dialogs.iter().copied().filter(|dialog| dialog.withdraws.is_none())
}

/// What runs: the classes, and the table that says which method answers what.
pub fn module(out: &mut String, index: &Index) {
    if index.dialogs.is_empty() {
        out.push_str("\nDIALOGS = {}\n");
        return;
    }
    for ((class, marker), withdrawn) in
        [("Dialogs", ""), ("AsyncDialogs", "async ")].into_iter().zip(WITHDRAWN)
    {
        let _ = writeln!(
            out,
            "\n\nclass {class}:\n    \"\"\"Answers the agent's dialogs.\n\n    {WHAT}\n\n    {withdrawn}\n    \"\"\""
        );
        for dialog in handled(index) {
            let _ = writeln!(out, "\n    {marker}def {}(self, dialog):", snake(dialog.name));
            docs(out, "        ", dialog.doc, &[]);
            out.push_str("        return None\n");
        }
    }
    out.push_str(
        "\n\n# Wire name: the method, the class of the parameters, the member of the answer.\nDIALOGS = {\n",
    );
    for dialog in handled(index) {
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
    for ((class, marker), withdrawn) in
        [("Dialogs", ""), ("AsyncDialogs", "async ")].into_iter().zip(WITHDRAWN)
    {
        let _ = writeln!(
            out,
            "\nclass {class}:\n    \"\"\"Answers the agent's dialogs.\n\n    {WHAT}\n\n    {withdrawn}\n    \"\"\""
        );
        for dialog in handled(index) {
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
