//! The base class for an agent of the dialect.

use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::model::{Answer, Command};

use super::literal::quote;
use super::{docs, ty};
use crate::names::snake;

fn when(command: &Command) -> Vec<String> {
    vec![
        match command.answer {
            Answer::Done => "The answer carries what this returns.",
            Answer::Accepted => "Return as soon as the work can start: the answer is sent then.",
            Answer::Never => "The command is a notification, which is never answered.",
            Answer::Acknowledged => {
                "The command was acknowledged before this is called; a refusal is sent as a second answer."
            }
        }
        .to_owned(),
    ]
}

/// Adds the runtime code.
pub fn module(out: &mut String, index: &Index) {
    let _ = writeln!(
        out,
        "\n\nclass Service(ServiceBase):\n    \"\"\"An agent of the {} dialect: override a method for each command that it has.\n\n    \
         Other commands are rejected as not available. Raise `CommandError` in a method to reject its command.\n    \"\"\"\n\n    dialect = DIALECT\n    _methods = {{",
        index.dialect.name
    );
    for command in &index.commands {
        let params = command.params.map_or_else(|| "None".to_owned(), |name| format!("types.{name}"));
        let _ =
            writeln!(out, "        {}: ({}, {params}),", quote(command.wire), quote(&snake(command.name)));
    }
    out.push_str("    }\n");
    for command in &index.commands {
        let params = if command.params.is_some() { ", params" } else { "" };
        let _ = writeln!(out, "\n    async def {}(self{params}, call):", snake(command.name));
        docs(out, "        ", command.doc, &when(command));
        let _ = writeln!(out, "        raise CommandError.not_available({})", quote(command.wire));
    }
}

/// Adds the type stub.
pub fn stub(out: &mut String, index: &Index) {
    let _ = writeln!(
        out,
        "\nclass Service(ServiceBase):\n    \"\"\"An agent of the {} dialect: override a method for each command that it has.\n\n    \
         Other commands are rejected as not available. Raise `CommandError` in a method to reject its command.\n    \"\"\"\n    dialect: ClassVar[str]",
        index.dialect.name
    );
    for command in &index.commands {
        let params = command.params.map_or_else(String::new, |name| format!(", params: types.{name}"));
        let answer = match command.result {
            None => "None".to_owned(),
            Some(ty) => {
                let optional = command.result_nullable || command.result_optional;
                let null = if optional { " | None" } else { "" };
                format!("{}{null}", ty::given(&ty, "shapes."))
            }
        };
        let _ = writeln!(out, "    async def {}(self{params}, call: Call) -> {answer}:", snake(command.name));
        docs(out, "        ", command.doc, &when(command));
    }
}
