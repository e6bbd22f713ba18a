//! Generators from the declaration of `agentese-protocol`: JSON Schema, OpenRPC, Rust, TypeScript, Python
//! and the declaration itself as JSON.
//!
//! The module of each target generates its files from the [`Index`](agentese_protocol::Index) of each dialect.
//! [`artefacts`] lists all of them; [`output`] writes or compares them.

pub mod changes;
pub mod conformance;
pub mod declaration;
pub mod examples;
pub mod intents;
pub mod json_schema;
pub mod meaning;
pub mod model_json;
pub mod names;
pub mod openrpc;
pub mod outcome;
pub mod output;
pub mod python;
pub mod reference;
pub mod rust;
pub mod typescript;
pub mod uncovered;

pub use output::Artefact;

/// The command that writes all generated files.
pub const COMMAND: &str = "cargo run -p agentese-codegen";

/// Returns every generated file, with its path from the root of the repository.
pub fn artefacts() -> Vec<Artefact> {
    let mut files = Vec::new();
    files.push(model_json::artefact());
    files.extend(json_schema::artefacts());
    files.extend(openrpc::artefacts());
    files.extend(changes::artefacts());
    files.extend(reference::artefacts());
    files.extend(rust::artefacts());
    files.extend(typescript::artefacts());
    files.extend(python::artefacts());
    files.extend(conformance::artefacts());
    files
}
