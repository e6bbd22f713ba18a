//! Tests of `agentese --mode acp` with an editor. Every frame is validated against the JSON Schema of the
//! ACP project, and against the schema of this repository.
//!
//! `npm ci` in `cli/tests/acp` installs the schema; `make test` runs it.

#[path = "acp/bridge.rs"]
mod bridge;
#[path = "acp/edges.rs"]
mod edges;
#[path = "acp/editor.rs"]
mod editor;
#[path = "acp/questions.rs"]
mod questions;
#[path = "acp/sessions.rs"]
mod sessions;
#[path = "../../server/tests/support/mod.rs"]
mod support;
#[path = "acp/turns.rs"]
mod turns;
#[path = "acp/workspace.rs"]
mod workspace;
