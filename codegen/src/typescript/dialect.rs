//! One module per dialect: its types, its tables and its client.

use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::dialect::{Framing, Revision};
use agentese_protocol::index::Reply;
use agentese_protocol::model::Dialog;

use super::signature::{data_type, params_type};
use super::types::type_name;
use super::{banner, client, docs, key, quote, tables};

pub fn file(index: &Index) -> String {
    let dialect = index.dialect;
    let mut out = banner(&format!(
        "The {} dialect, {}. Source: {}.",
        dialect.name,
        crate::declaration::names_of_revisions(index),
        crate::declaration::sources(index)
    ));
    out.push_str("import { type CallOptions, type ClientOptions, RpcClient, type RunOptions } from \"../client.js\";\n");
    if index.chunks().is_some() {
        out.push_str("import { ChunkAssembler } from \"../chunks.js\";\n");
    }
    if tables::has_own_lines(index) {
        out.push_str("import { lines } from \"../lines.js\";\n");
    }
    if index.dialogs.iter().any(|dialog| dialog.answer.is_some()) {
        out.push_str("import type { OpenDialog } from \"../dialog.js\";\n");
    }
    out.push_str(
        "import { Run as AnyRun } from \"../run.js\";\n\
         import type { Spec } from \"../spec.js\";\n\
         import type { Transport } from \"../transport.js\";\n",
    );
    let _ = writeln!(out, "import {{ {} as failures, parsePrefixes }} from \"./failures.js\";", dialect.name);
    let _ = writeln!(out, "import {{ {} }} from \"./recognition.js\";", tables::others(index));
    imports(&mut out, index);
    let names: Vec<&str> = index.types.keys().copied().collect();
    let _ = writeln!(out, "export type {{\n  {},\n}} from \"./types.js\";\n", names.join(",\n  "));
    let _ = writeln!(out, "/** The dialect's name. */\nexport const dialect = {};\n", quote(dialect.name));
    let _ = writeln!(out, "/** The revision. */\nexport const revision = {};\n", quote(index.revision.name));
    maps(&mut out, index);
    frames(&mut out, index);
    dialogs(&mut out, index);
    out.push_str(
        "/** All types of the dialect. */\nexport interface Types {\n  commands: CommandMap;\n  events: EventMap;\n  \
         dialogs: DialogMap;\n  handlers: Dialogs;\n  serverFrame: ServerFrame;\n  clientFrame: ClientFrame;\n}\n\n",
    );
    tables::write(&mut out, index);
    client::classes(&mut out, index);
    out
}

/// Imports the declared types that the module uses.
fn imports(out: &mut String, index: &Index) {
    let mut names: Vec<&str> = Vec::new();
    let mut add = |text: &str| {
        for name in text.split(|c: char| !c.is_ascii_alphanumeric()) {
            if name == "JsonValue" || name == "JsonObject" {
                names.push(if name == "JsonValue" { "JsonValue" } else { "JsonObject" });
            } else if let Some((name, _)) = index.types.get_key_value(name) {
                names.push(name);
            }
        }
    };
    for command in &index.commands {
        add(params_type(command));
        add(&data_type(command));
    }
    for event in &index.events {
        add(event.payload.name);
    }
    for dialog in &index.dialogs {
        add(dialog.params.name);
        add(&dialog.answer.map_or_else(String::new, |ty| type_name(&ty)));
        add(&given(index, dialog).unwrap_or_default());
        add(&dialog
            .frames
            .and_then(|frames| frames.progress)
            .map_or_else(String::new, |(_, ty)| type_name(&ty)));
    }
    add(index.dialog_answer().unwrap_or_default());
    if matches!(index.framing(), Framing::JsonRpc { .. }) {
        add("OpalError");
    }
    names.push("NoParams");
    names.sort_unstable();
    names.dedup();
    let _ = writeln!(out, "import type {{\n  {},\n}} from \"./types.js\";\n", names.join(",\n  "));
}

fn maps(out: &mut String, index: &Index) {
    out.push_str(
        "/** The parameters and the data of each command, by its wire name. */\nexport type CommandMap = {\n",
    );
    for command in &index.commands {
        docs(out, "  ", command.doc, &[]);
        let _ = writeln!(
            out,
            "  {}: {{ params: {}; data: {} }};",
            key(command.wire),
            params_type(command),
            data_type(command)
        );
    }
    out.push_str("};\n\n/** Each event by its type. */\nexport type EventMap = {\n");
    for event in &index.events {
        docs(out, "  ", event.doc, &[]);
        let _ = writeln!(out, "  {}: {};", key(event.name), event.payload.name);
    }
    out.push_str("};\n\n/** Any event of the dialect. */\nexport type Event = EventMap[keyof EventMap];\n\n");
    out.push_str(
        "/** The parameters and the answer of each dialog, by its wire name. */\nexport type DialogMap = {\n",
    );
    for dialog in &index.dialogs {
        docs(out, "  ", dialog.doc, &[]);
        let answer = dialog.answer.map_or_else(|| "undefined".to_owned(), |ty| type_name(&ty));
        let _ =
            writeln!(out, "  {}: {{ params: {}; answer: {answer} }};", key(dialog.wire), dialog.params.name);
    }
    out.push_str("};\n\n");
}

fn frames(out: &mut String, index: &Index) {
    match index.framing() {
        Framing::JsonRpc { notification } => json_rpc_frames(out, notification),
        framing => flat_frames(out, index, framing == Framing::Enveloped),
    }
}

fn flat_frames(out: &mut String, index: &Index, enveloped: bool) {
    out.push_str(
        "/** A command in its wire form. */\nexport type Command = {\n  [K in keyof CommandMap]: { id?: unknown; type: K } & CommandMap[K][\"params\"];\n}[keyof CommandMap];\n\n\
         /** A command that succeeded. */\nexport type SuccessResponse = {\n  [K in keyof CommandMap]: {\n    id?: unknown;\n    type: \"response\";\n    command: K;\n    success: true;\n  } & (undefined extends CommandMap[K][\"data\"] ? { data?: CommandMap[K][\"data\"] } : { data: CommandMap[K][\"data\"] });\n}[keyof CommandMap];\n\n\
         /** A command that failed, or a line that could not be read. */\nexport interface FailureResponse {\n  id?: unknown;\n  type: \"response\";\n  command?: string;\n  success: false;\n  error: string;\n}\n\n\
         /** The answer to a command. */\nexport type Response = SuccessResponse | FailureResponse;\n\n",
    );
    let event = if enveloped {
        out.push_str("/** An event in its envelope. */\nexport interface EventFrame {\n  type: \"event\";\n  event: Event;\n}\n\n");
        // Some revisions send events without an envelope.
        let bare = |revision: &Revision| revision.edges.bare_events;
        if index.dialect.revisions.iter().any(bare) { "EventFrame | Event" } else { "EventFrame" }
    } else {
        "Event"
    };
    match index.dialog_frames() {
        Some(frames) => {
            let (mut apart, mut requests, mut answers) = (Vec::new(), String::new(), String::new());
            for dialog in &index.dialogs {
                let Some(own) = dialog.frames else { continue };
                apart.push(quote(dialog.wire));
                let frame = |kind: &str, members: &str| {
                    format!("\n  | ({{ type: {}; id: string }} & {members})", quote(kind))
                };
                requests.push_str(&frame(own.request, dialog.params.name));
                if let (Some(kind), Some(ty)) = (own.answer, dialog.answer) {
                    answers.push_str(&frame(kind, &type_name(&ty)));
                }
                if let Some((kind, ty)) = own.progress {
                    answers.push_str(&frame(kind, &type_name(&ty)));
                }
            }
            let shared = match apart.is_empty() {
                true => "keyof DialogMap".to_owned(),
                false => format!("Exclude<keyof DialogMap, {}>", apart.join(" | ")),
            };
            let _ = writeln!(
                out,
                "/** A question or notice in its wire form. */\nexport type DialogRequest = {{\n  [K in {shared}]: {{ type: {}; id: string; method: K }} & DialogMap[K][\"params\"];\n}}[{shared}]{requests};\n\n\
                 /** Any frame that a server sends. */\nexport type ServerFrame = Response | {event} | DialogRequest;\n\n\
                 /** Any frame that a client sends. */\nexport type ClientFrame = Command | {}{answers};\n",
                quote(frames.request),
                frames.answer_type
            );
        }
        None => {
            let _ = writeln!(
                out,
                "/** Any frame that a server sends. */\nexport type ServerFrame = Response | {event};\n\n\
                 /** Any frame that a client sends. */\nexport type ClientFrame = Command;\n"
            );
        }
    }
}

fn json_rpc_frames(out: &mut String, notification: &str) {
    let _ = writeln!(
        out,
        "/** A request of the client. */\nexport type Command = {{\n  [K in keyof CommandMap]: {{\n    jsonrpc: \"2.0\";\n    id: unknown;\n    method: K;\n    params?: CommandMap[K][\"params\"];\n  }};\n}}[keyof CommandMap];\n\n\
         /** A request that succeeded; its method is known by the id. */\nexport interface SuccessResponse<K extends keyof CommandMap = keyof CommandMap> {{\n  jsonrpc: \"2.0\";\n  id: unknown;\n  result: CommandMap[K][\"data\"] extends undefined ? Record<string, never> : CommandMap[K][\"data\"];\n}}\n\n\
         /** A request that failed. */\nexport interface FailureResponse {{\n  jsonrpc: \"2.0\";\n  id: unknown;\n  error: OpalError;\n}}\n\n\
         /** An event. */\nexport interface EventNotification {{\n  jsonrpc: \"2.0\";\n  method: {};\n  params: Event;\n}}\n\n\
         /** A question of the server. */\nexport type DialogRequest = {{\n  [K in keyof DialogMap]: {{\n    jsonrpc: \"2.0\";\n    id: string | number;\n    method: K;\n    params: DialogMap[K][\"params\"];\n  }};\n}}[keyof DialogMap];\n\n\
         /** The answer to a question. */\nexport interface DialogResult {{\n  jsonrpc: \"2.0\";\n  id: string | number;\n  result: DialogMap[keyof DialogMap][\"answer\"];\n}}\n\n\
         /** Any frame that a server sends. */\nexport type ServerFrame = SuccessResponse | FailureResponse | EventNotification | DialogRequest;\n\n\
         /** Any frame that a client sends. */\nexport type ClientFrame = Command | DialogResult | FailureResponse;\n",
        quote(notification)
    );
}

/// Adds the handlers that answer dialogs.
fn dialogs(out: &mut String, index: &Index) {
    out.push_str(
        "/**\n * Handlers of the agent's questions. A question is dismissed if its handler is missing, throws or returns\n \
         * `undefined`. The signal of a question is aborted when the agent withdraws it, when its time limit has passed,\n \
         * and when the connection ends: an answer after that is not sent.\n */\nexport interface Dialogs {\n",
    );
    // The connection itself withdraws questions.
    for dialog in index.dialogs.iter().filter(|dialog| dialog.withdraws.is_none()) {
        docs(out, "  ", dialog.doc, &[]);
        let name = crate::names::camel(dialog.name);
        let _ = match given(index, dialog) {
            Some(answer) => {
                writeln!(
                    out,
                    "  {name}?(dialog: {}, open: OpenDialog): {answer} | undefined | Promise<{answer} | undefined>;",
                    dialog.params.name
                )
            }
            None => writeln!(out, "  {name}?(notice: {}): void;", dialog.params.name),
        };
    }
    out.push_str("}\n\n");
}

/// Returns the type of a handler's result. Returns `None` if the dialog has no answer.
fn given(index: &Index, dialog: &Dialog) -> Option<String> {
    match index.reply(dialog) {
        Reply::Nothing => None,
        Reply::Member(member) => Some(type_name(&member.ty)),
        Reply::All(record) => Some(record.to_owned()),
    }
}
