//! Declared members of a frame, which a test can damage. They are found by following the declaration through
//! the frame. Values of type `any` are never damaged.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use agentese_protocol::Index;
use agentese_protocol::dialect::Framing;
use agentese_protocol::index::declared_types;
use agentese_protocol::model::{ConstantValue, Field, Presence, Shape, Ty, TypeDef};
use serde_json::Value;

/// Returns every declared type.
pub fn types() -> &'static BTreeMap<&'static str, &'static TypeDef> {
    static TYPES: OnceLock<BTreeMap<&'static str, &'static TypeDef>> = OnceLock::new();
    TYPES.get_or_init(declared_types)
}

/// A step into a JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Member(String),
    Item(usize),
}

/// A declared member of a frame.
#[derive(Debug, Clone)]
pub struct Site {
    pub path: Vec<Step>,
    pub ty: Ty,
    pub presence: Presence,
    /// Name of the declaration, and declared path. Members of the same kind have the same declaration.
    pub kind: String,
}

/// The tag that selects a member of a union, in a frame.
#[derive(Debug, Clone)]
pub struct Tag {
    pub path: Vec<Step>,
    pub open: bool,
    pub kind: String,
}

#[derive(Default)]
pub struct Sites {
    pub members: Vec<Site>,
    pub tags: Vec<Tag>,
}

struct SiteWalker<'a> {
    index: &'a Index,
    sites: Sites,
}

/// Returns the declared members of a server's frame. In JSON-RPC, `method` is the answered method.
pub fn server(index: &Index, frame: &Value, method: Option<&str>) -> Sites {
    let mut walk = SiteWalker { index, sites: Sites::default() };
    let string = |name: &str| frame.get(name).and_then(Value::as_str);
    match index.dialect.framing {
        Framing::JsonRpc { .. } => match (string("method"), frame.get("result")) {
            (Some("agent/event"), _) => walk.event(&frame["params"], &[member("params")]),
            (Some(method), _) => {
                if let Some(dialog) = index.dialogs.iter().find(|dialog| dialog.wire == method) {
                    walk.record(dialog.params, &frame["params"], &[member("params")], dialog.wire);
                }
            }
            (None, Some(result)) => {
                let command = index.commands.iter().find(|command| Some(command.wire) == method);
                if let Some((command, ty)) = command.and_then(|command| Some((command, command.result?))) {
                    walk.value(&ty, result, &[member("result")], command.wire);
                }
            }
            _ => {}
        },
        framing => match string("type") {
            Some("response") => walk.response(frame),
            Some("event") if framing == Framing::Enveloped => walk.event(&frame["event"], &[member("event")]),
            Some(kind) if index.dialect.dialog_frames.is_some_and(|frames| frames.request == kind) => {
                let dialog = index.dialogs.iter().find(|dialog| Some(dialog.wire) == string("method"));
                if let Some(dialog) = dialog {
                    walk.site(&[member("id")], Ty::String, Presence::Required, "dialog");
                    walk.record(dialog.params, frame, &[], dialog.wire);
                }
            }
            _ => walk.event(frame, &[]),
        },
    }
    walk.sites
}

/// Returns the declared members of a client's frame.
pub fn client(index: &Index, frame: &Value) -> Sites {
    let mut walk = SiteWalker { index, sites: Sites::default() };
    let flat = !matches!(index.dialect.framing, Framing::JsonRpc { .. });
    let tag = if flat { "type" } else { "method" };
    let name = frame.get(tag).and_then(Value::as_str);
    if let Some(command) = index.commands.iter().find(|command| Some(command.wire) == name) {
        walk.sites.tags.push(Tag { path: vec![member(tag)], open: false, kind: "command".to_owned() });
        if let Some(def) = command.params.and_then(|params| index.type_def(params)) {
            match (flat, frame.get("params")) {
                (true, _) => walk.record(def, frame, &[], command.wire),
                (false, Some(params)) => walk.record(def, params, &[member("params")], command.wire),
                (false, None) => {}
            }
        }
    } else if index.dialect.dialog_frames.is_some_and(|frames| Some(frames.answer) == name) {
        walk.site(&[member("id")], Ty::String, Presence::Required, "answer");
    }
    walk.sites
}

fn member(name: &str) -> Step {
    Step::Member(name.to_owned())
}

fn join(path: &[Step], step: Step) -> Vec<Step> {
    path.iter().cloned().chain([step]).collect()
}

impl SiteWalker<'_> {
    fn site(&mut self, path: &[Step], ty: Ty, presence: Presence, row: &str) {
        let names: Vec<&str> = path
            .iter()
            .map(|step| match step {
                Step::Member(name) => name.as_str(),
                Step::Item(_) => "*",
            })
            .collect();
        let kind = format!("{row}:{}", names.join("."));
        self.sites.members.push(Site { path: path.to_vec(), ty, presence, kind });
    }

    fn response(&mut self, frame: &Value) {
        self.site(&[member("success")], Ty::Boolean, Presence::Required, "response");
        if frame["success"] != Value::Bool(true) {
            self.site(&[member("error")], Ty::String, Presence::Required, "failure");
            return;
        }
        let name = frame["command"].as_str();
        self.site(&[member("command")], Ty::String, Presence::Required, "response");
        let command = self.index.commands.iter().find(|command| Some(command.wire) == name);
        if let Some((command, ty)) = command.and_then(|command| Some((command, command.result?))) {
            let presence = if command.result_nullable { Presence::Nullable } else { Presence::Required };
            self.site(&[member("data")], ty, presence, command.wire);
            self.value(&ty, &frame["data"], &[member("data")], command.wire);
        }
    }

    fn event(&mut self, body: &Value, path: &[Step]) {
        let kind = body["type"].as_str();
        let open = self.index.dialect.events_open;
        if let Some(event) = self.index.events.iter().find(|event| Some(event.name) == kind) {
            self.sites.tags.push(Tag { path: join(path, member("type")), open, kind: "event".to_owned() });
            for field in self.index.dialect.event_members {
                self.field(field, body, path, event.name);
            }
            self.record(event.payload, body, path, event.name);
        }
    }

    fn record(&mut self, def: &TypeDef, value: &Value, path: &[Step], row: &str) {
        let Shape::Record { fields, .. } = def.shape else { return };
        for field in fields {
            self.field(field, value, path, row);
        }
    }

    fn field(&mut self, field: &Field, value: &Value, path: &[Step], row: &str) {
        let Some(inner) = value.get(field.name) else { return };
        let path = join(path, member(field.name));
        self.site(&path, field.ty, field.presence, row);
        self.value(&field.ty, inner, &path, row);
    }

    fn value(&mut self, ty: &Ty, value: &Value, path: &[Step], row: &str) {
        match ty {
            Ty::List(item) => {
                for (at, inner) in value.as_array().into_iter().flatten().enumerate() {
                    let path = join(path, Step::Item(at));
                    self.site(&path, **item, Presence::Required, row);
                    self.value(item, inner, &path, row);
                }
            }
            Ty::Map(item) => {
                for (name, inner) in value.as_object().into_iter().flatten() {
                    self.value(item, inner, &join(path, member(name)), row);
                }
            }
            Ty::Named(name) => {
                let Some(def) = types().get(name).copied() else { return };
                self.named(def, value, path, row);
            }
            _ => {}
        }
    }

    fn named(&mut self, def: &TypeDef, value: &Value, path: &[Step], row: &str) {
        match def.shape {
            Shape::Record { .. } if value.is_object() => self.record(def, value, path, row),
            Shape::Union { tag, open, variants } => {
                let Some(found) = value.get(tag).and_then(Value::as_str) else { return };
                let variant = variants.iter().filter_map(|name| types().get(name)).find(|variant| {
                    matches!(variant.shape, Shape::Record { constants, .. }
                        if constants.iter().any(|c| c.member == tag && c.value == ConstantValue::String(leak(found))))
                });
                if let Some(variant) = variant {
                    self.sites.tags.push(Tag {
                        path: join(path, member(tag)),
                        open,
                        kind: def.name.to_owned(),
                    });
                    self.record(variant, value, path, &format!("{row}/{}", variant.name));
                }
            }
            Shape::Choice { alternatives } => {
                // The alternative is selected by its JSON kind; records were handled above.
                for arm in alternatives {
                    if matches!((&arm.ty, value), (Ty::List(_), Value::Array(_))) {
                        self.value(&arm.ty, value, path, row);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Makes a text `'static`, as declarations require. The memory is never freed, which is acceptable for the
/// few tags of a test run.
fn leak(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

/// Replaces the value at a path, or removes the member if the value is `None`. Returns `false` if the path
/// does not exist.
pub fn put(frame: &mut Value, path: &[Step], value: Option<Value>) -> bool {
    let Some((last, before)) = path.split_last() else { return false };
    let mut at = frame;
    for step in before {
        let next = match step {
            Step::Member(name) => at.get_mut(name),
            Step::Item(item) => at.get_mut(item),
        };
        let Some(next) = next else { return false };
        at = next;
    }
    match (last, value) {
        (Step::Member(name), None) => {
            at.as_object_mut().is_some_and(|members| members.shift_remove(name).is_some())
        }
        (Step::Member(name), Some(value)) => {
            at[name] = value;
            true
        }
        (Step::Item(item), Some(value)) => {
            at[item] = value;
            true
        }
        (Step::Item(_), None) => false,
    }
}
