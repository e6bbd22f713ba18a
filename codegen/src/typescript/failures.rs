//! The documented failures of every dialect, by their kinds.

use std::fmt::Write as _;

use agentese_protocol::Index;

use super::{banner, quote};
use crate::names::snake;

pub fn file(dialects: &[Index]) -> String {
    let mut out = banner("The documented failures of every dialect, by their kinds.");
    out.push_str(
        "/** A failure that a document names. In its `text`, `{…}` stands for any text, of any length. */\n\
         export interface FailureText {\n  readonly kind: string;\n  readonly code?: number;\n  readonly text: string;\n}\n\n",
    );
    out.push_str(
        "/** Prefix of the answers to unreadable lines: a text is first looked up without this prefix. */\n\
         export const parsePrefixes = {\n",
    );
    for index in dialects {
        let _ = writeln!(out, "  {}: {},", index.dialect.name, quote(index.revision.edges.parse_prefix));
    }
    out.push_str("} as const;\n\n");
    for index in dialects {
        let name = index.dialect.name;
        let _ = writeln!(out, "/** The documented failures of {name}. */\nexport const {name} = [");
        for error in index.failures() {
            let code = error.code.map_or_else(String::new, |code| format!("code: {code}, "));
            let _ = writeln!(
                out,
                "  {{ kind: {}, {code}text: {} }}, // {}",
                quote(&snake(error.kind)),
                quote(error.text),
                error.when
            );
        }
        out.push_str("] as const satisfies readonly FailureText[];\n\n");
        let _ = writeln!(out, "/** The kinds of {name}'s documented failures. */");
        let _ = writeln!(
            out,
            "export type {}Failure = (typeof {name})[number][\"kind\"];\n",
            crate::names::pascal(name)
        );
    }
    out.pop();
    out
}
