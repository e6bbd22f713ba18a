//! The shared types.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::index::{declared_types, shared_types};
use agentese_protocol::model::{ConstantValue, Field, Presence, Shape, Ty, TypeDef};

use super::{banner, docs};
use crate::names::{pascal, rust_field};

/// Types that no dialect has: those of files, and what the agent and its extensions say to each other.
pub const FORMATS: &[&str] = &[
    "TranscriptRecord",
    "ModelScript",
    "Scenario",
    "Profile",
    "ExpectedFailures",
    "ModelRequest",
    "SuiteReport",
    "HostFrame",
    "ExtensionFrame",
    "HostAnswers",
    "HookAnswers",
    "ExtensionAnswers",
    "DriverInstruction",
    "DriverReport",
];

/// Those that the TypeScript package has too: what stands in between a client and its tests.
pub const SHARED_FORMATS: &[&str] = &["TranscriptRecord", "ModelScript"];

pub fn file(dialects: &[Index]) -> String {
    let mut defs: BTreeMap<&str, (&TypeDef, &[Field])> = BTreeMap::new();
    for index in dialects {
        for (name, def) in &index.types {
            let is_event = index.events.iter().any(|event| event.payload.name == *name);
            let common = if is_event { index.dialect.event_members } else { &[] };
            defs.insert(name, (def, common));
        }
    }
    for root in FORMATS {
        for (name, def) in shared_types(root) {
            defs.insert(name, (def, &[]));
        }
    }
    let mut out = banner("Every declared type, once; the modules of the dialects name those that they use.");
    out.push_str("use crate::wire::{choice, record, strings, tagged};\n");
    for (def, common) in defs.values() {
        out.push('\n');
        type_def(&mut out, def, common);
    }
    out
}

fn type_def(out: &mut String, def: &TypeDef, common: &[Field]) {
    match def.shape {
        Shape::Record { constants, fields } => {
            out.push_str("record! {\n");
            docs(out, "    ", def.doc);
            let constants: Vec<String> = constants
                .iter()
                .map(|constant| match constant.value {
                    ConstantValue::String(text) => format!("{:?} = {text:?}", constant.member),
                    ConstantValue::Boolean(flag) => format!("{:?} = {flag}", constant.member),
                })
                .collect();
            let _ = writeln!(out, "    pub struct {}({}) {{", def.name, constants.join(", "));
            let fields: Vec<&Field> = common.iter().chain(fields).collect();
            for field in &fields {
                docs(out, "        ", field.doc);
                let _ = writeln!(
                    out,
                    "        {} {}: {} = {:?},",
                    presence(field.presence),
                    rust_field(field.name),
                    rust_type(&field.ty),
                    field.name
                );
            }
            out.push_str("    }\n}\n");
            constructor(out, def.name, &fields);
        }
        Shape::Union { tag, open, variants } => {
            out.push_str("tagged! {\n");
            docs(out, "    ", def.doc);
            let open = if open { "open" } else { "closed" };
            let _ = writeln!(out, "    pub enum {} by {tag:?} {open} {{", def.name);
            let declared = declared_types();
            for variant in variants {
                let Some(record) = declared.get(variant) else { continue };
                let Some(value) = tag_of(record, tag) else { continue };
                docs(out, "        ", record.doc);
                let _ = writeln!(out, "        {}({variant}) = {value:?},", pascal(value));
            }
            out.push_str("    }\n}\n");
        }
        Shape::Choice { alternatives } => {
            out.push_str("choice! {\n");
            docs(out, "    ", def.doc);
            let _ = writeln!(out, "    pub enum {} {{", def.name);
            for arm in alternatives {
                let _ = writeln!(out, "        {}({}) {},", arm.name, rust_type(&arm.ty), arm_kind(&arm.ty));
            }
            out.push_str("    }\n}\n");
        }
        Shape::Strings { open, values } => {
            out.push_str("strings! {\n");
            docs(out, "    ", def.doc);
            let open = if open { "open" } else { "closed" };
            let _ = writeln!(out, "    pub enum {} {open} {{", def.name);
            for value in values {
                docs(out, "        ", value.doc);
                let _ = writeln!(out, "        {} = {:?},", pascal(value.value), value.value);
            }
            out.push_str("    }\n}\n");
        }
    }
}

/// The value of a record's tag.
pub fn tag_of(def: &TypeDef, tag: &str) -> Option<&'static str> {
    let Shape::Record { constants, .. } = def.shape else { return None };
    constants.iter().find(|constant| constant.member == tag).and_then(|constant| match constant.value {
        ConstantValue::String(text) => Some(text),
        ConstantValue::Boolean(_) => None,
    })
}

fn arm_kind(ty: &Ty) -> &'static str {
    match ty {
        Ty::String => "Text",
        Ty::Boolean => "Flag",
        Ty::List(_) => "Array",
        Ty::Object | Ty::Map(_) => "Object",
        _ => "Members",
    }
}

fn presence(presence: Presence) -> &'static str {
    match presence {
        Presence::Required => "required",
        Presence::Optional => "optional",
        Presence::Nullable => "nullable",
        Presence::OptionalNullable => "maybe",
    }
}

/// The Rust type of a value.
pub fn rust_type(ty: &Ty) -> String {
    match ty {
        Ty::String => "String".to_owned(),
        Ty::Boolean => "bool".to_owned(),
        Ty::Integer => "i64".to_owned(),
        Ty::Count => "u64".to_owned(),
        Ty::Number => "serde_json::Number".to_owned(),
        Ty::Any => "serde_json::Value".to_owned(),
        Ty::Object => "serde_json::Map<String, serde_json::Value>".to_owned(),
        Ty::List(item) => format!("Vec<{}>", rust_type(item)),
        Ty::Map(value) => format!("std::collections::BTreeMap<String, {}>", rust_type(value)),
        Ty::Named(name) => (*name).to_owned(),
    }
}

/// An argument of a constructor or helper, and what is stored of it.
pub fn argument(field: &Field) -> (String, String) {
    let name = rust_field(field.name);
    match (field.presence, &field.ty) {
        (Presence::Nullable, ty) => (format!("{name}: Option<{}>", rust_type(ty)), name),
        (_, Ty::String) => (format!("{name}: impl Into<String>"), format!("{name}.into()")),
        (_, ty @ Ty::Named(_)) if is_choice(ty) => {
            (format!("{name}: impl Into<{}>", rust_type(ty)), format!("{name}.into()"))
        }
        (_, ty) => (format!("{name}: {}", rust_type(ty)), name),
    }
}

fn is_choice(ty: &Ty) -> bool {
    let Ty::Named(name) = ty else { return false };
    declared_types()
        .get(name)
        .is_some_and(|def| matches!(def.shape, Shape::Choice { .. } | Shape::Union { .. }))
}

fn constructor(out: &mut String, name: &str, fields: &[&Field]) {
    let required: Vec<_> = fields.iter().filter(|field| field.presence.is_required()).collect();
    let arguments: Vec<_> = required.iter().map(|field| argument(field)).collect();
    let signature: Vec<&str> = arguments.iter().map(|(parameter, _)| parameter.as_str()).collect();
    let _ = writeln!(out, "\nimpl {name} {{");
    let what = if required.is_empty() {
        "A value without its optional members."
    } else {
        "A value of the required members; the others can be set on it."
    };
    let _ = writeln!(out, "    /// {what}");
    if signature.len() > 6 {
        out.push_str("    #[allow(clippy::too_many_arguments)]\n");
    }
    let _ = writeln!(out, "    pub fn new({}) -> Self {{", signature.join(", "));
    out.push_str("        Self {\n");
    for field in fields {
        let value = match field.presence {
            Presence::Required | Presence::Nullable => argument(field).1,
            Presence::Optional => "None".to_owned(),
            Presence::OptionalNullable => "crate::wire::Maybe::Absent".to_owned(),
        };
        let field = rust_field(field.name);
        if field == value {
            let _ = writeln!(out, "            {field},");
        } else {
            let _ = writeln!(out, "            {field}: {value},");
        }
    }
    out.push_str("            extra: crate::wire::Extra::default(),\n        }\n    }\n}\n");
    if required.is_empty() {
        let _ = writeln!(
            out,
            "\nimpl Default for {name} {{\n    fn default() -> Self {{\n        Self::new()\n    }}\n}}"
        );
    }
}
