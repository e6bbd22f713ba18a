//! Frames of real agents in revisions that are recorded elsewhere fit the schemas of their revision. The file contains
//! each shape once, with placeholders for texts of an agent or its author.

use std::collections::BTreeMap;

use agentese_codegen::json_schema::{Draft, Side, schema};
use agentese_protocol::Index;
use serde_json::Value;

const FRAMES: &str = include_str!("../../conformance/vectors/revisions.jsonl");

#[test]
fn frames_of_every_revision_fit_its_schemas_apart_from_those_with_a_reason() {
    let mut validators = BTreeMap::new();
    let mut refused = 0;
    for (number, line) in FRAMES.lines().enumerate() {
        let case: Value = serde_json::from_str(line).unwrap();
        let (revision, side) = (case["revision"].as_str().unwrap(), case["side"].as_str().unwrap());
        let validator = validators.entry((revision.to_owned(), side.to_owned())).or_insert_with(|| {
            let index = Index::named(revision).unwrap();
            let side = if side == "server" { Side::Server } else { Side::Client };
            let schema = serde_json::to_value(schema(&index, side, Draft::Modern)).unwrap();
            jsonschema::validator_for(&schema).unwrap()
        });
        let fits = validator.is_valid(&case["frame"]);
        let reason = case["refused"].as_str();
        assert_eq!(fits, reason.is_none(), "line {}, {revision}, {side}: {}", number + 1, case["frame"]);
        refused += usize::from(reason.is_some_and(|reason| !reason.is_empty()));
    }
    assert_eq!(validators.len(), 8, "both sides of pi@1.5, pi@1.6, omp@18.2 and operator@live");
    assert!(refused > 0 && refused < 10, "{refused} frames are rejected with a reason");
}

/// Clients know every recorded frame of agents in these revisions.
#[test]
fn every_event_and_dialog_of_these_frames_is_declared() {
    for line in FRAMES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let frame = &case["frame"];
        let index = Index::named(case["revision"].as_str().unwrap()).unwrap();
        if case["side"] != "server" || frame["type"] == "response" {
            continue;
        }
        let kind = frame["type"].as_str().unwrap();
        let is_event = index.events.iter().any(|event| event.name == kind);
        let is_dialog = index.dialogs.iter().any(|dialog| match dialog.frames {
            Some(frames) => frames.request == kind,
            None => kind == "extension_ui_request" && frame["method"] == dialog.wire,
        });
        assert!(is_event || is_dialog, "{}: {frame}", index.id());
    }
}
