//! The class that an agent of the dialect extends.

use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::model::{Answer, Command};

use super::literal::quote;
use super::{docs, ty};
use crate::names::snake;

fn when(command: &Command) -> Vec<String> {
    vec![
        match command.answer {
            Answer::Done => "Answered with what this gives.",
            Answer::Accepted => "Answered when this returns: once the work can start, not when it is over.",
            Answer::Acknowledged => "Acknowledged before this is called; a refusal is sent with the same id.",
        }
        .to_owned(),
    ]
}

/// What runs.
pub fn module(out: &mut String, index: &Index) {
    let _ = writeln!(
        out,
        "\n\nclass Service(ServiceBase):\n    \"\"\"What an agent of the {} dialect does, command by command.\n\n    \
         A command that is not overridden answers that it is not available. Raise `Refusal` to refuse one.\n    \"\"\"\n\n    dialect = DIALECT\n    _methods = {{",
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
        let _ = writeln!(out, "        raise Refusal.not_available({})", quote(command.wire));
    }
}

/// What is typed.
pub fn stub(out: &mut String, index: &Index) {
    let _ = writeln!(
        out,
        "\nclass Service(ServiceBase):\n    \"\"\"What an agent of the {} dialect does, command by command.\n\n    \
         A command that is not overridden answers that it is not available. Raise `Refusal` to refuse one.\n    \"\"\"\n    dialect: ClassVar[str]",
        index.dialect.name
    );
    for command in &index.commands {
        let params = command.params.map_or_else(String::new, |name| format!(", params: types.{name}"));
        let answer = match command.result {
            None => "None".to_owned(),
            Some(ty) => {
                let null = if command.result_nullable { " | None" } else { "" };
                format!("{}{null}", ty::given(&ty, "shapes."))
            }
        };
        let _ = writeln!(out, "    async def {}(self{params}, call: Call) -> {answer}:", snake(command.name));
        docs(out, "        ", command.doc, &when(command));
    }
}
