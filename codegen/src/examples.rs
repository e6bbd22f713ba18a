//! Whole frames from the examples of the declaration, in the framing of each dialect.

use agentese_protocol::Index;
use agentese_protocol::dialect::Framing;
use agentese_protocol::index::declared_types;
use agentese_protocol::model::{Answer, Command, Dialog, Event, Shape, Ty, TypeDef};
use serde_json::{Map, Value, json};

/// A frame made from a row's example.
#[derive(Debug, Clone)]
pub struct ExampleFrame {
    /// The row's wire name.
    pub row: String,
    /// The frame as JSON.
    pub frame: Value,
    /// The method of the command, for a JSON-RPC response, which does not contain it.
    pub answers: Option<&'static str>,
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

/// Adapts an example to the revisions of the index. Examples contain the members of all revisions, so members
/// of other revisions are removed.
fn seen(index: &Index, ty: &Ty, value: Value) -> Value {
    match (ty, value) {
        (Ty::List(item), Value::Array(items)) => {
            Value::Array(items.into_iter().map(|value| seen(index, item, value)).collect())
        }
        (Ty::Named(name), value) => match index.type_def(name) {
            Some(def) => seen_type(index, def, value),
            None => value,
        },
        (_, value) => value,
    }
}

fn seen_type(index: &Index, def: &TypeDef, value: Value) -> Value {
    match (def.shape, value) {
        (Shape::Record { fields, .. }, Value::Object(members)) => {
            let declared = declared_types();
            let other = |name: &str| match declared.get(def.name).map(|def| def.shape) {
                Some(Shape::Record { fields, .. }) => fields.iter().any(|field| field.name == name),
                _ => false,
            };
            // Examples use the names of the oldest revision.
            let own_name = |name: String| match declared.get(def.name).map(|def| def.shape) {
                Some(Shape::Record { fields: all, .. }) => all
                    .iter()
                    .find(|field| field.name == name)
                    .and_then(|field| Some(field.renamed?.0))
                    .filter(|later| fields.iter().any(|field| field.name == *later))
                    .map_or(name, str::to_owned),
                _ => name,
            };
            let members = members.into_iter().map(|(name, value)| (own_name(name), value));
            let seen =
                members.filter_map(|(name, value)| match fields.iter().find(|field| field.name == name) {
                    Some(field) => Some((name, seen(index, &field.ty, value))),
                    None if other(&name) => None,
                    None => Some((name, value)),
                });
            Value::Object(seen.collect())
        }
        (Shape::Union { tag, variants, .. }, value) => {
            let is = |name: &&&'static str| {
                let record = index.type_def(name);
                record.and_then(|record| crate::declaration::tag_of(record, tag)) == value[tag].as_str()
            };
            match variants.iter().find(is).and_then(|name| index.type_def(name)) {
                Some(record) => seen_type(index, record, value),
                None => value,
            }
        }
        (_, value) => value,
    }
}

fn members(index: &Index, record: Option<&str>, text: &str) -> Map<String, Value> {
    let value = parse(text);
    let value = match record.and_then(|name| index.type_def(name)) {
        Some(def) => seen_type(index, def, value),
        None => value,
    };
    value.as_object().cloned().unwrap_or_default()
}

/// Returns the command as a client sends it.
pub fn command_frame(index: &Index, command: &Command) -> Value {
    match index.framing() {
        Framing::JsonRpc { .. } => {
            let params = members(index, command.params, command.example);
            match command.answer {
                Answer::Never => json!({"jsonrpc": "2.0", "method": command.wire, "params": params}),
                _ => json!({"jsonrpc": "2.0", "id": 1, "method": command.wire, "params": params}),
            }
        }
        _ => {
            let mut frame =
                Map::from_iter([("id".to_owned(), json!("req-1")), ("type".to_owned(), json!(command.wire))]);
            frame.extend(members(index, command.params, command.example));
            Value::Object(frame)
        }
    }
}

/// Returns the response as a server sends it.
pub fn response_frame(index: &Index, command: &Command) -> Value {
    let data = command.example_result.map(parse);
    let data = data.map(|data| command.result.map_or(Value::Null, |ty| seen(index, &ty, data)));
    match index.framing() {
        Framing::JsonRpc { .. } => {
            json!({"jsonrpc": "2.0", "id": 1, "result": data.unwrap_or_else(|| json!({}))})
        }
        _ => {
            let mut frame = members(index, None, r#"{"id": "req-1", "type": "response"}"#);
            frame.insert("command".into(), json!(command.wire));
            frame.insert("success".into(), json!(true));
            let empty = index.revision.edges.empty_data.then(|| json!({}));
            if let Some(data) = data.or(empty) {
                frame.insert("data".into(), data);
            }
            Value::Object(frame)
        }
    }
}

/// Returns the event as a server sends it.
pub fn event_frame(index: &Index, event: &Event) -> Value {
    let payload = Value::Object(members(index, Some(event.payload.name), event.example));
    match index.framing() {
        Framing::Flat => payload,
        Framing::Enveloped => json!({"type": "event", "event": payload}),
        Framing::JsonRpc { notification } => {
            json!({"jsonrpc": "2.0", "method": notification, "params": payload})
        }
    }
}

/// Returns the question as a server sends it.
pub fn dialog_frame(index: &Index, dialog: &Dialog) -> Value {
    if let Some(frames) = dialog.frames {
        let head = [("type".to_owned(), json!(frames.request)), ("id".to_owned(), json!("uuid-1"))];
        let mut frame = Map::from_iter(head);
        frame.extend(members(index, Some(dialog.params.name), dialog.example));
        return Value::Object(frame);
    }
    match index.dialog_frames() {
        Some(frames) => {
            let mut frame = Map::from_iter([
                ("type".to_owned(), json!(frames.request)),
                ("id".to_owned(), json!("uuid-1")),
                ("method".to_owned(), json!(dialog.wire)),
            ]);
            frame.extend(members(index, Some(dialog.params.name), dialog.example));
            Value::Object(frame)
        }
        None => {
            let params = parse(dialog.example);
            match dialog.answer {
                Some(_) => json!({"jsonrpc": "2.0", "id": "s2c-1", "method": dialog.wire, "params": params}),
                None => json!({"jsonrpc": "2.0", "method": dialog.wire, "params": params}),
            }
        }
    }
}

/// Returns every example frame that a server sends.
pub fn server_frames(index: &Index) -> Vec<ExampleFrame> {
    let mut frames = Vec::new();
    for command in index.commands.iter().filter(|command| command.answer != Answer::Never) {
        frames.push(ExampleFrame {
            row: command.wire.to_owned(),
            frame: response_frame(index, command),
            answers: Some(command.wire),
        });
    }
    for event in &index.events {
        frames.push(ExampleFrame {
            row: event.name.to_owned(),
            frame: event_frame(index, event),
            answers: None,
        });
    }
    for dialog in &index.dialogs {
        frames.push(ExampleFrame {
            row: dialog.wire.to_owned(),
            frame: dialog_frame(index, dialog),
            answers: None,
        });
    }
    frames
}

/// Returns every example frame that a client sends.
pub fn client_frames(index: &Index) -> Vec<ExampleFrame> {
    index
        .commands
        .iter()
        .map(|command| ExampleFrame {
            row: command.wire.to_owned(),
            frame: command_frame(index, command),
            answers: None,
        })
        .collect()
}
