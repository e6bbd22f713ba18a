//! The documented failures of every dialect, by their kinds.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use agentese_protocol::Index;

use super::banner;
use super::literal::quote;
use crate::names::snake;

/// For each dialect: the code of each kind of failure, the name of its class, and when it is sent.
pub fn module(dialects: &[Index]) -> String {
    let mut out =
        banner("The documented failures of every dialect: what each is called, and when it is sent.");
    out.push_str("FAILURES: dict[str, dict[str, tuple[str, str]]] = {\n");
    for index in dialects {
        let _ = writeln!(out, "    {}: {{", quote(index.dialect.name));
        let mut kinds: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for error in index.failures() {
            let when = kinds.entry(error.kind).or_default();
            if !when.contains(&error.when) {
                when.push(error.when);
            }
        }
        for (kind, when) in kinds {
            let _ = writeln!(
                out,
                "        {}: ({}, {}),",
                quote(&snake(kind)),
                quote(kind),
                quote(&when.join("; or "))
            );
        }
        out.push_str("    },\n");
    }
    out.push_str("}\n");
    out
}
