//! Every declared type, once.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::index::shared_types;
use agentese_protocol::model::{ConstantValue, Field, Presence, Shape, Ty, TypeDef};

use super::{banner, docs, quote};
use crate::declaration::SHARED_FORMATS;

/// Returns the types of all dialects and file formats. Each type has the members that its dialect adds to all
/// events.
pub fn declared(dialects: &[Index]) -> BTreeMap<&str, (&TypeDef, &[Field])> {
    let mut defs: BTreeMap<&str, (&TypeDef, &[Field])> = BTreeMap::new();
    for index in dialects {
        for (name, def) in &index.types {
            let is_event = index.events.iter().any(|event| event.payload.name == *name);
            let common = if is_event { index.dialect.event_members } else { &[] };
            defs.insert(name, (def, common));
        }
    }
    for root in SHARED_FORMATS {
        for (name, def) in shared_types(root) {
            defs.insert(name, (def, &[]));
        }
    }
    defs
}

pub fn file(dialects: &[Index]) -> String {
    let mut out = banner("Every declared type, once.");
    out.push_str(
        "/** Any JSON value. */\nexport type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;\n\n\
         /** Any JSON object. */\nexport interface JsonObject {\n  [member: string]: JsonValue;\n}\n\n\
         /** Parameters of a command without parameters. */\nexport type NoParams = Record<string, never>;\n\n\
         /** An undeclared tag. At run time it is a string. */\ndeclare enum UnknownTag {\n  Unknown = \"(unknown)\",\n}\n\n\
         /** A value with an undeclared tag: newer than the declaration, or foreign. */\n\
         export type UnknownVariant<Tag extends string = \"type\"> = { readonly [K in Tag]: UnknownTag } & {\n  readonly [member: string]: JsonValue;\n};\n",
    );
    for (def, common) in declared(dialects).values() {
        out.push('\n');
        type_def(&mut out, def, common);
    }
    out
}

pub(super) fn type_def(out: &mut String, def: &TypeDef, common: &[Field]) {
    let more: Vec<String> = match def.shape {
        Shape::Union { tag, open: true, .. } => {
            vec![format!(
                "Open: a newer agent may send a `{tag}` that is not listed here, as an {{@link UnknownVariant}}."
            )]
        }
        _ => Vec::new(),
    };
    docs(out, "", def.doc, &more);
    let name = def.name;
    match def.shape {
        Shape::Record { constants, fields } => {
            let _ = writeln!(out, "export interface {name} {{");
            for constant in constants {
                let _ = writeln!(out, "  {}: {};", constant.member, constant_value(constant.value));
            }
            for field in common.iter().chain(fields) {
                member(out, field);
            }
            out.push_str("}\n");
        }
        Shape::Union { tag, open, variants } => {
            let mut variants: Vec<String> = variants.iter().map(|name| (*name).to_owned()).collect();
            if open {
                variants.push(format!("UnknownVariant<{}>", quote(tag)));
            }
            let _ = writeln!(out, "export type {name} =\n  | {};", variants.join("\n  | "));
        }
        Shape::Choice { alternatives } => {
            let arms: Vec<String> = alternatives.iter().map(|arm| type_name(&arm.ty)).collect();
            let _ = writeln!(out, "export type {name} = {};", arms.join(" | "));
        }
        Shape::Strings { open, values } => {
            let mut arms: Vec<String> = values.iter().map(|value| quote(value.value)).collect();
            if open {
                arms.push("(string & {})".to_owned());
            }
            let _ = writeln!(out, "export type {name} = {};", arms.join(" | "));
        }
    }
}

pub fn constant_value(value: ConstantValue) -> String {
    match value {
        ConstantValue::String(text) => quote(text),
        ConstantValue::Boolean(flag) => flag.to_string(),
    }
}

fn member(out: &mut String, field: &Field) {
    docs(out, "  ", field.doc, &[]);
    let (mark, null) = match field.presence {
        Presence::Required => ("", ""),
        Presence::Optional => ("?", " | undefined"),
        Presence::Nullable => ("", " | null"),
        Presence::OptionalNullable => ("?", " | null | undefined"),
    };
    let _ = writeln!(out, "  {}{mark}: {}{null};", field.name, type_name(&field.ty));
}

/// Returns the TypeScript type of a value.
pub fn type_name(ty: &Ty) -> String {
    match ty {
        Ty::String => "string".to_owned(),
        Ty::Boolean => "boolean".to_owned(),
        Ty::Integer | Ty::Count | Ty::Number => "number".to_owned(),
        Ty::Any => "JsonValue".to_owned(),
        Ty::Object => "JsonObject".to_owned(),
        Ty::List(item) => match **item {
            Ty::Map(_) => format!("Array<{}>", type_name(item)),
            _ => format!("{}[]", type_name(item)),
        },
        Ty::Map(value) => format!("Record<string, {}>", type_name(value)),
        Ty::Named(name) => (*name).to_owned(),
    }
}
