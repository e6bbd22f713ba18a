//! The documented failures of all dialects, as exceptions.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use agentese_protocol::Index;

use super::literal::quote;
use super::{banner, docs};
use crate::names::snake;

/// Returns the documented kinds of failure, each with its conditions as sentences.
fn kinds(dialects: &[Index]) -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut kinds: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for error in dialects.iter().flat_map(Index::failures) {
        let when = kinds.entry(error.kind).or_default();
        if !when.contains(&error.when) {
            when.push(error.when);
        }
    }
    kinds
}

/// Returns the names of a dialect's exceptions.
pub fn names(index: &Index) -> Vec<&'static str> {
    let mut names: Vec<&str> = index.failures().into_iter().map(|error| error.kind).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns an exception class for each kind of failure, and a table in which the native core looks the class
/// up.
pub fn module(dialects: &[Index]) -> String {
    let mut out = banner("The documented failures of all dialects, as exceptions.");
    out.push_str("from agentese.errors import RefusedError\n");
    for (kind, when) in kinds(dialects) {
        let _ = writeln!(out, "\n\nclass {kind}(RefusedError):");
        docs(&mut out, "    ", &format!("The agent rejected the command: {}.", when.join("; or ")), &[]);
        let _ = writeln!(out, "\n    kind = {}", quote(&snake(kind)));
    }
    out.push_str("\n\nFAILURES: dict[str, type[RefusedError]] = {\n");
    for kind in kinds(dialects).into_keys() {
        let _ = writeln!(out, "    {}: {kind},", quote(&snake(kind)));
    }
    out.push_str("}\n");
    out
}
