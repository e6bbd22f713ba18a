//! Tests of the scripted model, with a client that uses nothing but HTTP.

mod breaks;
mod http;
#[path = "../../../sdk-rust/tests/support/long.rs"]
mod long;
mod received;
mod shapes;
