//! Tests of the comparison of transcripts, as described in docs/conformance-matching.md.

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
