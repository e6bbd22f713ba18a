//! The native core of the Python package `agentese`: connections, lazy records, framing, serving.
//!
//! Threads of the Rust runtime never attach to Python. They store results in slots and queues and then wake
//! the waiting side: a blocked Python thread through a condition variable, an event loop through its mailbox.

mod agent_transport;
mod async_batch;
mod check;
mod connection;
mod errors;
mod facts;
mod fork_guarded;
mod framer;
mod frames;
mod generation;
#[cfg(unix)]
mod inherited;
mod interpreter_exit;
mod json;
mod kind;
mod mailbox;
mod member;
mod member_spans;
mod notifier;
mod once_slot;
mod operation;
mod options;
mod path;
mod plain_class;
mod questions;
mod record;
mod record_class;
mod record_methods;
mod runtime;
mod serving;
mod stream;
mod transport;

/// Frames are allocated on the runtime's threads and freed on Python's threads. The system's allocator needs
/// a lock for that. Measured on Linux; Windows has its own allocator.
#[cfg(unix)]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The native core; not part of the public interface.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use super::agent_transport::AgentTransport;
    #[pymodule_export]
    use super::async_batch::AsyncBatch;
    #[pymodule_export]
    use super::connection::Connection;
    #[pymodule_export]
    use super::facts::{commands, facts};
    #[pymodule_export]
    use super::fork_guarded::forked;
    #[pymodule_export]
    use super::framer::Framer;
    #[pymodule_export]
    use super::interpreter_exit::hold_threads;
    #[pymodule_export]
    use super::kind::Decoder;
    #[pymodule_export]
    use super::mailbox::Mailbox;
    #[pymodule_export]
    use super::member::Member;
    #[pymodule_export]
    use super::operation::Operation;
    #[pymodule_export]
    use super::plain_class::plain_class;
    #[pymodule_export]
    use super::questions::Question;
    #[pymodule_export]
    use super::record::Record;
    #[pymodule_export]
    use super::runtime::shut_down;
    #[pymodule_export]
    use super::serving::{Server, ServerCall};
    #[pymodule_export]
    use super::stream::{EventTable, Stream};
}
