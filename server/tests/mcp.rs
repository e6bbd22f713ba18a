//! Tests of MCP servers with the binary: third-party servers, and a misbehaving one.
//!
//! Names with `fm_F…` are rows of the project's table of faults.

#[path = "mcp/dialects.rs"]
mod dialects;
#[path = "mcp/faults.rs"]
mod faults;
#[path = "mcp/offered.rs"]
mod offered;
#[path = "mcp/others.rs"]
mod others;
#[path = "mcp/shared.rs"]
mod shared;
#[path = "mcp/stage.rs"]
mod stage;
#[path = "support/mod.rs"]
mod support;
#[path = "mcp/trust.rs"]
mod trust;
