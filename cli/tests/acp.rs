//! Tests of `agentese --mode acp` with an editor. Every frame is validated against the JSON Schema of the
//! protocol's own project, and against ours.
//!
//! `npm ci` in `cli/tests/acp` installs the schema; `make test` runs it.

#[path = "acp/behind.rs"]
mod behind;
#[path = "acp/edges.rs"]
mod edges;
#[path = "acp/questions.rs"]
mod questions;
#[path = "acp/sessions.rs"]
mod sessions;
#[path = "acp/stage.rs"]
mod stage;
#[path = "../../server/tests/support/mod.rs"]
mod support;
#[path = "acp/turns.rs"]
mod turns;
#[path = "acp/workspace.rs"]
mod workspace;
