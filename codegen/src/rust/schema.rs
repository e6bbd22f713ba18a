//! The table of the schemas, as text.

use std::fmt::Write as _;

use agentese_protocol::Index;
use agentese_protocol::dialect::Framing;

use super::banner;
use crate::declaration::FORMATS;

/// Returns the module with the schemas as text.
pub fn file(dialects: &[Index], protocols: &[Index]) -> String {
    let mut out = banner("The JSON Schemas of the dialects, as text.");
    out.push_str("/// The schema of the frames that one side of a dialect may send: `(dialect, revision, side, text)`.\n");
    out.push_str("pub const SCHEMAS: &[(&str, &str, &str, &str)] = &[\n");
    sides(&mut out, dialects);
    out.push_str(
        "];\n\n/// The schemas of the served protocols that are not dialects, in the same form.\npub const PROTOCOLS: &[(&str, &str, &str, &str)] = &[\n",
    );
    sides(&mut out, protocols);
    out.push_str("];\n\n/// OpenRPC documents: `(dialect, revision, text)`.\npub const OPENRPC: &[(&str, &str, &str)] = &[\n");
    for index in dialects.iter().filter(|index| matches!(index.framing(), Framing::JsonRpc { .. })) {
        let dialect = index.dialect;
        let _ = writeln!(
            out,
            "    #[cfg(feature = {:?})]\n    ({:?}, {:?}, include_str!(\"../../schema/{}@{}/openrpc.json\")),",
            dialect.name, dialect.name, index.revision.name, dialect.name, index.revision.name
        );
    }
    out.push_str("];\n\n/// The changes between two revisions of a dialect, as JSON: `(older, later, text)`.\npub const CHANGES: &[(&str, &str, &str)] = &[\n");
    for changes in crate::changes::all() {
        let dialect = changes.from.split('@').next().unwrap_or_default();
        let _ = writeln!(
            out,
            "    #[cfg(feature = {dialect:?})]\n    ({:?}, {:?}, include_str!(\"../../schema/changes/{}\")),",
            changes.from,
            changes.to,
            crate::changes::file_name(&changes)
        );
    }
    out.push_str("];\n\n/// The schemas of the file formats: `(name, text)`.\npub const FORMATS: &[(&str, &str)] = &[\n");
    for root in FORMATS {
        let name = crate::json_schema::format_name(root);
        let _ = writeln!(out, "    ({name:?}, include_str!(\"../../schema/formats/{name}.json\")),");
    }
    out.push_str("];\n");
    out
}

/// Adds a row for each side of each dialect or protocol.
fn sides(out: &mut String, all: &[Index]) {
    for index in all {
        let dialect = index.dialect;
        for side in ["server", "client"] {
            let _ = writeln!(
                out,
                "    #[cfg(feature = {:?})]\n    ({:?}, {:?}, {side:?}, include_str!(\"../../schema/{}@{}/{side}.json\")),",
                dialect.name, dialect.name, index.revision.name, dialect.name, index.revision.name
            );
        }
    }
}
