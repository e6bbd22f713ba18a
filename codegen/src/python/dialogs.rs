//! The classes that answer an agent's dialogs.

use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::index::Reply;
use agentese_protocol::model::{Dialog, Ty};

use super::literal::quote;
use super::{docs, ty};
use crate::names::snake;

const WHAT: &str = "Override the methods of the dialogs that you answer. The other ones, and those whose method returns None or\n    \
                    raises an exception, get the declared default: questions are dismissed, notices are ignored.";

/// The documentation of withdrawn questions, for authors of handlers.
const WITHDRAWN: [&str; 2] = [
    "Each question is answered on a thread of its own. A question is withdrawn when the agent takes it back, its time\n    \
     runs out or the connection ends: then `agentese.is_withdrawn()` is true in its handler, and no answer is sent.",
    "Each question is answered by a task of its own. It is cancelled when the agent takes the question back, its time\n    \
     runs out or the connection ends; no answer is sent then.",
];

/// Returns the dialogs that a handler receives. These exclude withdrawals of a question, which the connection
/// handles itself.
fn handled(index: &Index) -> impl Iterator<Item = &'static Dialog> {
    index.dialogs.iter().copied().filter(|dialog| dialog.withdraws.is_none())
}

/// Adds the runtime code: the classes, and the table of the methods that answer each dialog.
pub fn module(out: &mut String, index: &Index) {
    if index.dialogs.is_empty() {
        out.push_str("\nDIALOGS = {}\n");
        return;
    }
    let names: Vec<String> = handled(index).map(|dialog| quote(&snake(dialog.name))).collect();
    for ((class, marker), withdrawn) in
        [("Dialogs", ""), ("AsyncDialogs", "async ")].into_iter().zip(WITHDRAWN)
    {
        let _ = writeln!(
            out,
            "\n\nclass {class}(DialogsBase):\n    \"\"\"Answers the agent's dialogs.\n\n    {WHAT}\n\n    {withdrawn}\n    \"\"\"\n\n    _methods = frozenset([{}])",
            names.join(", ")
        );
        for dialog in handled(index) {
            let _ = writeln!(out, "\n    {marker}def {}(self, dialog):", snake(dialog.name));
            docs(out, "        ", dialog.doc, &[]);
            out.push_str("        return None\n");
        }
    }
    out.push_str(
        "\n\n# Wire name: the method, the class of the parameters, the member of the answer; True where it has all of them.\nDIALOGS = {\n",
    );
    for dialog in handled(index) {
        let member = match index.reply(dialog) {
            Reply::Nothing => "None".to_owned(),
            Reply::Member(field) => quote(field.name),
            Reply::All(_) => "True".to_owned(),
        };
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

/// Adds the type stub.
pub fn stub(out: &mut String, index: &Index) {
    if index.dialogs.is_empty() {
        return;
    }
    for ((class, marker), withdrawn) in
        [("Dialogs", ""), ("AsyncDialogs", "async ")].into_iter().zip(WITHDRAWN)
    {
        let _ = writeln!(
            out,
            "\nclass {class}(DialogsBase):\n    \"\"\"Answers the agent's dialogs.\n\n    {WHAT}\n\n    {withdrawn}\n    \"\"\""
        );
        for dialog in handled(index) {
            let answer = match index.reply(dialog) {
                Reply::Nothing => "None".to_owned(),
                Reply::Member(field) => format!("{} | None", ty::given(&field.ty, "shapes.")),
                Reply::All(record) => format!("{} | None", ty::given(&Ty::Named(record), "shapes.")),
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
