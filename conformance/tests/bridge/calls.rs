//! Check of the tool calls in a bridge's output. Each call that starts also ends, exactly once and before the
//! end of its run.
//!
//! An Opal agent sends no events for a call that it drops after an abort. The bridge creates both events
//! itself, so a missing event is always an error of the bridge.

use std::collections::BTreeSet;

use agentese_conformance::transcript::Transcript;
use serde_json::Value;

use crate::front_output::{FrontFrame, front_frames, matching};
use crate::loss_report::UnexplainedDifference;

/// Name of the check that each call starts and ends once.
const CALLS: &str = "calls";

/// Returns a difference for each call that starts twice, ends without a start, or has not ended at the end of
/// its run.
pub fn unended(front: &str, observed: &Transcript) -> Vec<UnexplainedDifference> {
    let Some(tools) = matching(agentese::dynamic::spec(front).unwrap()).tools else { return Vec::new() };
    let (mut begun, mut open, mut left) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    let mut wrong = |row: &str, says: String| {
        let says = format!("{CALLS} of {row}: {says}");
        left.push(UnexplainedDifference {
            check: CALLS.to_owned(),
            row: row.to_owned(),
            path: String::new(),
            message: says,
        });
    };
    for one in front_frames(observed) {
        let FrontFrame::Event(kind, event) = one else { continue };
        let others = tools.others.iter().filter(|(row, _)| *row == kind).map(|(_, path)| *path);
        let call = std::iter::once(tools.call).chain(others).find_map(|path| at(&event, path));
        match (kind.as_str(), call) {
            (kind, Some(call)) if kind == tools.begins => {
                open.insert(call.to_owned());
                if !begun.insert(call.to_owned()) {
                    wrong(kind, format!("`{call}` has begun before"));
                }
            }
            (kind, Some(call)) if kind == tools.ends && !open.remove(call) => {
                wrong(kind, format!("`{call}` has not begun"));
            }
            // A run that broke off has no end event.
            ("agent_start", _) => {
                open.clear();
                begun.clear();
            }
            ("agent_end", _) => {
                for call in std::mem::take(&mut open) {
                    wrong(tools.ends, format!("`{call}` has no end"));
                }
            }
            _ => {}
        }
    }
    left
}

fn at<'a>(event: &'a Value, path: &str) -> Option<&'a str> {
    path.split('.').try_fold(event, |value, name| value.get(name))?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::front_output::session_of;

    #[test]
    fn each_call_begins_and_ends_once() {
        let begins = |id: &str| json!({"type": "tool_execution_start", "toolCallId": id, "toolName": "bash"});
        let ends = |id: &str| json!({"type": "tool_execution_end", "toolCallId": id, "toolName": "bash"});
        let (start, end) = (json!({"type": "agent_start"}), json!({"type": "agent_end"}));
        let left = |frames: &[Value]| unended("pi", &session_of(frames)).len();
        let run = [start.clone(), begins("a"), begins("b"), ends("b"), ends("a"), end.clone()];
        assert_eq!(left(&run), 0);
        for place in 1..5 {
            let (mut dropped, mut doubled) = (run.to_vec(), run.to_vec());
            dropped.remove(place);
            doubled.insert(place, run[place].clone());
            assert_eq!((left(&dropped), left(&doubled)), (1, 1), "{place}");
        }
        assert_eq!(left(&[start.clone(), begins("a"), ends("a"), begins("a"), ends("a"), end.clone()]), 1);
        assert_eq!(left(&[start.clone(), begins("a"), start, end]), 0, "it was broken off");
    }

    #[test]
    fn each_dialect_has_its_own_member_for_the_call_id() {
        let event = |event: Value| json!({"type": "event", "event": event});
        let begins = event(json!({"type": "tool_execution_start", "tool_call": {"id": "a"}}));
        let ends = event(json!({"type": "tool_execution_end", "tool_result": {"id": "a"}}));
        let over = event(json!({"type": "agent_end"}));
        assert_eq!(unended("operator", &session_of(&[begins.clone(), ends, over.clone()])), []);
        assert_eq!(unended("operator", &session_of(&[begins, over])).len(), 1);
        let told = |event: Value| json!({"jsonrpc": "2.0", "method": "agent/event", "params": event});
        let begins = told(json!({"type": "tool_execution_start", "call_id": "a"}));
        let ends = told(json!({"type": "tool_execution_end", "call_id": "a"}));
        let over = told(json!({"type": "agent_end"}));
        assert_eq!(unended("opal", &session_of(&[begins.clone(), ends, over.clone()])), []);
        assert_eq!(unended("opal", &session_of(&[begins, over])).len(), 1);
    }
}
