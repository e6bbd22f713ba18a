//! Tests of the binary from outside.
//!
//! The names `fm_F…` refer to rows of the table in docs/faults.md.

#[path = "binary/acp_agents.rs"]
mod acp_agents;
#[path = "binary/any.rs"]
mod any;
#[path = "binary/call.rs"]
mod call;
#[path = "binary/command_line.rs"]
mod command_line;
#[path = "binary/lifecycle.rs"]
mod lifecycle;
#[path = "binary/live.rs"]
mod live;
#[path = "../../bridge/tests/program/live.rs"]
mod live_operator;
#[path = "binary/print_commands.rs"]
mod print_commands;
#[path = "binary/resource_access.rs"]
mod resource_access;
#[path = "binary/resources.rs"]
mod resources;
#[path = "binary/run_prompt.rs"]
mod run_prompt;
#[path = "binary/settings.rs"]
mod settings;
#[path = "../../server/tests/support/skip.rs"]
mod skip;
#[path = "binary/stderr.rs"]
mod stderr;
#[path = "binary/stdout.rs"]
mod stdout;
#[path = "binary/storage.rs"]
mod storage;
#[path = "../../server/tests/support/mod.rs"]
mod support;
#[path = "binary/system_prompt.rs"]
mod system_prompt;
#[path = "binary/terminal.rs"]
mod terminal;
#[path = "binary/trust.rs"]
mod trust;
#[path = "binary/web_access.rs"]
mod web_access;
#[path = "binary/web_client.rs"]
mod web_client;
