//! Tests of the operator dialect within this process.

#[path = "operator/client.rs"]
mod client;
#[path = "operator/commands.rs"]
mod commands;
#[path = "operator/limits.rs"]
mod limits;
#[path = "operator/rows.rs"]
mod rows;
#[path = "support/mod.rs"]
mod support;
#[path = "operator/turns.rs"]
mod turns;

use agentese::operator::Operator;
use serde_json::Value;
use support::link::{Link, builder};

/// Starts an agent with a model script.
fn scripted(script: Value) -> (Link, tempfile::TempDir) {
    let (builder, place) = builder(script);
    (Link::for_dialect::<Operator>(builder), place)
}

/// Returns the events among frames, without their envelopes.
fn events(frames: &[Value]) -> Vec<Value> {
    frames.iter().filter(|frame| frame["type"] == "event").map(|frame| frame["event"].clone()).collect()
}

/// Returns the types of events.
fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}
