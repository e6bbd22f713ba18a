//! Tests of the comparison of transcripts, as described in docs/conformance-matching.md.

mod allowances;
mod choices;
mod concurrent_streams;
mod derived;
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
mod support;
mod unfinished;
