//! Tests of the published schemas against the frames of real agents.

#![allow(clippy::print_stdout, reason = "what was counted is shown with --nocapture")]

mod accept;
mod exceptions;
mod refuse;
mod sites;
mod validators;
