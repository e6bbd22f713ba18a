//! Every declared record as a class, once.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::model::{Constant, ConstantValue, Field, Presence, Shape, TypeDef};

use super::literal::{attribute, constant, doc, quote};
use super::{banner, docs, ty};
use crate::typescript::declared;

type DeclaredTypes<'a> = BTreeMap<&'a str, (&'a TypeDef, &'a [Field])>;

/// Returns the constants and the members of a record. `common` are the members that a dialect adds to all
/// events.
fn record<'a>(def: &TypeDef, common: &'a [Field]) -> Option<(&'static [Constant], Vec<&'a Field>)> {
    match def.shape {
        Shape::Record { constants, fields } => Some((constants, common.iter().chain(fields).collect())),
        _ => None,
    }
}

/// Returns the runtime module: a class with a descriptor for each member, and the tables of the other types.
pub fn module(dialects: &[Index]) -> String {
    let defs = declared(dialects);
    let mut out = banner("Every declared type, once. The modules of the dialects name the types they use.");
    out.push_str("from typing import Any, Literal\n\nfrom agentese._native import Member, Record, plain_class\nfrom agentese.unknown import UnknownVariant\n");
    for (name, (def, common)) in &defs {
        let Some((constants, fields)) = record(def, common) else { continue };
        let _ = writeln!(out, "\n\nclass {name}(Record, metaclass=plain_class):");
        docs(&mut out, "    ", def.doc, &[]);
        let names: Vec<String> = fields.iter().map(|field| quote(&attribute(field.name))).collect();
        let _ = writeln!(out, "    __slots__ = ()\n    __match_args__ = ({})", tuple(&names));
        let _ = writeln!(out, "    _constants = {{{}}}", constants_json(constants));
        for fixed in constants {
            let _ = writeln!(out, "    {} = {}", attribute(fixed.member), constant(fixed.value));
        }
        for field in &fields {
            member(&mut out, field);
        }
    }
    aliases(&mut out, &defs, true);
    tables(&mut out, &defs);
    out
}

/// Returns the constants of a record as entries of a dictionary, with values in JSON.
fn constants_json(constants: &[Constant]) -> String {
    let parts: Vec<String> =
        constants.iter().map(|c| format!("{}: {}", quote(c.member), quote(&json(c.value)))).collect();
    parts.join(", ")
}

fn json(value: ConstantValue) -> String {
    match value {
        ConstantValue::String(text) => quote(text),
        ConstantValue::Boolean(flag) => flag.to_string(),
    }
}

fn tuple(items: &[String]) -> String {
    match items {
        [one] => format!("{one},"),
        items => items.join(", "),
    }
}

/// Returns the members of a record as keyword parameters.
fn keywords(fields: &[&Field]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for required in [true, false] {
        for field in fields.iter().filter(|field| field.presence.is_required() == required) {
            let value = ty::either(&field.ty);
            let none = if field.presence == Presence::Required { "" } else { " | None" };
            let default = if required { "" } else { " = None" };
            parts.push(format!("{}: {value}{none}{default}", attribute(field.name)));
        }
    }
    if parts.is_empty() { String::new() } else { format!(", *, {}", parts.join(", ")) }
}

fn member(out: &mut String, field: &Field) {
    let mut rest = String::new();
    if !field.presence.is_required() {
        rest.push_str(", required=False");
    }
    // An optional member with null is equivalent to an absent one.
    if field.presence != Presence::Required {
        rest.push_str(", nullable=True");
    }
    let _ = writeln!(
        out,
        "    {} = Member({}, {}, {}{rest})",
        attribute(field.name),
        quote(field.name),
        quote(&ty::kind(&field.ty)),
        doc(&format!("{}: {}", ty::attribute(&field.ty, field.presence, ""), field.doc.trim_start()))
    );
}

fn aliases(out: &mut String, defs: &DeclaredTypes<'_>, runs: bool) {
    let mut write = |name: &str, text: String, doc: &str| {
        let _ = if runs {
            writeln!(out, "\n{name} = {text}")
        } else {
            writeln!(out, "\n{name}: TypeAlias = {text}\n{}", quote(&crate::names::first_sentence(doc)))
        };
    };
    // Aliases refer to other types, so strings and unions of records come first.
    for (name, (def, _)) in defs {
        if let Shape::Strings { open, values } = def.shape {
            let values: Vec<String> = values.iter().map(|value| quote(value.value)).collect();
            let open = if open { " | str" } else { "" };
            write(name, format!("Literal[{}]{open}", values.join(", ")), def.doc);
        }
    }
    for (name, (def, _)) in defs {
        if let Shape::Union { variants, open, .. } = def.shape {
            let unknown = if open { " | UnknownVariant" } else { "" };
            write(name, format!("{}{unknown}", variants.join(" | ")), def.doc);
        }
    }
    for (name, (def, _)) in defs {
        if let Shape::Choice { alternatives } = def.shape {
            let arms: Vec<String> = alternatives.iter().map(|arm| ty::read(&arm.ty, "")).collect();
            write(name, arms.join(" | ").replace("JsonObject", "dict[str, Any]"), def.doc);
        }
    }
}

fn tables(out: &mut String, defs: &DeclaredTypes<'_>) {
    out.push_str("\n# The tables that the native core reads.\nUNIONS = {\n");
    for (name, (def, _)) in defs {
        let Shape::Union { tag, open, variants } = def.shape else { continue };
        let open = if open { "True" } else { "False" };
        let _ = writeln!(out, "    {}: ({}, {open}, {{", quote(name), quote(tag));
        for variant in variants {
            let constants =
                defs.get(variant).and_then(|(def, common)| record(def, common)).map_or(&[][..], |r| r.0);
            if let Some(value) = constants.iter().find(|constant| constant.member == tag) {
                let _ = writeln!(out, "        {}: {},", constant(value.value), quote(variant));
            }
        }
        out.push_str("    }),\n");
    }
    out.push_str("}\nCHOICES = {\n");
    let mut shaped: Vec<&str> = Vec::new();
    for (name, (def, _)) in defs {
        let Shape::Choice { alternatives } = def.shape else { continue };
        let kinds: Vec<String> = alternatives.iter().map(|arm| quote(&ty::kind(&arm.ty))).collect();
        let _ = writeln!(out, "    {}: ({}),", quote(name), tuple(&kinds));
        shaped.extend(alternatives.iter().filter_map(|arm| match arm.ty {
            agentese_protocol::model::Ty::Named(name) => Some(name),
            _ => None,
        }));
    }
    out.push_str("}\nSTRINGS = {\n");
    for (name, (def, _)) in defs {
        if let Shape::Strings { open, values } = def.shape {
            let values: Vec<String> = values.iter().map(|value| quote(value.value)).collect();
            let open = if open { "True" } else { "False" };
            let _ = writeln!(out, "    {}: ({open}, [{}]),", quote(name), values.join(", "));
        }
    }
    out.push_str("}\n# What tells the records of a choice apart: constants as JSON, and members that must be there.\nSHAPES: dict[str, tuple[list[tuple[str, str]], list[str]]] = {\n");
    for name in shaped {
        let Some((constants, fields)) = defs.get(name).and_then(|(def, common)| record(def, common)) else {
            continue;
        };
        let constants: Vec<String> =
            constants.iter().map(|c| format!("({}, {})", quote(c.member), quote(&json(c.value)))).collect();
        let required: Vec<String> =
            fields.iter().filter(|f| f.presence.is_required()).map(|f| quote(f.name)).collect();
        let _ =
            writeln!(out, "    {}: ([{}], [{}]),", quote(name), constants.join(", "), required.join(", "));
    }
    out.push_str("}\n");
}

/// Returns the type stub.
pub fn stub(dialects: &[Index]) -> String {
    let defs = declared(dialects);
    let mut out = banner("Every declared type, once. The modules of the dialects name the types they use.");
    out.push_str(
        "from collections.abc import Mapping, Sequence\nfrom typing import Any, ClassVar, Final, Literal, Self, TypeAlias, final\n\nfrom agentese import shapes\nfrom agentese._native import Record as Record\n\
         from agentese.values import JsonObject, JsonValue\nfrom agentese.unknown import UnknownVariant\n",
    );
    for (name, (def, common)) in &defs {
        let Some((constants, fields)) = record(def, common) else { continue };
        let _ = writeln!(out, "\nclass {name}(Record):");
        docs(&mut out, "    ", def.doc, &[]);
        let names: Vec<String> = fields.iter().map(|field| quote(&attribute(field.name))).collect();
        let literal: Vec<String> = names.iter().map(|name| format!("Literal[{name}]")).collect();
        let literal = if literal.is_empty() { "()".to_owned() } else { literal.join(", ") };
        let _ = writeln!(
            out,
            "    __slots__ = ()\n    __match_args__: ClassVar[tuple[{literal}]] = ({})",
            tuple(&names)
        );
        for fixed in constants {
            let value = constant(fixed.value);
            let _ = writeln!(out, "    {}: Literal[{value}]", attribute(fixed.member));
        }
        let _ = writeln!(out, "    def __new__(cls{}) -> Self: ...", keywords(&fields));
        for field in &fields {
            let _ = writeln!(
                out,
                "    @property\n    def {}(self) -> {}:",
                attribute(field.name),
                ty::attribute(&field.ty, field.presence, "")
            );
            docs(&mut out, "        ", field.doc, &[]);
        }
        let _ = writeln!(
            out,
            "    def to_dict(self) -> shapes.{name}: ...\n    @classmethod\n    def from_dict(cls, members: shapes.{name}) -> {name}: ..."
        );
    }
    aliases(&mut out, &defs, false);
    out.push_str(
        "\nUNIONS: Final[dict[str, tuple[str, bool, dict[str, str]]]]\nCHOICES: Final[dict[str, tuple[str, ...]]]\nSTRINGS: Final[dict[str, tuple[bool, list[str]]]]\n\
         SHAPES: Final[dict[str, tuple[list[tuple[str, str]], list[str]]]]\n",
    );
    out
}
