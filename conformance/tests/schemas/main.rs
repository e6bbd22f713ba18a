//! The published schemas against what real agents sent.

#![allow(clippy::print_stdout, reason = "what was counted is shown with --nocapture")]

mod accept;
mod exceptions;
mod refuse;
mod sites;
mod validators;
