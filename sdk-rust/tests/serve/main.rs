//! Serving side: responses of a small service to valid and invalid input, in the form of each dialect.

mod edges;
#[path = "../support/long.rs"]
mod long;
mod questions;
mod scheduler;
mod service;
