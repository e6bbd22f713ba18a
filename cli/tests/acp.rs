//! `agentese --mode acp`, from outside: what an editor sees. Every frame is compared with the JSON Schema of the protocol's
//! own project, and with ours.
//!
//! `npm ci` in `cli/tests/acp` sets the schema up; `make test` does that.

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
