//! Tests of the opal dialect within this process.

#[path = "opal/client.rs"]
mod client;
#[path = "opal/concurrent.rs"]
mod concurrent;
#[path = "opal/errors.rs"]
mod errors;
#[path = "opal/limits.rs"]
mod limits;
#[path = "opal/login.rs"]
mod login;
#[path = "opal/processes.rs"]
mod processes;
#[path = "opal/questions.rs"]
mod questions;
#[path = "opal/rows.rs"]
mod rows;
#[path = "opal/rpc.rs"]
mod rpc;
#[path = "opal/runs.rs"]
mod runs;
#[path = "opal/sessions.rs"]
mod sessions;
#[path = "support/mod.rs"]
mod support;
#[path = "opal/tools.rs"]
mod tools;
