//! The shared types.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::dialect::Dialect;
use agentese_protocol::index::{declared_types, shared_types};
use agentese_protocol::model::{ConstantValue, Field, Presence, Shape, Ty, TypeDef};

use super::{banner, docs};
use crate::declaration::{FORMATS, tag_of};
use crate::names::{pascal, rust_field};

/// A file with types: its title and its content.
struct Group<'a> {
    name: &'a str,
    title: String,
    defs: Vec<(&'static TypeDef, &'static [Field])>,
}

/// Returns the files of the types: one common file, and one for each dialect's feature.
pub fn files(dialects: &[&Index]) -> Vec<(String, String)> {
    let groups = groups(dialects);
    let mut root = banner("Every declared type, once; the modules of the dialects name the types they use.");
    let mut files = Vec::new();
    for group in &groups {
        let feature = match group.name {
            COMMON => String::new(),
            name => format!("#[cfg(feature = {name:?})]\n"),
        };
        let name = group.name;
        let _ = writeln!(root, "{feature}mod {name};\n{feature}pub use {name}::*;");
        let mut body = String::new();
        for (def, common) in &group.defs {
            body.push('\n');
            type_def(&mut body, def, common);
        }
        let mut out = banner(&group.title);
        let macros = ["choice", "record", "strings", "tagged"];
        let used: Vec<_> =
            macros.into_iter().filter(|name| body.contains(&format!("\n{name}! {{"))).collect();
        let parents = if name == COMMON { "" } else { "#[allow(unused_imports)]\nuse super::*;\n" };
        let _ = write!(out, "{parents}use crate::wire::{{{}}};\n{body}", used.join(", "));
        files.push((format!("types/{name}.rs"), out));
    }
    files.push(("types.rs".to_owned(), root));
    files
}

/// The name of the group of types that need no feature.
const COMMON: &str = "common";

fn groups(dialects: &[&Index]) -> Vec<Group<'static>> {
    let mut groups = vec![Group {
        name: COMMON,
        title:
            "Types of the file formats and the extension protocol, and those that unrelated dialects share."
                .to_owned(),
        defs: Vec::new(),
    }];
    let mut defs: BTreeMap<&str, (&'static TypeDef, &'static [Field], Vec<&'static Dialect>)> =
        BTreeMap::new();
    for index in dialects {
        groups.push(Group {
            name: index.dialect.name,
            title: format!("Types that {} brings.", index.dialect.name),
            defs: Vec::new(),
        });
        for (name, def) in &index.types {
            let is_event = index.events.iter().any(|event| event.payload.name == *name);
            let common = if is_event { index.dialect.event_members } else { &[] };
            let entry = defs.entry(name).or_insert((def, common, Vec::new()));
            *entry = (def, common, std::mem::take(&mut entry.2));
            entry.2.push(index.dialect);
        }
    }
    for root in FORMATS {
        for (name, def) in shared_types(root) {
            defs.insert(name, (def, &[], Vec::new()));
        }
    }
    for (def, common, users) in defs.into_values() {
        let inherits = |dialect: &&&Dialect| {
            let mut parents = std::iter::successors(dialect.parent, |parent| parent.parent);
            parents.any(|parent| users.iter().any(|user| user.name == parent.name))
        };
        let brought: Vec<_> = users.iter().filter(|dialect| !inherits(dialect)).collect();
        let name = match brought.as_slice() {
            [dialect] => dialect.name,
            _ => COMMON,
        };
        if let Some(group) = groups.iter_mut().find(|group| group.name == name) {
            group.defs.push((def, common));
        }
    }
    groups
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
            constructor(out, def, common, &fields);
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
            let openness = if open { "open" } else { "closed" };
            let _ = writeln!(out, "    pub enum {} {openness} {{", def.name);
            for value in values {
                docs(out, "        ", value.doc);
                // `Other` is the variant for undeclared values.
                let variant = match pascal(value.value) {
                    name if open && name == "Other" => "OtherValue".to_owned(),
                    name => name,
                };
                let _ = writeln!(out, "        {variant} = {:?},", value.value);
            }
            out.push_str("    }\n}\n");
        }
    }
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

/// Returns the Rust type of a value.
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

/// Returns an argument of a constructor or helper, and the expression that converts it to the stored value.
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

/// The maximum number of required members for a `new` with positional arguments.
const POSITIONAL: usize = 3;

/// Adds the constructor of a record: `new`, or a builder if the record has too many required members for `new`.
fn constructor(out: &mut String, def: &TypeDef, common: &[Field], fields: &[&Field]) {
    let name = def.name;
    let required: Vec<_> = fields.iter().copied().filter(|field| field.presence.is_required()).collect();
    if let Some(builder_name) = builder_of(def, common) {
        builder(out, name, &builder_name, fields, &required);
    } else {
        let arguments: Vec<_> = required.iter().map(|field| argument(field).0).collect();
        let what = if required.is_empty() {
            "Makes the value without its optional members."
        } else {
            "Makes the value from its required members; set the optional ones on the result."
        };
        let _ = writeln!(
            out,
            "\nimpl {name} {{\n    /// {what}\n    pub fn new({}) -> Self {{\n        Self {{",
            arguments.join(", ")
        );
        initializers(out, fields, |field| argument(field).1);
        out.push_str("        }\n    }\n}\n");
    }
    if has_default(def) {
        default(out, name, fields, required.is_empty());
    }
}

/// Returns the name of a record's builder. Returns `None` for a type with `new`, and for a type that is not a
/// record.
pub fn builder_of(def: &TypeDef, common: &[Field]) -> Option<String> {
    let Shape::Record { fields, .. } = def.shape else { return None };
    let required = common.iter().chain(fields).filter(|field| field.presence.is_required()).count();
    (required > POSITIONAL).then(|| format!("{}Builder", def.name))
}

/// Adds a builder: a struct with the required members. The compiler reports a missing member, and each value is
/// written with its name.
fn builder(out: &mut String, name: &str, builder: &str, fields: &[&Field], required: &[&Field]) {
    let _ = writeln!(
        out,
        "\n/// Builds a [`{name}`]: a literal with every required member, then [`build`](Self::build).\n\
         #[derive(Debug, Clone)]\npub struct {builder} {{"
    );
    for field in required {
        docs(out, "    ", field.doc);
        let ty = match field.presence {
            Presence::Nullable => format!("Option<{}>", rust_type(&field.ty)),
            _ => rust_type(&field.ty),
        };
        let _ = writeln!(out, "    pub {}: {ty},", rust_field(field.name));
    }
    let _ = writeln!(
        out,
        "}}\n\nimpl {builder} {{\n    /// Returns the value; set the optional members on the result.\n    \
         pub fn build(self) -> {name} {{\n        {name} {{"
    );
    initializers(out, fields, |field| format!("self.{}", rust_field(field.name)));
    out.push_str("        }\n    }\n}\n");
}

fn initializers(out: &mut String, fields: &[&Field], required: impl Fn(&Field) -> String) {
    for field in fields {
        let value = match field.presence {
            Presence::Required | Presence::Nullable => required(field),
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
    out.push_str("            extra: crate::wire::ExtraMembers::default(),\n");
}

/// Returns `true` if a record may implement `Default`: no member is required, or all required members are
/// amounts or collections.
fn has_default(def: &TypeDef) -> bool {
    let Shape::Record { constants, fields } = def.shape else { return false };
    let mut required = fields.iter().filter(|field| field.presence.is_required());
    if fields.iter().all(|field| !field.presence.is_required()) {
        return true;
    }
    let is_data = constants.is_empty() && !def.name.ends_with("Params");
    is_data && required.all(|field| field.presence == Presence::Nullable || empty(&field.ty).is_some())
}

/// Returns the expression for the empty value of a type, if the type has an empty value.
fn empty(ty: &Ty) -> Option<&'static str> {
    match ty {
        Ty::Count => Some("0"),
        Ty::Number => Some("serde_json::Number::from(0)"),
        Ty::List(_) | Ty::Map(_) | Ty::Object => Some("Default::default()"),
        Ty::Named(name) => {
            declared_types().get(name).filter(|def| has_default(def)).map(|_| "Default::default()")
        }
        _ => None,
    }
}

fn default(out: &mut String, name: &str, fields: &[&Field], is_empty: bool) {
    let _ = writeln!(out, "\nimpl Default for {name} {{\n    fn default() -> Self {{");
    if is_empty {
        out.push_str("        Self::new()\n    }\n}\n");
        return;
    }
    out.push_str("        Self {\n");
    initializers(out, fields, |field| match field.presence {
        Presence::Nullable => "None".to_owned(),
        _ => empty(&field.ty).unwrap_or("Default::default()").to_owned(),
    });
    out.push_str("        }\n    }\n}\n");
}
