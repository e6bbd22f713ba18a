//! Judging, runs, reports.

mod browser;
mod expected;
mod goldens;
mod process;
mod reports;
mod runs;
mod support;
mod waits;
