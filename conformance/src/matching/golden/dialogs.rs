//! Comparison of questions and notices.

use serde_json::Value;

use super::stream_comparer::StreamComparer;
use super::transcript_streams::Frame;
use super::walk::FrameWalker;
use crate::matching::difference::{Difference, Weight};
use crate::matching::path;

impl StreamComparer<'_> {
    /// Compares a recorded dialog with an observed one.
    pub(super) fn dialog(&mut self, expected: &Frame, actual: &Frame) -> Vec<Difference> {
        let mut found = Vec::new();
        match (expected.id.as_deref(), actual.id.as_deref()) {
            (Some(golden), Some(observed)) => {
                // The prefix keeps ids of dialogs apart from ids of sessions, which may have equal
                // values.
                let (golden, observed) = (format!("dialog {golden}"), format!("dialog {observed}"));
                if let Err(message) = self.state.texts.bindings.id(&golden, &observed) {
                    found.push(Difference::new(Weight::Must, "id", message));
                }
                let is_text = |frame: &Frame| frame.value.get("id").is_some_and(Value::is_string);
                if is_text(expected) != is_text(actual) {
                    found.push(Difference::new(Weight::Must, "id", "the id has a different type"));
                }
            }
            (Some(_), None) => found.push(Difference::new(Weight::Must, "id", "the id is missing")),
            _ => {}
        }
        let def = self.rules.dialog(&expected.name);
        let (golden, observed) =
            (path::without(&expected.value, &["id"]), path::without(&actual.value, &["id"]));
        match (golden.get("params"), observed.get("params"), golden.get("jsonrpc")) {
            (Some(golden), Some(observed), Some(_)) => {
                found.extend(FrameWalker::below(&mut self.state, "params").record(def, golden, observed));
            }
            _ => found.extend(FrameWalker::new(&mut self.state).record(def, &golden, &observed)),
        }
        found
    }
}
