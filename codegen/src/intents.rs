//! The intents of front ends and the commands for them: one JSON value for all dialects, and one for each
//! dialect.

use agentese_protocol::Index;
use agentese_protocol::index::Reply;
use agentese_protocol::intent::{
    CommandMapping, Divergence, Fallback, INTENTS, Intent, IntentSpec, Kind, ParamSource, intent_spec,
    resolve,
};
use agentese_protocol::model::Shape;
use serde_json::{Map, Value, json};

use crate::meaning::{constant, reader, slots};

/// Returns the intents with their neutral parameters and results.
pub fn neutral_table() -> Value {
    Value::Object(INTENTS.iter().map(|row| (row.name.to_owned(), of(row))).collect())
}

fn of(row: &IntentSpec) -> Value {
    let params = row.params.iter().map(|param| {
        let kind = match param.kind {
            Kind::Text => "text",
            Kind::Flag => "flag",
            Kind::Images => "images",
        };
        let mut told =
            json!({"name": param.name, "kind": kind, "required": param.required, "doc": param.doc});
        if param.hint {
            told["hint"] = true.into();
        }
        told
    });
    let without = match row.without {
        Fallback::Lost(why) => json!({"lost": why}),
        Fallback::Seen(how) => json!({"seen": how}),
        Fallback::Through(intents, how) => {
            let names: Vec<&str> = intents.iter().map(|intent| name(*intent)).collect();
            json!({"through": names, "how": differs(&how)})
        }
    };
    json!({
        "doc": row.doc,
        "params": params.collect::<Vec<_>>(),
        "gives": row.results.iter().map(|give| json!({"name": give.name, "doc": give.doc})).collect::<Vec<_>>(),
        "without": without,
    })
}

/// Returns the name of an intent.
pub fn name(intent: Intent) -> &'static str {
    intent_spec(intent).map_or("", |row| row.name)
}

/// Returns the table of a dialect, with additional data that not every client needs. These are parameters that
/// only the dialect's agents support, dialogs that only their tools send, and differences between commands and
/// intents.
pub fn accounted(index: &Index) -> Value {
    let mut beside: Map<String, Value> = Map::new();
    for row in resolve(index).companions.iter().filter(|row| row.unsupported) {
        beside.insert(row.command.to_owned(), row.params.into());
    }
    let by_tool = resolve(index).by_tool.into_iter();
    let by_tool: Map<String, Value> =
        by_tool.map(|(dialog, tool)| (dialog.to_owned(), tool.into())).collect();
    let mut whole = table_with(index, &|row, mapping| {
        for (name, told) in [("differs", row.divergences), ("alone", row.bridge_divergences)] {
            if !told.is_empty() {
                mapping[name] = told.iter().map(differs).collect();
            }
        }
    });
    whole["beside"] = beside.into();
    whole["byTool"] = by_tool.into();
    whole
}

fn differs(told: &Divergence) -> Value {
    let mut value = json!({"says": told.description});
    if !told.changes.is_empty() {
        value["changes"] = told.changes.into();
    }
    if !told.of.is_empty() {
        value["of"] = told.of.into();
    }
    if !told.with.is_empty() {
        value["with"] = told.with.into();
    }
    for (name, is_so) in [("busy", told.busy), ("refuses", told.refuses)] {
        if is_so {
            value[name] = true.into();
        }
    }
    value
}

/// Returns the parameters of a mapping that some revisions of its command lack, each with the revisions that
/// have it. The list is empty for a parameter that the dialect inherits with the mapping but does not declare.
fn of_some_revisions(index: &Index, mapping: &Value) -> Map<String, Value> {
    let revisions = index.dialect.revisions.iter().map(|revision| Index::exact(index.dialect, revision));
    let command = mapping["command"].as_str().unwrap_or_default();
    let with_command: Vec<Index> =
        revisions.filter(|known| known.commands.iter().any(|row| row.wire == command)).collect();
    // A renamed parameter exists as well.
    let renamed = |param: &str| {
        let row = index.commands.iter().find(|row| row.wire == command)?;
        index.renamed(row).into_iter().find(|(name, _)| *name == param).map(|(_, later)| later)
    };
    let sends = mapping["sends"].as_object().into_iter().flat_map(Map::keys);
    let partly = sends.filter_map(|param| {
        let later = renamed(param).unwrap_or(param);
        let having = with_command
            .iter()
            .filter(|known| accepts_param(known, command, param) || accepts_param(known, command, later));
        let ids: Vec<String> = having.map(Index::id).collect();
        (ids.len() < with_command.len()).then(|| (param.clone(), ids.into()))
    });
    partly.collect()
}

/// Returns `true` if a command has a parameter.
fn accepts_param(index: &Index, command: &str, param: &str) -> bool {
    let params = index.commands.iter().find(|row| row.wire == command).and_then(|row| row.params);
    match params.and_then(|name| index.type_def(name)).map(|def| &def.shape) {
        Some(Shape::Record { fields, .. }) => fields.iter().any(|field| field.name == param),
        // A type that is not a record may have it.
        Some(_) => true,
        None => false,
    }
}

/// Returns the table of a dialect.
pub fn table(index: &Index) -> Value {
    table_with(index, &|_, _| {})
}

fn table_with(index: &Index, more: &dyn Fn(&CommandMapping, &mut Value)) -> Value {
    let resolved = resolve(index);
    let mut mappings = Map::new();
    for row in INTENTS {
        let known = resolved.mappings.iter().filter(|known| known.intent == row.intent);
        let of = known.map(|known| {
            let mut value = mapping(index, known);
            more(known, &mut value);
            value
        });
        let of: Vec<Value> = of.collect();
        if !of.is_empty() {
            mappings.insert(row.name.into(), Value::Array(of));
        }
    }
    let own = resolved
        .dialect_only
        .iter()
        .map(|own| (own.command.to_owned(), json!({"reason": own.reason, "byFront": own.by_adapter})));
    let answers = index.dialogs.iter().filter_map(|dialog| match index.reply(dialog) {
        Reply::Member(field) => Some((dialog.wire.to_owned(), field.name.into())),
        Reply::Nothing | Reply::All(_) => None,
    });
    let readers = resolved.readers.iter().map(|row| (row.name.to_owned(), reader(row, row.cases)));
    json!({
        "dialect": index.dialect.name,
        "readers": readers.collect::<Map<_, _>>(),
        "probe": index.dialect.probe_command,
        "opens": crate::declaration::opens_session(index),
        "carriers": mappings,
        "own": own.collect::<Map<_, _>>(),
        "made": resolved.derived_events,
        "answers": answers.collect::<Map<_, _>>(),
    })
}

fn mapping(index: &Index, mapping: &CommandMapping) -> Value {
    let sends = mapping.params.iter().map(|(name, send)| {
        let value = match *send {
            ParamSource::From(param) => param.into(),
            ParamSource::Is(value) => json!({"is": constant(value)}),
            ParamSource::Joined(params, with) => json!({"join": params, "with": with}),
        };
        ((*name).to_owned(), value)
    });
    let mut value = json!({
        "command": mapping.command,
        "sends": sends.collect::<Map<_, _>>(),
        "gives": slots(mapping.results),
    });
    if let Some(session) = needed_session(index, mapping.command) {
        value["session"] = session.into();
    }
    let only = of_some_revisions(index, &value);
    if !only.is_empty() {
        value["only"] = only.into();
    }
    value
}

/// Returns the parameter for the session, if the command requires one.
fn needed_session(index: &Index, command: &str) -> Option<&'static str> {
    let session = index.dialect.event_members.first()?.name;
    let row = index.commands.iter().find(|row| row.wire == command)?;
    let Shape::Record { fields, .. } = index.type_def(row.params?)?.shape else { return None };
    fields.iter().any(|field| field.name == session && field.presence.is_required()).then_some(session)
}

/// Returns a table as a file with a note that it is generated.
pub fn file(table: Value) -> String {
    let comment = json!({"$comment": format!("Generated by `{}`. Do not edit.", crate::COMMAND)});
    let (Value::Object(mut members), Value::Object(table)) = (comment, table) else { return String::new() };
    members.extend(table);
    crate::meaning::text(&Value::Object(members)) + "\n"
}
