//! Client mode: the suite plays agents to client libraries and judges the libraries.

mod defects;
mod ours;
mod support;
mod torture;
