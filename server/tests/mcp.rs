//! Tests of MCP servers with the program itself: third-party servers, and a server that misbehaves.
//!
//! Names with `fm_F…` are rows of the project's table of faults.

#[path = "mcp/dialects.rs"]
mod dialects;
#[path = "mcp/faults.rs"]
mod faults;
#[path = "mcp/harness.rs"]
mod harness;
#[path = "mcp/shared.rs"]
mod shared;
#[path = "support/mod.rs"]
mod support;
#[path = "mcp/third_party.rs"]
mod third_party;
#[path = "mcp/tools_and_prompts.rs"]
mod tools_and_prompts;
#[path = "mcp/trust.rs"]
mod trust;
