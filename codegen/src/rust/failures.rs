//! The documented failures of a dialect, as an enumeration.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use agentese_protocol::Index;

use crate::names::snake;

pub fn kinds(out: &mut String, index: &Index) {
    let mut kinds: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for error in index.failures() {
        let texts = kinds.entry(error.kind).or_default();
        if !texts.contains(&error.when) {
            texts.push(error.when);
        }
    }
    out.push_str(
        "/// A failure that this dialect documents.\n#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]\n\
         #[non_exhaustive]\npub enum Failure {\n",
    );
    for (kind, when) in &kinds {
        let _ = writeln!(out, "    /// {}.\n    {kind},", sentence(&when.join("; or ")));
    }
    out.push_str(
        "}\n\nimpl Failure {\n    /// Returns the documented failure of an error; `None` for any other error.\n    pub fn of(error: &crate::Error) -> Option<Self> {\n        match error.refused()?.failure? {\n",
    );
    for kind in kinds.keys() {
        let _ = writeln!(out, "            {:?} => Some(Failure::{kind}),", snake(kind));
    }
    out.push_str("            _ => None,\n        }\n    }\n\n    /// Returns its name in the tables of the dialect.\n    pub fn kind(self) -> &'static str {\n        match self {\n");
    for kind in kinds.keys() {
        let _ = writeln!(out, "            Failure::{kind} => {:?},", snake(kind));
    }
    out.push_str(
        "        }\n    }\n\n    /// Returns the failure as the answer of a server, with the document's text and code. `values` replace `{name}` in\n    \
         /// the text.\n    pub fn command_error(self, values: &[(&str, &str)]) -> crate::serve::CommandError {\n        \
         crate::serve::CommandError::declared(&SPEC, self.kind(), values)\n    }\n}\n\n",
    );
}

/// Returns the text with a capital letter, as the start of a sentence.
fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}
