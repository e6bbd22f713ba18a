//! The foundation of clients and servers: framing, scanning, encoding and decoding, the connection and its
//! errors, processes.
//!
//! Most of these modules perform no I/O. The crate's root re-exports the public part.

pub(crate) mod bridged;
pub mod chunks;
pub(crate) mod connection;
pub mod correlate;
pub mod dialog;
pub mod error;
pub(crate) mod failure;
pub mod frame;
pub(crate) mod frame_header;
pub mod framing;
pub(crate) mod numbers;
pub mod outcome;
pub mod queue;
pub(crate) mod recognition;
pub mod redact;
pub mod renames;
pub mod revision_detector;
pub mod route;
pub mod run_limits;
pub mod run_tracker;
pub mod scan;
pub mod schema;
pub mod spec;
pub mod strict;
pub mod tap;
pub mod termination;
pub mod transport;
pub mod wire;
