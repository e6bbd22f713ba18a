//! Tests of the published schemas against the frames of real agents.

#![allow(clippy::print_stdout, reason = "the counts are shown with --nocapture")]

mod accept;
mod exceptions;
mod refuse;
mod sites;
mod validators;
