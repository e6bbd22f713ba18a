//! Client mode: the suite plays agents to client libraries, and judges what these make of it.

mod ours;
mod support;
