//! Tests of extensions with the program itself. The extensions are well-behaved and misbehaving programs in Python
//! (standard library only), and extensions of pi.
//!
//! Names with `fm_F…` are rows of the project's table of faults.

#[path = "extensions/aborts.rs"]
mod aborts;
#[path = "extensions/children.rs"]
mod children;
#[path = "extensions/commands.rs"]
mod commands;
#[path = "extensions/dialogs.rs"]
mod dialogs;
#[path = "extensions/examples.rs"]
mod examples;
#[path = "extensions/faults.rs"]
mod faults;
#[path = "extensions/flags.rs"]
mod flags;
#[path = "extensions/guards.rs"]
mod guards;
#[path = "extensions/hooks.rs"]
mod hooks;
#[path = "extensions/host.rs"]
mod host;
#[path = "extensions/languages.rs"]
mod languages;
#[path = "extensions/lifecycle.rs"]
mod lifecycle;
#[path = "extensions/pi.rs"]
mod pi;
#[path = "extensions/questions.rs"]
mod questions;
#[path = "extensions/random_failures.rs"]
mod random_failures;
#[path = "extensions/recorded.rs"]
mod recorded;
#[path = "extensions/resources.rs"]
mod resources;
#[path = "extensions/revisions.rs"]
mod revisions;
#[path = "extensions/shared.rs"]
mod shared;
#[path = "support/mod.rs"]
mod support;
