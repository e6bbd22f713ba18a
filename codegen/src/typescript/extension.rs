//! The types of the frames between an agent and its extensions, for authors of extensions.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::extension;
use agentese_protocol::index::{format_types, references};
use agentese_protocol::model::{Shape, TypeDef};

use super::banner;
use super::types::{declared, type_def};

/// Returns the module, which contains only types. It also exports types of the dialects, so authors find all
/// types in one place.
pub fn file(dialects: &[Index]) -> String {
    let there = declared(dialects);
    let mut defs: BTreeMap<&str, &TypeDef> = BTreeMap::new();
    for root in extension::ROOTS {
        defs.extend(format_types(root));
    }
    let (others, own): (Vec<&TypeDef>, Vec<&TypeDef>) =
        defs.into_values().partition(|def| there.contains_key(def.name));
    // Unused imports would be an error of the package's compiler.
    let mut shared: Vec<&str> = own.iter().flat_map(|def| references(def)).collect();
    shared.retain(|name| there.contains_key(name));
    shared.extend(["JsonObject", "JsonValue"]);
    if own.iter().any(|def| matches!(def.shape, Shape::Union { open: true, .. })) {
        shared.push("UnknownVariant");
    }
    shared.sort_unstable();
    shared.dedup();
    let mut exported: Vec<&str> =
        others.iter().map(|def| def.name).chain(["JsonObject", "JsonValue"]).collect();
    exported.sort_unstable();
    let mut out = banner("The frames between an agent and its extensions.");
    for (word, names) in [("import", shared), ("export", exported)] {
        let _ = writeln!(out, "{word} type {{\n  {},\n}} from \"./types.js\";\n", names.join(",\n  "));
    }
    let version = extension::VERSION;
    let _ = writeln!(out, "/** The version of this protocol. */\nexport type ProtocolVersion = {version};");
    for def in own {
        out.push('\n');
        type_def(&mut out, def, &[]);
    }
    out
}
