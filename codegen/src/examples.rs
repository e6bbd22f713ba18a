//! Whole frames from the examples of the declaration, in the framing of each dialect.

use agentese_protocol::Index;
use agentese_protocol::dialect::Framing;
use agentese_protocol::model::{Command, Dialog, Event};
use serde_json::{Map, Value, json};

/// A frame made from a row's example.
#[derive(Debug, Clone)]
pub struct ExampleFrame {
    /// The row's wire name.
    pub row: String,
    /// The frame.
    pub frame: Value,
    /// The method that it answers, where the frame does not say (JSON-RPC).
    pub answers: Option<&'static str>,
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

fn members(text: &str) -> Map<String, Value> {
    parse(text).as_object().cloned().unwrap_or_default()
}

/// The command as a client sends it.
pub fn command_frame(index: &Index, command: &Command) -> Value {
    match index.dialect.framing {
        Framing::JsonRpc { .. } => {
            json!({"jsonrpc": "2.0", "id": 1, "method": command.wire, "params": parse(command.example)})
        }
        _ => {
            let mut frame =
                Map::from_iter([("id".to_owned(), json!("req-1")), ("type".to_owned(), json!(command.wire))]);
            frame.extend(members(command.example));
            Value::Object(frame)
        }
    }
}

/// The answer as a server sends it.
pub fn response_frame(index: &Index, command: &Command) -> Value {
    let data = command.example_result.map(parse);
    match index.dialect.framing {
        Framing::JsonRpc { .. } => {
            json!({"jsonrpc": "2.0", "id": 1, "result": data.unwrap_or_else(|| json!({}))})
        }
        _ => {
            let mut frame = members(r#"{"id": "req-1", "type": "response"}"#);
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

/// The event as a server sends it.
pub fn event_frame(index: &Index, event: &Event) -> Value {
    let payload = parse(event.example);
    match index.dialect.framing {
        Framing::Flat => payload,
        Framing::Enveloped => json!({"type": "event", "event": payload}),
        Framing::JsonRpc { notification } => {
            json!({"jsonrpc": "2.0", "method": notification, "params": payload})
        }
    }
}

/// The question as a server sends it.
pub fn dialog_frame(index: &Index, dialog: &Dialog) -> Value {
    match index.dialect.dialog_frames {
        Some(frames) => {
            let mut frame = Map::from_iter([
                ("type".to_owned(), json!(frames.request)),
                ("id".to_owned(), json!("uuid-1")),
                ("method".to_owned(), json!(dialog.wire)),
            ]);
            frame.extend(members(dialog.example));
            Value::Object(frame)
        }
        None => {
            json!({"jsonrpc": "2.0", "id": "s2c-1", "method": dialog.wire, "params": parse(dialog.example)})
        }
    }
}

/// Every example frame that a server sends.
pub fn server_frames(index: &Index) -> Vec<ExampleFrame> {
    let mut frames = Vec::new();
    for command in &index.commands {
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

/// Every example frame that a client sends.
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
