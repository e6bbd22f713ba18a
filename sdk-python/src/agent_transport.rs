//! An agent to which no client is connected yet. Its dialect can be detected first.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentese::any;
use agentese::framing::FrameText;
use agentese::transport::Transport;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::fork_guarded::ForkGuarded;
use crate::frames::{FrameQueue, frame_queue, with_stderr_queue};
use crate::mailbox::Mailbox;
use crate::operation::{Operation, Outcome};
use crate::options::{ObserverFlags, Program};
use crate::{errors, runtime, transport};

/// The transport to the agent; `None` during the detection of its dialect, and after a connection has taken
/// it.
#[derive(Clone, Default)]
struct TransportCell(Arc<Mutex<Option<Transport>>>);

impl TransportCell {
    fn lock(&self) -> MutexGuard<'_, Option<Transport>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Inner {
    cell: TransportCell,
    frames: Option<Arc<FrameQueue>>,
    mailbox: Option<Py<Mailbox>>,
}

/// An agent to which no client is connected yet. Dropping it ends the agent.
#[pyclass(frozen)]
pub struct AgentTransport {
    inner: ForkGuarded<Inner>,
}

impl AgentTransport {
    fn new(transport: Transport, frames: Option<Arc<FrameQueue>>, mailbox: Option<Py<Mailbox>>) -> Self {
        let cell = TransportCell::default();
        *cell.lock() = Some(transport);
        AgentTransport { inner: ForkGuarded::new(Inner { cell, frames, mailbox }) }
    }

    /// Takes the transport for a connection. Fails if it was already taken.
    pub fn take(&self, py: Python<'_>) -> PyResult<Transport> {
        let taken = self.inner.get(py)?.cell.lock().take();
        taken.ok_or_else(|| errors::usage(py, "this agent already has a client"))
    }

    /// Returns the queue of its frames and lines of stderr.
    pub fn frames(&self, py: Python<'_>) -> PyResult<Option<Arc<FrameQueue>>> {
        Ok(self.inner.get(py)?.frames.clone())
    }
}

#[pymethods]
impl AgentTransport {
    /// Starts a program. If `frames` is given, frames are stored for an observer.
    #[staticmethod]
    #[pyo3(signature = (program, wants, mailbox=None, frames=None))]
    fn spawn(
        py: Python<'_>,
        program: Program,
        wants: ObserverFlags,
        mailbox: Option<Py<Mailbox>>,
        frames: Option<u64>,
    ) -> PyResult<Self> {
        let frames = frame_queue(py, mailbox.as_ref(), frames)?;
        let child = with_stderr_queue(program.into_core()?, frames.as_ref().filter(|_| wants.stderr));
        let _runtime = runtime::handle().enter();
        let opened = Transport::from_child(child).map_err(agentese::Error::from);
        let transport = opened.map_err(|error| errors::from_core(py, &error))?;
        Ok(Self::new(transport, frames, mailbox))
    }

    /// Uses a connected socket: a Unix socket, on Windows a TCP socket.
    #[staticmethod]
    #[pyo3(signature = (socket, mailbox=None, frames=None))]
    fn connect(
        py: Python<'_>,
        socket: transport::Socket,
        mailbox: Option<Py<Mailbox>>,
        frames: Option<u64>,
    ) -> PyResult<Self> {
        let frames = frame_queue(py, mailbox.as_ref(), frames)?;
        let _runtime = runtime::handle().enter();
        Ok(Self::new(transport::socket(socket)?, frames, mailbox))
    }

    /// Detects the dialect of the agent within that many seconds. The outcome is the name of the dialect.
    #[pyo3(signature = (within, token=None))]
    fn detect(&self, py: Python<'_>, within: f64, token: Option<u64>) -> PyResult<Operation> {
        let inner = self.inner.get(py)?;
        let within = Duration::try_from_secs_f64(within).map_err(|error| {
            PyValueError::new_err(format!("{within} is not a number of seconds: {error}"))
        })?;
        let posted = inner.mailbox.as_ref().zip(token);
        let token = posted.map(|(mailbox, number)| mailbox.get().token(py, number)).transpose()?;
        let (cell, transport) = (inner.cell.clone(), self.take(py)?);
        Ok(Operation::start(token, async move {
            let any::Detection { spec, transport, .. } = any::detect(transport, within).await?;
            *cell.lock() = Some(transport);
            Ok(Outcome::Data(Some(FrameText::from(format!("\"{}\"", spec.name)))))
        }))
    }
}
