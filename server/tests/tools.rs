//! Tests of the tools from outside: the result that the model receives, and the effect of the call.
//!
//! Names with `fm_F…` are rows of the project's table of faults.

#[path = "tools/bash.rs"]
mod bash;
#[path = "tools/edit.rs"]
mod edit;
#[path = "tools/read.rs"]
mod read;
#[path = "tools/rpc_bash.rs"]
mod rpc_bash;
#[path = "tools/search.rs"]
mod search;
#[path = "tools/support.rs"]
mod support;
#[path = "tools/write.rs"]
mod write;
