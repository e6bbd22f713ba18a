//! Tests of client mode, in which the suite plays the agent and judges a client library.

mod defects;
mod ours;
mod support;
mod torture;
