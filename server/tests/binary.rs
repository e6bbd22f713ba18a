//! The binary, from outside.
//!
//! Names with `fm_F…` are rows of the project's table of faults.

#[path = "binary/command_line.rs"]
mod command_line;
#[path = "binary/life.rs"]
mod life;
#[path = "binary/stdout.rs"]
mod stdout;
#[path = "support/mod.rs"]
mod support;
