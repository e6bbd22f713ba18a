//! The events that report the usage of a run.

use std::fmt::Write as _;

use agentese_protocol::measure::{MEASURES, Measures};

use super::banner;
use crate::outcome::parts;

pub fn file() -> String {
    let mut out = banner("The events that report the usage of a run.");
    out.push_str("use crate::run_limits::{CallEvent, CallResultEvent, Measures};\n\n/// The events of each dialect.\npub const MEASURES: &[Measures] = &[\n");
    let path = |path: &str| format!("&{:?}", parts(path));
    for Measures { dialect, turn, cost, call, result } in MEASURES {
        let cost = cost.map(|cost| format!("Some(({:?}, {}))", cost.event, path(cost.path)));
        let _ = writeln!(
            out,
            "    Measures {{\n        dialect: {dialect:?},\n        turn: {turn:?},\n        cost: {},\n        call: CallEvent {{ event: {:?}, id: {}, tool: {}, arguments: {} }},\n        result: CallResultEvent {{ event: {:?}, id: {}, failed: ({}, {:?}), output: {} }},\n    }},",
            cost.unwrap_or_else(|| "None".to_owned()),
            call.event,
            path(call.id),
            path(call.tool),
            path(call.arguments),
            result.event,
            path(result.id),
            path(result.failed.0),
            result.failed.1,
            path(result.output),
        );
    }
    out.push_str("];\n");
    out
}
