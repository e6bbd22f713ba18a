//! Tests of the omp dialect within this process, in the points in which it differs from pi.

#[path = "omp/behavior.rs"]
mod behavior;
#[path = "omp/commands.rs"]
mod commands;
#[path = "omp/files.rs"]
mod files;
#[path = "omp/rules.rs"]
mod rules;
#[path = "omp/runs.rs"]
mod runs;
#[path = "omp/streaming.rs"]
mod streaming;
#[path = "support/mod.rs"]
mod support;
#[path = "omp/todos.rs"]
mod todos;

use agentese::omp::Omp;
use serde_json::Value;
use support::link::{Link, builder};

/// Starts an agent with a model script.
fn scripted(script: Value) -> (Link, tempfile::TempDir) {
    let (builder, place) = builder(script);
    (Link::for_dialect::<Omp>(builder), place)
}
