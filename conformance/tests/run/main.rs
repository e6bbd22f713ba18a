//! Tests of judgement, runs and reports.

mod browser;
mod expected;
mod goldens;
#[path = "../../../sdk-rust/tests/support/long.rs"]
mod long;
mod process;
mod reports;
mod runs;
mod support;
mod waits;
