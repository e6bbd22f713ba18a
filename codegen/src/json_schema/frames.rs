//! The frames of one side of a dialect, which the root of a schema accepts.

use std::collections::BTreeMap;

use agentese_protocol::Index;
use agentese_protocol::dialect::Framing;
use agentese_protocol::model::{Answer, Command, Dialog, Shape, Ty, TypeDef};
use serde_json::{Map, Value, json};

use crate::names::{doc_lines, pascal};

use super::{Draft, Side, field_schema, nullable, object, type_schema, unknown_arm, value_schema};

/// The parts of a schema.
pub(super) struct Frames<'a> {
    index: &'a Index,
    draft: Draft,
    /// The definitions, including unused ones.
    pub defs: BTreeMap<String, Value>,
    /// Further members of the root.
    pub extra: Map<String, Value>,
    /// The definitions that the root accepts.
    pub roots: Vec<String>,
}

impl<'a> Frames<'a> {
    /// Returns the frames that one side of a dialect may send.
    pub fn of(index: &'a Index, side: Side, draft: Draft) -> Self {
        let mut frames = Self { index, draft, defs: BTreeMap::new(), extra: Map::new(), roots: Vec::new() };
        for def in index.types.values() {
            frames.define_type(def);
        }
        frames.roots = match (side, index.framing()) {
            (Side::Server, Framing::JsonRpc { notification }) => frames.json_rpc_server(notification),
            (Side::Server, framing) => frames.flat_server(framing == Framing::Enveloped),
            (Side::Client, Framing::JsonRpc { .. }) => frames.json_rpc_client(),
            (Side::Client, _) => frames.flat_client(),
        };
        frames
    }

    fn define_type(&mut self, def: &TypeDef) {
        let is_event = self.index.events.iter().any(|event| event.payload.name == def.name);
        let before = if is_event { self.index.dialect.event_members } else { &[] };
        self.defs.insert(def.name.to_owned(), type_schema(def, before, self.draft));
    }

    fn define(&mut self, name: impl Into<String>, schema: Value) -> String {
        let name = name.into();
        self.defs.insert(name.clone(), schema);
        name
    }

    fn one_of(&mut self, name: &str, doc: &str, arms: &[String], open: Option<Value>) -> String {
        let mut schemas: Vec<Value> = arms.iter().map(|arm| self.draft.reference(arm)).collect();
        schemas.extend(open);
        self.define(name, json!({"description": doc, "oneOf": schemas}))
    }

    /// Returns the schema of a frame: a record with the members of `before`, followed by the parameters.
    fn frame(&self, before: Vec<(&str, Value)>, required: &[&str], params: Option<&str>, doc: &str) -> Value {
        let mut properties: Map<String, Value> =
            before.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
        let mut required: Vec<&str> = required.to_vec();
        if let Some(def) = params.and_then(|name| self.index.type_def(name))
            && let Shape::Record { fields, .. } = def.shape
        {
            for field in fields {
                properties.insert(field.name.to_owned(), field_schema(field, self.draft));
                if field.presence.is_required() {
                    required.push(field.name);
                }
            }
        }
        let mut frame = object(properties, &required);
        if let Value::Object(members) = &mut frame {
            members.insert("description".into(), json!(doc));
        }
        frame
    }

    fn data(&self, command: &Command) -> Option<Value> {
        let schema = value_schema(&command.result?, self.draft);
        Some(if command.result_nullable { nullable(schema) } else { schema })
    }

    fn flat_server(&mut self, enveloped: bool) -> Vec<String> {
        let draft = self.draft;
        let mut responses = Vec::new();
        for command in self.index.commands.clone() {
            let mut before = vec![
                ("id", json!({"description": "The id of the command, as it came."})),
                ("type", draft.constant(json!("response"))),
                ("command", draft.constant(json!(command.wire))),
                ("success", draft.constant(json!(true))),
            ];
            let mut required = vec!["type", "command", "success"];
            if let Some(data) = self.data(command) {
                before.push(("data", data));
                required.push("data");
            }
            let doc = format!("The answer to `{}`.", command.wire);
            let frame = self.frame(before, &required, None, &doc);
            responses.push(self.define(format!("{}Response", pascal(command.name)), frame));
        }
        let failure = self.frame(
            vec![
                ("id", json!({"description": "The id of the command, as it came."})),
                ("type", draft.constant(json!("response"))),
                ("command", json!({"type": "string", "description": "The command that failed, or `parse`."})),
                ("success", draft.constant(json!(false))),
                ("error", json!({"type": "string", "description": "What went wrong."})),
            ],
            &["type", "success", "error"],
            None,
            "A command failed, or a line could not be read.",
        );
        responses.push(self.define("FailureResponse", failure));
        let response = self.one_of("Response", "The answer to a command.", &responses, None);
        let mut roots = vec![response];
        let event = self.events();
        if enveloped {
            let frame = self.frame(
                vec![("type", draft.constant(json!("event"))), ("event", draft.reference(&event))],
                &["type", "event"],
                None,
                "An event in its envelope.",
            );
            roots.push(self.define("EventFrame", frame));
        } else {
            roots.push(event);
        }
        if let Some(frames) = self.index.dialog_frames() {
            let mut arms = Vec::new();
            let (own, shared): (Vec<&Dialog>, Vec<&Dialog>) =
                self.index.dialogs.iter().partition(|dialog| dialog.frames.is_some());
            for dialog in &shared {
                let frame = self.frame(
                    vec![
                        ("type", draft.constant(json!(frames.request))),
                        ("id", json!({"type": "string", "description": "What the answer has to carry."})),
                        ("method", draft.constant(json!(dialog.wire))),
                    ],
                    &["type", "id", "method"],
                    Some(dialog.params.name),
                    &doc_lines(dialog.doc).join("\n"),
                );
                arms.push(self.define(format!("{}Request", pascal(dialog.name)), frame));
            }
            for dialog in own {
                let Some(frames) = dialog.frames else { continue };
                let name = format!("{}Request", pascal(dialog.name));
                let frame = self.dialog_frame(frames.request, dialog.params.name, dialog.doc);
                roots.push(self.define(name, frame));
            }
            let methods: Vec<&str> = shared.iter().map(|dialog| dialog.wire).collect();
            let mut open = unknown_arm("method", &methods, draft);
            open["properties"]["type"] = draft.constant(json!(frames.request));
            open["properties"]["id"] = json!({"type": "string"});
            open["required"] = json!(["type", "id", "method"]);
            roots.push(self.one_of("DialogRequest", "A question or notice for the user.", &arms, Some(open)));
        }
        roots
    }

    /// Returns the schema of one of a dialog's frames: its question, its answer, or a frame between the two.
    fn dialog_frame(&self, kind: &str, members: &str, doc: &str) -> Value {
        self.frame(
            vec![
                ("type", self.draft.constant(json!(kind))),
                ("id", json!({"type": "string", "description": "What question and answer have in common."})),
            ],
            &["type", "id"],
            Some(members),
            &doc_lines(doc).join("\n"),
        )
    }

    fn events(&mut self) -> String {
        let arms: Vec<String> = self.index.events.iter().map(|event| event.payload.name.to_owned()).collect();
        let mut tags: Vec<&str> = self.index.events.iter().map(|event| event.name).collect();
        tags.push("response");
        tags.extend(self.index.dialog_frames().map(|frames| frames.request));
        tags.extend(
            self.index.dialogs.iter().filter_map(|dialog| dialog.frames.map(|frames| frames.request)),
        );
        let open = self.index.dialect.events_open.then(|| unknown_arm("type", &tags, self.draft));
        self.one_of("Event", "What the agent sends without being asked.", &arms, open)
    }

    fn flat_client(&mut self) -> Vec<String> {
        let draft = self.draft;
        let mut arms = Vec::new();
        for command in self.index.commands.clone() {
            let frame = self.frame(
                vec![
                    ("id", json!({"description": "Comes back with the answer."})),
                    ("type", draft.constant(json!(command.wire))),
                ],
                &["type"],
                command.params,
                &doc_lines(command.doc).join("\n"),
            );
            arms.push(self.define(format!("{}Command", pascal(command.name)), frame));
        }
        let mut roots = vec![self.one_of("Command", "A command.", &arms, None)];
        roots.extend(self.index.dialog_answer().map(str::to_owned));
        for dialog in self.index.dialogs.clone() {
            let Some(frames) = dialog.frames else { continue };
            if let (Some(kind), Some(Ty::Named(members))) = (frames.answer, dialog.answer) {
                let frame = self.dialog_frame(kind, members, "The answer to a question.");
                roots.push(self.define(format!("{}Answer", pascal(dialog.name)), frame));
            }
            if let Some((kind, Ty::Named(members))) = frames.progress {
                let frame = self.dialog_frame(kind, members, "What there is to show before the answer.");
                roots.push(self.define(format!("{}Progress", pascal(dialog.name)), frame));
            }
        }
        roots
    }

    fn json_rpc(&self, before: Vec<(&str, Value)>, required: &[&str], doc: &str) -> Value {
        let mut members = vec![("jsonrpc", self.draft.constant(json!("2.0")))];
        members.extend(before);
        let mut all = vec!["jsonrpc"];
        all.extend(required);
        self.frame(members, &all, None, doc)
    }

    fn json_rpc_failure(&mut self) -> String {
        let frame = self.json_rpc(
            vec![
                ("id", json!({"description": "The id of the request, or null."})),
                ("error", self.draft.reference(&format!("{}Error", pascal(self.index.dialect.name)))),
            ],
            &["id", "error"],
            "A request failed.",
        );
        self.define("Failure", frame)
    }

    fn json_rpc_success(&mut self) -> String {
        let frame = self.json_rpc(
            vec![
                ("id", json!({"description": "The id of the request."})),
                (
                    "result",
                    json!({"type": "object", "description": "What the method gives; see `x-results`."}),
                ),
            ],
            &["id", "result"],
            "A request succeeded.",
        );
        self.define("Success", frame)
    }

    fn json_rpc_server(&mut self, notification: &str) -> Vec<String> {
        let draft = self.draft;
        let mut results = Map::new();
        for command in self.index.commands.clone() {
            if let Some(data) = self.data(command) {
                results.insert(command.wire.to_owned(), data);
            }
        }
        if draft == Draft::Modern {
            self.extra.insert("x-results".into(), Value::Object(results));
        }
        let mut roots = vec![self.json_rpc_success(), self.json_rpc_failure()];
        if !self.index.events.is_empty() {
            let event = self.events();
            let frame = self.json_rpc(
                vec![("method", draft.constant(json!(notification))), ("params", draft.reference(&event))],
                &["method", "params"],
                "An event.",
            );
            roots.push(self.define("EventNotification", frame));
        }
        for dialog in self.index.dialogs.clone() {
            let mut before = vec![
                ("method", draft.constant(json!(dialog.wire))),
                ("params", draft.reference(dialog.params.name)),
            ];
            let mut required = vec!["method", "params"];
            // A dialog without an answer is a notification.
            let name = match dialog.answer.is_some() {
                true => {
                    let id = json!({"type": ["string", "integer"], "description": "What the answer has to carry."});
                    before.insert(0, ("id", id));
                    required.insert(0, "id");
                    "Request"
                }
                false => "Notification",
            };
            let frame = self.json_rpc(before, &required, &doc_lines(dialog.doc).join("\n"));
            roots.push(self.define(format!("{}{name}", pascal(dialog.name)), frame));
        }
        roots
    }

    fn json_rpc_client(&mut self) -> Vec<String> {
        let draft = self.draft;
        let mut roots = Vec::new();
        for command in self.index.commands.clone() {
            let mut before = vec![("method", draft.constant(json!(command.wire)))];
            let mut required = vec!["method"];
            let mut name = "Notification";
            if command.answer != Answer::Never {
                before.insert(0, ("id", json!({"description": "Comes back with the answer."})));
                required.insert(0, "id");
                name = "Request";
            }
            if let Some(params) = command.params {
                before.push(("params", draft.reference(params)));
                if has_required(self.index, params) {
                    required.push("params");
                }
            } else {
                before.push(("params", json!({"type": ["object", "null"]})));
            }
            let frame = self.json_rpc(before, &required, &doc_lines(command.doc).join("\n"));
            roots.push(self.define(format!("{}{name}", pascal(command.name)), frame));
        }
        let results: Vec<Value> = self
            .index
            .dialogs
            .iter()
            .filter_map(|dialog| dialog.answer.map(|ty| value_schema(&ty, draft)))
            .collect();
        let frame = self.json_rpc(
            vec![
                ("id", json!({"type": ["string", "integer"], "description": "The id of the question."})),
                ("result", json!({"anyOf": results})),
            ],
            &["id", "result"],
            "The answer to a question of the server.",
        );
        roots.push(self.define("DialogResult", frame));
        roots.push(self.json_rpc_failure());
        roots
    }
}

fn has_required(index: &Index, params: &str) -> bool {
    match index.type_def(params).map(|def| def.shape) {
        Some(Shape::Record { fields, .. }) => fields.iter().any(|field| field.presence.is_required()),
        _ => false,
    }
}
