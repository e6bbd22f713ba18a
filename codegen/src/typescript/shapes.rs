//! The declared types as a table, for checks of values at run time.

use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::model::{Field, Shape, Ty, TypeDef};

use super::types::{constant_value, declared};
use super::{banner, key, quote};
use crate::declaration::tag_of;

pub fn file(dialects: &[Index]) -> String {
    let mut out = banner("The declared types as a table, for checking values at run time.");
    out.push_str("import type { FrameTypes, Shapes } from \"../check.js\";\n\n/** Every declared type. */\nexport const shapes: Shapes = {\n");
    let defs = declared(dialects);
    for (name, (def, common)) in &defs {
        let _ =
            writeln!(out, "  {name}: {},", shape(def, common, &|name| defs.get(name).map(|(def, _)| *def)));
    }
    out.push_str("};\n");
    frames(&mut out, dialects);
    out
}

/// Adds the declared types of the frames that agents send.
fn frames(out: &mut String, dialects: &[Index]) {
    out.push_str(
        "\n/** The declared types of the frames that agents of each dialect send. */\n\
         export const frames: Readonly<Record<string, FrameTypes>> = {\n",
    );
    for index in dialects {
        let _ = writeln!(out, "  {}: {{\n    answers: {{", key(index.dialect.name));
        for command in &index.commands {
            let Some(ty) = &command.result else { continue };
            let nullable = match (command.result_nullable, command.result_optional) {
                (true, _) => ", nullable: true",
                (_, true) => ", optional: true",
                _ => "",
            };
            let _ = writeln!(out, "      {}: {{ type: {}{nullable} }},", key(command.wire), type_code(ty));
        }
        out.push_str("    },\n    events: {\n");
        for event in &index.events {
            let _ = writeln!(out, "      {}: {},", key(event.name), quote(event.payload.name));
        }
        out.push_str("    },\n    dialogs: {\n");
        for dialog in &index.dialogs {
            let _ = writeln!(out, "      {}: {},", key(dialog.wire), quote(dialog.params.name));
        }
        out.push_str("    },\n  },\n");
    }
    out.push_str("};\n");
}

fn shape<'a>(def: &TypeDef, common: &[Field], find: &impl Fn(&str) -> Option<&'a TypeDef>) -> String {
    match def.shape {
        Shape::Record { constants, fields } => {
            let mut members: Vec<String> = constants
                .iter()
                .map(|constant| {
                    format!("{}: {{ value: {} }}", key(constant.member), constant_value(constant.value))
                })
                .collect();
            members.extend(
                common.iter().chain(fields).map(|field| format!("{}: {}", key(field.name), member(field))),
            );
            format!("{{ members: {{ {} }} }}", members.join(", "))
        }
        Shape::Union { tag, open, variants } => {
            let arms: Vec<String> = variants
                .iter()
                .filter_map(|name| Some(format!("{}: {}", key(tag_of(find(name)?, tag)?), quote(name))))
                .collect();
            format!("{{ tag: {}, open: {open}, variants: {{ {} }} }}", quote(tag), arms.join(", "))
        }
        Shape::Choice { alternatives } => {
            let arms: Vec<String> = alternatives.iter().map(|arm| type_code(&arm.ty)).collect();
            format!("{{ choice: [{}] }}", arms.join(", "))
        }
        Shape::Strings { open, values } => {
            let values: Vec<String> = values.iter().map(|value| quote(value.value)).collect();
            format!("{{ open: {open}, strings: [{}] }}", values.join(", "))
        }
    }
}

fn member(field: &Field) -> String {
    let mut out = format!("{{ type: {}", type_code(&field.ty));
    if !field.presence.is_required() {
        out.push_str(", optional: true");
    }
    if field.presence.is_nullable() {
        out.push_str(", nullable: true");
    }
    out + " }"
}

/// Returns the code of a type in the table: the name of a primitive type, or an object that refers to other
/// types.
pub fn type_code(ty: &Ty) -> String {
    match ty {
        Ty::String => "\"string\"".to_owned(),
        Ty::Boolean => "\"boolean\"".to_owned(),
        Ty::Integer => "\"integer\"".to_owned(),
        Ty::Count => "\"count\"".to_owned(),
        Ty::Number => "\"number\"".to_owned(),
        Ty::Any => "\"any\"".to_owned(),
        Ty::Object => "\"object\"".to_owned(),
        Ty::List(item) => format!("{{ list: {} }}", type_code(item)),
        Ty::Map(value) => format!("{{ map: {} }}", type_code(value)),
        Ty::Named(name) => format!("{{ is: {} }}", quote(name)),
    }
}
