//! Transcripts are compared as docs/conformance-matching.md says.

mod allowances;
mod choices;
mod document;
mod goldens;
#[path = "../../../sdk-rust/tests/support/long.rs"]
mod long;
mod near;
mod neutral;
mod noticed;
mod rendering;
mod rows;
mod rows_others;
mod rows_pi;
mod semantics;
mod strands;
mod support;
mod unfinished;
mod written;
