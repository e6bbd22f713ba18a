//! The serving side: what a small service answers to good and bad input, in each dialect's way.

mod edges;
mod lanes;
#[path = "../support/long.rs"]
mod long;
mod questions;
mod service;
