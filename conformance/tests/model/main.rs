//! Tests of the scripted model with a plain HTTP client.

mod breaks;
mod http;
#[path = "../../../sdk-rust/tests/support/long.rs"]
mod long;
mod received;
mod shapes;
