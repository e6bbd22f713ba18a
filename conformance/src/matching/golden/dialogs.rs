//! Comparison of dialogs.

use serde_json::Value;

use super::reading::Frame;
use super::stream::Streams;
use super::walk::Walk;
use crate::matching::difference::{Difference, Weight};
use crate::matching::path;

impl Streams<'_> {
    /// Compares two dialogs.
    pub(super) fn dialog(&mut self, was: &Frame, came: &Frame) -> Vec<Difference> {
        let mut found = Vec::new();
        match (was.id.as_deref(), came.id.as_deref()) {
            (Some(golden), Some(observed)) => {
                // The prefix separates ids of dialogs, which agents number on their own, from ids of
                // sessions.
                let (golden, observed) = (format!("dialog {golden}"), format!("dialog {observed}"));
                if let Err(says) = self.state.texts.bindings.id(&golden, &observed) {
                    found.push(Difference::new(Weight::Must, "id", says));
                }
                let is_text = |frame: &Frame| frame.value.get("id").is_some_and(Value::is_string);
                if is_text(was) != is_text(came) {
                    found.push(Difference::new(Weight::Must, "id", "the id is of another type"));
                }
            }
            (Some(_), None) => found.push(Difference::new(Weight::Must, "id", "the id is missing")),
            _ => {}
        }
        let def = self.rules.dialog(&was.name);
        let (golden, observed) = (path::without(&was.value, &["id"]), path::without(&came.value, &["id"]));
        match (golden.get("params"), observed.get("params"), golden.get("jsonrpc")) {
            (Some(golden), Some(observed), Some(_)) => {
                found.extend(Walk::below(&mut self.state, "params").record(def, golden, observed));
            }
            _ => found.extend(Walk::new(&mut self.state).record(def, &golden, &observed)),
        }
        found
    }
}
