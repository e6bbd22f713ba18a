//! The scripted model, by a client that knows nothing but HTTP.

mod breaks;
mod http;
#[path = "../../../sdk-rust/tests/support/long.rs"]
mod long;
mod received;
mod shapes;
