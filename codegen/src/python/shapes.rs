//! JSON shapes: a TypedDict for every declared record, with the member names of the wire.

use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::model::{Field, Presence, Shape, TypeDef};

use super::literal::{constant, is_keyword, quote};
use super::{banner, docs, ty};
use crate::typescript::declared;

/// Returns the module, which contains only types and no runtime code.
pub fn module(dialects: &[Index]) -> String {
    let defs = declared(dialects);
    let mut out = banner("JSON shapes of every declared type, with the names of the wire.");
    // pydantic needs the TypedDict of typing_extensions before Python 3.12.
    out.push_str(
        "from collections.abc import Mapping, Sequence\nfrom typing import TYPE_CHECKING, Literal, NotRequired, TypeAlias\n\n\
         from agentese.values import JsonObject as JsonObject\nfrom agentese.values import JsonValue as JsonValue\n\n\
         if TYPE_CHECKING:\n    from typing import TypedDict\nelse:\n    from agentese.values import TypedDict\n",
    );
    // Aliases are values that other programs read as types, so they follow the types that they name.
    for rank in 0..4 {
        for (def, common) in defs.values().filter(|(def, _)| standing(def) == rank) {
            shape(&mut out, def, common, rank > 0);
        }
    }
    out
}

/// Returns the number of the group in which a type is defined; groups follow each other in this order.
fn standing(def: &TypeDef) -> u8 {
    match def.shape {
        Shape::Record { .. } => 0,
        Shape::Strings { .. } => 1,
        Shape::Union { .. } => 2,
        Shape::Choice { .. } => 3,
    }
}

/// Adds a type with its shape. With `behind`, the types that it refers to are already defined.
pub(super) fn shape(out: &mut String, def: &TypeDef, common: &[Field], behind: bool) {
    let name = def.name;
    let quotes = if behind { "" } else { "\"" };
    match def.shape {
        Shape::Record { constants, fields } => {
            // A class cannot have a member with the name of a keyword.
            if common.iter().chain(fields).any(|field| is_keyword(field.name)) {
                let fixed = constants
                    .iter()
                    .map(|fixed| (fixed.member, format!("Literal[{}]", constant(fixed.value))));
                let members = common.iter().chain(fields).map(|field| (field.name, value(field)));
                let members: Vec<String> =
                    fixed.chain(members).map(|(name, ty)| format!("{}: {ty}", quote(name))).collect();
                let _ = writeln!(out, "\n\n{name} = TypedDict(\"{name}\", {{{}}})", members.join(", "));
                docs(out, "", def.doc, &[]);
                return;
            }
            let _ = writeln!(out, "\n\nclass {name}(TypedDict):");
            docs(out, "    ", def.doc, &[]);
            for fixed in constants {
                let _ = writeln!(out, "    {}: Literal[{}]", fixed.member, constant(fixed.value));
            }
            for field in common.iter().chain(fields) {
                let _ = writeln!(out, "    {}: {}", field.name, value(field));
                docs(out, "    ", field.doc, &[]);
            }
        }
        Shape::Strings { open, values } => {
            let values: Vec<String> = values.iter().map(|value| quote(value.value)).collect();
            let open = if open { " | str" } else { "" };
            let _ = writeln!(out, "\n{name}: TypeAlias = Literal[{}]{open}", values.join(", "));
        }
        Shape::Union { variants, open, .. } => {
            let open = if open { " | Mapping[str, JsonValue]" } else { "" };
            let _ = writeln!(out, "\n{name}: TypeAlias = {quotes}{}{open}{quotes}", variants.join(" | "));
        }
        Shape::Choice { alternatives } => {
            let arms: Vec<String> = alternatives.iter().map(|arm| ty::given(&arm.ty, "")).collect();
            let _ = writeln!(out, "\n{name}: TypeAlias = {quotes}{}{quotes}", arms.join(" | "));
        }
    }
}

/// Returns the type of a member.
fn value(field: &Field) -> String {
    let value = ty::given(&field.ty, "");
    match field.presence {
        Presence::Required => format!("\"{value}\""),
        Presence::Nullable => format!("\"{value} | None\""),
        Presence::Optional => format!("NotRequired[\"{value}\"]"),
        Presence::OptionalNullable => format!("NotRequired[\"{value} | None\"]"),
    }
}
