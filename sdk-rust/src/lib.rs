//! Typed clients and servers for coding agents that speak newline-delimited JSON on stdio.
//!
//! There are five dialects: `pi`, `omp`, `pisces`, `operator`, `opal`. Each has a module and a feature of
//! that name, and all features are on by default. To compile one dialect only, use `default-features = false`
//! and name its feature.
//!
//! * `Client` in the module of a dialect, for example [`pi::Client`], drives an agent: a method for every
//!   command, [`Run`] handles with their events, dialogs, timeouts, and one [`Termination`] value that fails
//!   every open call when the agent ends.
//! * `Service` in the module of a dialect is the trait that an agent implements; [`serve()`] runs it.
//! * [`dynamic`] is a client for a dialect that is chosen at run time.
//! * [`any`] is one client for agents of every dialect, with neutral commands and events.
//! * [`view`] folds frames of both directions into a conversation that front ends can show.
//! * `websocket`, a feature, connects a client to an agent behind a WebSocket.
//! * [`framing`], [`scan`], [`correlate`] and [`run_tracker`] are the parts without I/O.
//!
//! ```no_run
//! # async fn example() -> Result<(), agentese::Error> {
//! let client = agentese::pi::Client::spawn(["agentese", "--mode", "rpc", "--provider", "scripted"])?;
//! let state = client.get_state().await?;
//! println!("{} messages", state.message_count);
//! # Ok(())
//! # }
//! ```

pub mod any;
pub mod client;
mod core;
#[rustfmt::skip]
pub mod generated;
pub mod serve;
pub mod view;
#[cfg(feature = "websocket")]
pub mod websocket;

pub use crate::client::{Builder, Events, Limit, RawEvent, RpcClient, Run, RunResult};
pub use crate::client::{dynamic, run};
pub(crate) use crate::core::{bridged, connection, failure, frame_header, numbers, recognition};
pub use crate::core::{
    chunks, correlate, dialog, error, frame, framing, outcome, queue, redact, renames, revision_detector,
    route, run_limits, run_tracker, scan, schema, spec, strict, tap, termination, transport, wire,
};
pub use error::{Error, ErrorKind, RefusedError};
#[cfg(feature = "acp")]
pub use generated::acp;
#[cfg(feature = "agui")]
pub use generated::agui;
#[cfg(feature = "omp")]
pub use generated::omp;
#[cfg(feature = "opal")]
pub use generated::opal;
#[cfg(feature = "operator")]
pub use generated::operator;
#[cfg(feature = "pi")]
pub use generated::pi;
#[cfg(feature = "pisces")]
pub use generated::pisces;
pub use generated::types;
pub use outcome::RunFailure;
pub use redact::redact;
pub use run_limits::RunLimits;
pub use run_tracker::EndedBy;
pub use serve::serve;
pub use termination::Termination;
pub use transport::{ChildOptions, Transport};

/// The examples of the project's README, which compile with the rest.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct ReadmeExamples;
