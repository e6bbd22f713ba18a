//! One module per dialect: its tables, unions, client helpers, dialog handler and serving trait.

use std::fmt::Write as _;

use agentese_protocol::Index;

use super::signature::{params_type, result_type};
use super::types::builder_of;
use super::{banner, client, dialogs, docs, failures, lineage, serving, tables};
use crate::declaration::{names_of_revisions, sources};
use crate::names::pascal;

/// Returns the module of a dialect: its tables, its client, its serving trait.
pub fn file(index: &Index) -> String {
    let marker = pascal(index.dialect.name);
    let mut out = head(index, "dialect");
    let _ = writeln!(out, "/// A client of this dialect.\npub type Client = crate::RpcClient<{marker}>;\n");
    let _ = writeln!(out, "/// A run of this dialect.\npub type Run = crate::Run<{marker}>;\n");
    tables::specs(&mut out, index);
    unions(&mut out, index);
    failures::kinds(&mut out, index);
    client::helpers(&mut out, index, &marker);
    dialogs::handler(&mut out, index, &marker);
    dialogs::asking(&mut out, index, &marker);
    serving::service(&mut out, index, &marker);
    lineage::traits(&mut out, index, &marker);
    out
}

/// Returns the module of a served protocol that is not a dialect. It contains no client.
pub fn served(index: &Index) -> String {
    let marker = pascal(index.dialect.name);
    let mut out = head(index, "protocol");
    tables::specs(&mut out, index);
    unions(&mut out, index);
    failures::kinds(&mut out, index);
    dialogs::asking(&mut out, index, &marker);
    serving::service(&mut out, index, &marker);
    // If every command has parameters, `NoParams` is unused.
    match out.matches("NoParams").count() {
        1 => out.replacen("{NoParams, ", "{", 1),
        _ => out,
    }
}

/// Returns the beginning of a module.
fn head(index: &Index, kind: &str) -> String {
    let dialect = index.dialect;
    let marker = pascal(dialect.name);
    let revisions = names_of_revisions(index);
    let mut out = banner(&format!(
        "The {} {kind}, {revisions}.\n//!\n//! {} Source: {}.",
        dialect.name,
        dialect.doc,
        sources(index)
    ));
    out.push_str(
        "use std::time::Duration;\n\nuse crate::spec;\nuse crate::wire::{NoParams, named, tagged};\n\n",
    );
    let mut names: Vec<String> = Vec::new();
    for (name, def) in &index.types {
        let is_event = index.events.iter().any(|event| event.payload.name == *name);
        let common = if is_event { dialect.event_members } else { &[] };
        names.push((*name).to_owned());
        names.extend(builder_of(def, common));
    }
    let _ = writeln!(out, "pub use super::types::{{\n    {},\n}};\n", wrap(&names));
    let _ = writeln!(out, "/// The {} {kind}, {revisions}.", dialect.name);
    let _ = writeln!(out, "#[derive(Debug, Clone, Copy)]\npub struct {marker};\n");
    let _ = writeln!(
        out,
        "impl spec::Dialect for {marker} {{\n    const SPEC: &'static spec::Spec = &SPEC;\n    \
         const CLIENT: &'static spec::Spec = &{};\n    const REVISIONS: &'static [&'static spec::Spec] = REVISIONS;\n    type Event = Event;\n    \
         type Command = Command;\n    type Reply = Reply;\n    type Dialog = Dialog;\n}}\n",
        tables::client_name(index)
    );
    out
}

fn wrap(names: &[String]) -> String {
    let mut lines = vec![String::new()];
    for name in names {
        if let Some(line) = lines.last_mut()
            && line.len() + name.len() < 100
        {
            if !line.is_empty() {
                line.push_str(", ");
            }
            line.push_str(name);
            continue;
        }
        lines.push(name.clone());
    }
    lines.join(",\n    ")
}

fn unions(out: &mut String, index: &Index) {
    out.push_str(
        "tagged! {\n    /// An event that the agent sends.\n    pub enum Event by \"type\" open {\n",
    );
    for event in &index.events {
        docs(out, "        ", event.doc);
        // `Unknown` is the variant for undeclared events.
        let variant = match pascal(event.name) {
            name if name == "Unknown" => "UnknownEvent".to_owned(),
            name => name,
        };
        let _ = writeln!(out, "        {variant}({}) = {:?},", event.payload.name, event.name);
    }
    out.push_str("    }\n}\n\n");
    out.push_str(
        "impl crate::wire::EventUnion for Event {\n    fn event_type(&self) -> &str {\n        self.tag()\n    }\n    \
         fn is_known(&self) -> bool {\n        !matches!(self, Event::Unknown(_))\n    }\n}\n\n",
    );
    out.push_str("named! {\n    /// A command with its parameters.\n    pub enum Command {\n");
    for command in &index.commands {
        docs(out, "        ", command.doc);
        let _ =
            writeln!(out, "        {}({}) = {:?},", pascal(command.name), params_type(command), command.wire);
    }
    out.push_str("    }\n}\n\n");
    replies(out, index);
    out.push_str(
        "named! {\n    /// A dialog: a question or a notice for the user of the client.\n    pub enum Dialog {\n",
    );
    for dialog in &index.dialogs {
        docs(out, "        ", dialog.doc);
        let _ = writeln!(out, "        {}({}) = {:?},", pascal(dialog.name), dialog.params.name, dialog.wire);
    }
    out.push_str("    }\n}\n\n");
}

/// Adds the enumeration of the responses' data, and the code that decodes and encodes it.
fn replies(out: &mut String, index: &Index) {
    out.push_str(
        "/// The data of a command's answer.\n#[derive(Debug, Clone, PartialEq)]\n#[non_exhaustive]\npub enum Reply {\n",
    );
    let (mut names, mut decode, mut encode) = (String::new(), String::new(), String::new());
    for command in &index.commands {
        let (variant, wire) = (pascal(command.name), command.wire);
        let _ = writeln!(out, "    /// The data for `{wire}`.");
        let pattern = match command.result {
            None => {
                let _ = writeln!(out, "    {variant},");
                let _ = writeln!(decode, "            {wire:?} => Ok(Reply::{variant}),");
                let _ = writeln!(encode, "            Reply::{variant} => return Ok(None),");
                ""
            }
            Some(_) => {
                let data = result_type(command);
                let _ = writeln!(out, "    {variant}({data}),");
                let _ = writeln!(
                    decode,
                    "            {wire:?} => crate::wire::decode::<{data}>(data).map(Reply::{variant}),"
                );
                if command.result_optional {
                    let _ = writeln!(encode, "            Reply::{variant}(None) => return Ok(None),");
                }
                let _ =
                    writeln!(encode, "            Reply::{variant}(data) => serde_json::to_string(data),");
                "(_)"
            }
        };
        let _ = writeln!(names, "            Reply::{variant}{pattern} => {wire:?},");
    }
    // If no command has data, nothing is encoded or decoded.
    let (encode, begin) = match index.commands.iter().any(|command| command.result.is_some()) {
        true => (
            format!("let text = match self {{\n{encode}        }};\n        text.map(Some)"),
            "        let data = data.unwrap_or(\"null\");\n",
        ),
        false => ("Ok(None)".to_owned(), "        let _ = data;\n"),
    };
    let _ = writeln!(
        out,
        "}}\n\nimpl crate::wire::ReplyUnion for Reply {{\n    fn command(&self) -> &'static str {{\n        match self {{\n{names}        }}\n    }}\n\n    \
         fn decode(command: &str, data: Option<&str>) -> Option<Result<Self, serde_json::Error>> {{\n{begin}        \
         Some(match command {{\n{decode}            _ => return None,\n        }})\n    }}\n\n    \
         fn encode(&self) -> Result<Option<String>, serde_json::Error> {{\n        {encode}\n    }}\n}}\n"
    );
}
