//! The frames that identify the dialect of an agent.

use std::fmt::Write as _;

use agentese_protocol::{BRIDGED, Index};

use super::{banner, quote};
use crate::rust::DialectVocabulary;

pub fn file(dialects: &[Index]) -> String {
    let protocols = Index::protocols();
    let rows: Vec<DialectVocabulary> =
        dialects.iter().chain(&protocols).filter_map(DialectVocabulary::of).collect();
    let mut out = banner("The frames that identify the dialect of an agent.");
    out.push_str("import type { BridgedProtocol, DialectVocabulary } from \"../spec.js\";\n");
    for (name, is_rpc, what) in
        [("lineDialects", false, "dialects of lines"), ("rpcDialects", true, "dialects of JSON-RPC")]
    {
        let _ = writeln!(
            out,
            "\n/** The {what}: types of frames, or methods, by dialect. */\nexport const {name}: readonly DialectVocabulary[] = ["
        );
        for row in rows.iter().filter(|row| row.notification.is_some() == is_rpc) {
            let names =
                row.events.iter().copied().chain(row.notification).chain(row.questions.iter().copied());
            let names: Vec<&str> = names.collect();
            let _ = writeln!(out, "  [{}, {}],", quote(row.name), quote(&names.join(" ")));
        }
        out.push_str("];\n");
    }
    out.push_str("\n/** The protocols of agents that clients drive through a bridge. */\nexport const bridgedProtocols: readonly BridgedProtocol[] = [\n");
    for row in BRIDGED {
        let _ = writeln!(
            out,
            "  {{ name: {}, version: {}, handshake: {}, versionMember: {}, front: {} }},",
            quote(row.protocol.name),
            row.protocol.pinned().name,
            quote(row.protocol.probe_command),
            quote(row.version_member),
            quote(row.front),
        );
    }
    out.push_str("];\n");
    out
}
