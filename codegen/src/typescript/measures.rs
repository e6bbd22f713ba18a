//! The events that report the usage of a run.

use std::fmt::Write as _;

use agentese_protocol::measure::{MEASURES, Measures};

use super::{banner, quote};

pub fn file() -> String {
    let mut out = banner("The events that report the usage of a run.");
    out.push_str("import type { Measures } from \"../run_limits.js\";\n\n/** The events of each dialect. */\nexport const measures: Readonly<Record<string, Measures>> = {\n");
    for Measures { dialect, turn, cost, call, result } in MEASURES {
        let cost = cost.map(|cost| format!(" cost: [{}, {}],", quote(cost.event), quote(cost.path)));
        let _ = writeln!(
            out,
            "  {dialect}: {{\n    turn: {},{}\n    call: {{ event: {}, id: {}, tool: {}, arguments: {} }},\n    result: {{ event: {}, id: {}, failed: [{}, {}], output: {} }},\n  }},",
            quote(turn),
            cost.unwrap_or_default(),
            quote(call.event),
            quote(call.id),
            quote(call.tool),
            quote(call.arguments),
            quote(result.event),
            quote(result.id),
            quote(result.failed.0),
            quote(result.failed.1),
            quote(result.output),
        );
    }
    out.push_str("};\n");
    out
}
