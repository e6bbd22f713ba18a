//! Tests of the serving side: responses of a small service to valid and invalid input, in every dialect.

mod edges;
#[path = "../support/long.rs"]
mod long;
mod questions;
mod scheduler;
mod service;
