//! The scripted model, by a client that knows nothing but HTTP.

mod breaks;
mod http;
mod received;
mod shapes;
