//! Tests of the client against agents that behave well, send invalid output, or never answer.

#![allow(clippy::print_stdout, reason = "the measurements are shown with --nocapture")]

mod calls;
mod dialogs;
mod faults;
mod group;
mod host;
mod limits;
#[path = "../support/long.rs"]
mod long;
mod peer;
mod process;
mod queues;
mod revision_frames;
mod revisions;
mod runs;
mod vectors;
