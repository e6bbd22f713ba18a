//! The base class for an agent of the dialect, and the tables of its edges.

use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::dialect::{EndOfInput, HandlerFailure, ResponseOrder};
use agentese_protocol::model::{Answer, Lane};

use super::signature::{data_type, params_type};
use super::tables::object;
use super::{banner, docs, key, quote};
use crate::names::camel;

pub fn file(index: &Index) -> String {
    let dialect = index.dialect;
    let mut out = banner(&format!(
        "The {} dialect, {}, from the side of an agent.",
        dialect.name,
        crate::declaration::names_of_revisions(index)
    ));
    out.push_str(
        "import { type Answer, type Call as AnyCall, CommandError, Service as AnyService } from \"../../serve/service.js\";\n\
         import type { ServeSpec } from \"../../serve/spec.js\";\nimport { type Types, spec } from \"../",
    );
    let _ = writeln!(out, "{}.js\";", dialect.name);
    names_of_the_dialect(&mut out, dialect.name);
    let mut names: Vec<String> = Vec::new();
    for command in &index.commands {
        for text in [params_type(command).to_owned(), data_type(command)] {
            names.extend(
                text.split(|c: char| !c.is_ascii_alphanumeric())
                    .filter(|name| {
                        index.types.contains_key(name)
                            || matches!(*name, "NoParams" | "JsonObject" | "JsonValue")
                    })
                    .map(str::to_owned),
            );
        }
    }
    names.sort_unstable();
    names.dedup();
    let _ = writeln!(out, "import type {{\n  {},\n}} from \"../types.js\";\n", names.join(",\n  "));
    tables(&mut out, index);
    let _ = writeln!(
        out,
        "/**\n * The base class of agents of the {} dialect, with a method for every command. A command whose method is not\n \
         * overridden is answered with a failure. To reject a command, throw a `CommandError`.\n */\n\
         export class Service extends AnyService<Types> {{\n  override readonly serving = serving;",
        dialect.name
    );
    for command in &index.commands {
        out.push('\n');
        let when = match command.answer {
            Answer::Never => "The command is a notification, which is never answered.",
            Answer::Done => "The command is answered when the method resolves.",
            Answer::Accepted => {
                "The command is answered when the method resolves: as soon as the work can start, not when it is done. Events\nwait for the answer."
            }
            Answer::Acknowledged => {
                "The command is acknowledged before the method is called; a failure is sent later, with the same id."
            }
        };
        let when: Vec<String> = when.lines().map(str::to_owned).collect();
        docs(&mut out, "  ", command.doc, &when);
        let data = match command.result {
            None => "void".to_owned(),
            // If only some revisions respond with data, a response without data is valid, too.
            Some(_) if command.result_optional => data_type(command).replace("undefined", "void"),
            Some(_) => data_type(command),
        };
        let _ = writeln!(
            out,
            "  {}(_params: {}, _call: Call<{2}>): Answer<{data}> {{\n    throw CommandError.notAvailable({});\n  }}",
            camel(command.name),
            params_type(command),
            quote(command.wire)
        );
    }
    out.push_str("}\n");
    out
}

/// Exports the dialect's types again, so that an agent needs one import.
fn names_of_the_dialect(out: &mut String, dialect: &str) {
    let _ = writeln!(
        out,
        "export type * from \"../{dialect}.js\";\n\n\
         /** A command in progress, with the methods that send its events, its questions and its answer. */\n\
         export type Call<K extends keyof Types[\"commands\"] = keyof Types[\"commands\"]> = AnyCall<Types, K>;\n"
    );
}

fn tables(out: &mut String, index: &Index) {
    let edges = index.revision.edges;
    out.push_str("/** The tables of this dialect's serving side. */\nexport const serving: ServeSpec<Types> = {\n  spec,\n");
    let failure = match edges.handler_failure {
        HandlerFailure::OwnCommandAndId => "handlerFailure: \"own\"".to_owned(),
        HandlerFailure::JsonRpcError => "handlerFailure: \"json-rpc\"".to_owned(),
        HandlerFailure::ParseWithoutId { except, invalid } => {
            let listed = |names: &[&str]| names.iter().map(|name| quote(name)).collect::<Vec<_>>().join(", ");
            format!("handlerFailure: {{ except: [{}], invalid: [{}] }}", listed(except), listed(invalid))
        }
    };
    let _ = writeln!(
        out,
        "  unknownCommandEchoesId: {},\n  unknownCommandText: {},\n  {failure},\n  parsePrefix: {},\n  blankLineIsError: {},\n  \
         emptyData: {},\n  idFirst: {},\n  finishes: {},\n  commands: {{",
        edges.unknown_command_echoes_id,
        quote(edges.unknown_command_text),
        quote(edges.parse_prefix),
        edges.blank_line_is_error,
        edges.empty_data,
        edges.response_order == ResponseOrder::IdFirst,
        edges.end_of_input == EndOfInput::Finish,
    );
    for command in &index.commands {
        let mut members = vec![format!("name: {}", quote(&camel(command.name)))];
        members.extend(command.params.map(|params| format!("params: {}", quote(params))));
        match command.lane {
            Lane::Immediate => {}
            Lane::Session => members.push("lane: \"session\"".to_owned()),
            Lane::Bash => members.push("lane: \"bash\"".to_owned()),
        }
        let _ = writeln!(out, "    {}: {},", key(command.wire), object(&members));
    }
    out.push_str("  },\n};\n\n");
}
