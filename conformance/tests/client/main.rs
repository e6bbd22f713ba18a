//! Client mode: the suite plays agents to client libraries, and judges what these make of it.

mod defects;
mod ours;
mod support;
mod torture;
