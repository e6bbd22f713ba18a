//! HTTP exchange with a provider: sends a request, repeats it if necessary, and reads the answer as it arrives.

mod body;
mod exchange;
mod retry;
mod sender;
mod sse;

pub use agentese_server_models::http::Client;
pub(super) use exchange::{Exchange, answer};
#[cfg(test)]
pub(super) use exchange::{finish, read};
pub(super) use sender::Sender;
#[cfg(test)]
pub(super) use sse::SseParser;
