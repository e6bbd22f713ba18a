//! Typed clients and servers for coding agents that speak newline-delimited JSON on stdio.
//!
//! One declaration describes five dialects ([`pi`], [`omp`], [`pisces`], [`operator`], [`opal`]);
//! this crate has what is generated from it and what makes it run:
//!
//! * [`RpcClient`] drives an agent: a typed method for every command, [`Run`] handles with events,
//!   dialogs, timeouts, and one [`Termination`] value that settles everything when it ends;
//! * [`serve`](mod@serve) is the other side: a trait with a method for every command;
//! * [`framing`], [`scan`], [`correlate`], [`run_tracker`] are the parts without I/O.
//!
//! ```no_run
//! # async fn example() -> Result<(), agentese::Error> {
//! let client = agentese::pi::Client::spawn(["agentese", "--mode", "rpc", "--provider", "scripted"])?;
//! let state = client.get_state().await?;
//! println!("{} messages", state.message_count);
//! # Ok(())
//! # }
//! ```

pub mod client;
mod core;
#[rustfmt::skip]
pub mod generated;
pub mod serve;

pub use crate::client::{Builder, Events, Limit, RawEvent, RpcClient, Run, RunResult};
pub use crate::client::{dialog, dynamic, error, run, tap, termination};
pub(crate) use crate::core::{connection, failure};
pub use crate::core::{
    correlate, frame, framing, queue, redact, route, run_tracker, scan, schema, script, spec, transport, wire,
};
pub use error::{Error, ErrorKind, Refused};
pub use generated::{omp, opal, operator, pi, pisces, types};
pub use redact::redact;
pub use run_tracker::EndedBy;
pub use serve::serve;
pub use termination::Termination;
pub use transport::{ChildOptions, Transport};

/// The examples of the project's README, which compile with the rest.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct ReadmeExamples;
