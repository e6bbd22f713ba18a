//! One module per dialect: its tables, clients, dialogs and serving class, and the names of its types.

use std::fmt::Write as _;

use agentese_protocol::Index;

use super::literal::{attribute, quote};
use super::{banner, client, dialogs, failures, serving, ty};

fn title(index: &Index) -> String {
    let dialect = index.dialect;
    banner(&format!(
        "The {} dialect, {}. Source: {}.",
        dialect.name,
        crate::declaration::names_of_revisions(index),
        crate::declaration::sources(index)
    ))
}

/// Returns the public names.
fn names(index: &Index) -> Vec<String> {
    let mut names: Vec<String> = [
        "AsyncClient",
        "AsyncRun",
        "Call",
        "Client",
        "DIALECT",
        "EVENTS",
        "Event",
        "REVISION",
        "Run",
        "Service",
        "UnknownEvent",
        "decode_event",
    ]
    .map(str::to_owned)
    .to_vec();
    if !index.dialogs.is_empty() {
        names.extend(["AsyncDialogs".to_owned(), "Dialogs".to_owned()]);
    }
    names.extend(index.types.keys().map(|name| (*name).to_owned()));
    names.extend(failures::names(index).into_iter().map(str::to_owned));
    names.sort_unstable();
    names
}

fn all(out: &mut String, index: &Index) {
    let names: Vec<String> = names(index).iter().map(|name| format!("    {},\n", quote(name))).collect();
    let _ = write!(out, "\n__all__ = [\n{}]\n", names.concat());
}

fn imports(out: &mut String, index: &Index) {
    let types: Vec<&str> = index.types.keys().copied().collect();
    let imports: Vec<String> = types.iter().map(|name| format!("    {name} as {name},\n")).collect();
    let _ = write!(out, "from agentese.generated.types import (\n{})\n", imports.concat());
    let failures: Vec<String> =
        failures::names(index).iter().map(|name| format!("    {name} as {name},\n")).collect();
    let _ = write!(out, "from agentese.generated.failures import (\n{})\n", failures.concat());
}

const DECODE: &str = "The event of a line that an agent sent, with or without its envelope.\n\n    \
                      Raises DecodeError where the line is no event: no JSON object, an answer, a dialog. Members are \
                      decoded when\n    they are read.";

/// Returns the table with the location of the model's text in events, as names of attributes.
fn text(index: &Index) -> String {
    let table = index.dialect.text;
    let path: Vec<String> = table.path.iter().map(|name| format!("{}, ", quote(&attribute(name)))).collect();
    let kind = table.kind.map_or_else(
        || "None".to_owned(),
        |(member, value)| format!("({}, {})", quote(&attribute(member)), quote(value)),
    );
    format!(
        "TextTable({}, {}, ({}), {kind}, {})",
        quote(table.begins),
        quote(table.event),
        path.concat().trim_end(),
        quote(&attribute(table.piece))
    )
}

/// Returns the runtime module.
pub fn module(index: &Index) -> String {
    let mut out = title(index);
    out.push_str(
        "from agentese._native import Decoder, EventTable\nfrom agentese.client import SyncClient\nfrom agentese.aio import AsyncClientBase, AsyncRunBase\n\
         from agentese.generated import types\n",
    );
    imports(&mut out, index);
    out.push_str(
        "from agentese.members import DEFAULT, null\nfrom agentese.run import SyncRun\nfrom agentese.dialogs import DialogsBase\nfrom agentese.service import Call, CommandError, ServiceBase\nfrom agentese.text import TextTable\nfrom agentese.unknown import UnknownEvent\n",
    );
    all(&mut out, index);
    let dialect = index.dialect;
    let _ = writeln!(
        out,
        "\nDIALECT = {}\nREVISION = {}\n\n# Each event by its type.\nEVENTS = {{",
        quote(dialect.name),
        quote(index.revision.name)
    );
    for event in &index.events {
        let _ = writeln!(out, "    {}: types.{},", quote(event.name), event.payload.name);
    }
    let session =
        dialect.event_members.first().map_or_else(|| "None".to_owned(), |member| quote(member.name));
    let classes: Vec<&str> = index.events.iter().map(|event| event.payload.name).collect();
    let _ = writeln!(
        out,
        "}}\n\nEvent = (\n    types.{}\n    | UnknownEvent\n)\n\n_SESSION = {session}\n_TABLE = EventTable(EVENTS, UnknownEvent)\n\n# How the data of each answer is read.\n_DATA = {{",
        classes.join("\n    | types.")
    );
    for command in &index.commands {
        let decoder = match command.result {
            None => "None".to_owned(),
            Some(ty) => {
                let nullable =
                    if command.result_nullable || command.result_optional { ", nullable=True" } else { "" };
                format!("Decoder({}{nullable})", quote(&ty::kind(&ty)))
            }
        };
        let _ = writeln!(out, "    {}: {decoder},", quote(command.wire));
    }
    out.push_str("}\n\n# How the parameters of each command are checked.\n_PARAMS = {\n");
    for command in &index.commands {
        let decoder =
            command.params.map_or_else(|| "None".to_owned(), |name| format!("Decoder({})", quote(name)));
        let _ = writeln!(out, "    {}: {decoder},", quote(command.wire));
    }
    let _ = write!(
        out,
        "}}\n\n_TEXT = {}\n\n\ndef decode_event(line):\n    \"\"\"{DECODE}\n    \"\"\"\n    \
         return _TABLE.decode(DIALECT, line if isinstance(line, str) else bytes(line).decode())\n",
        text(index)
    );
    dialogs::module(&mut out, index);
    client::classes(&mut out, index);
    out.push_str("\n\nfor _class in (Client, AsyncClient):\n    _class._table = _TABLE\n    _class._data = _DATA\n    _class._params = _PARAMS\n    _class._dialogs = DIALOGS\n    _class._session = _SESSION\n\nfor _class in (Run, AsyncRun):\n    _class._text = _TEXT\n");
    serving::module(&mut out, index);
    out
}

/// Returns the type stub.
pub fn stub(index: &Index) -> String {
    let mut out = title(index);
    out.push_str(
        "from collections.abc import Coroutine, Mapping, Sequence\nfrom typing import Any, ClassVar, Final, Literal, TypeAlias\n\n\
         from agentese import shapes\nfrom agentese._native import Record\nfrom agentese.aio import AsyncClientBase, AsyncRunBase\nfrom agentese.client import SyncClient\n\
         from agentese.generated import types\n",
    );
    imports(&mut out, index);
    out.push_str(
        "from agentese.values import JsonObject, JsonValue\nfrom agentese.limits import RunLimits\nfrom agentese.members import Default, Timeout\nfrom agentese.run import SyncRun\nfrom agentese.dialogs import DialogsBase\nfrom agentese.service import Call as _Call\nfrom agentese.service import ServiceBase\nfrom agentese.unknown import UnknownEvent\n",
    );
    all(&mut out, index);
    let dialect = index.dialect;
    let classes: Vec<&str> = index.events.iter().map(|event| event.payload.name).collect();
    let _ = writeln!(
        out,
        "\nDIALECT: Final = {}\nREVISION: Final = {}\nEVENTS: Final[dict[str, type[Record]]]\n\nEvent: TypeAlias = (\n    types.{}\n    | UnknownEvent\n)\n\"Any event.\"",
        quote(dialect.name),
        quote(index.revision.name),
        classes.join("\n    | types.")
    );
    let shapes: Vec<&str> = classes.clone();
    let _ = writeln!(
        out,
        "\nCall: TypeAlias = _Call[\n    Event\n    | shapes.{}\n]\n\"One command that is being carried out: where its events and dialogs go.\"\n\n\
         def decode_event(line: str | bytes) -> Event:\n    \"\"\"{DECODE}\n    \"\"\"",
        shapes.join("\n    | shapes.")
    );
    dialogs::stub(&mut out, index);
    client::stubs(&mut out, index);
    serving::stub(&mut out, index);
    out
}
