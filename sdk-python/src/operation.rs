//! Work of the runtime, and its outcome.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use agentese::Error;
use agentese::framing::FrameText;
use agentese::termination::Termination;
use pyo3::prelude::*;
use tokio::task::AbortHandle;

use crate::fork_guarded::ForkGuarded;
use crate::kind::Decoder;
use crate::mailbox::Ticket;
use crate::wait::{Bell, deadline};
use crate::{errors, runtime};

/// The outcome of work.
pub enum Outcome {
    /// The data of a response, if there is any.
    Data(Option<FrameText>),
    /// The end of the connection.
    Over(Termination),
}

struct Slot {
    outcome: Mutex<Option<Result<Outcome, Error>>>,
    bell: Arc<Bell>,
    ticket: Option<Ticket>,
}

impl Slot {
    fn outcome(&self) -> MutexGuard<'_, Option<Result<Outcome, Error>>> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Task {
    slot: Arc<Slot>,
    abort: AbortHandle,
}

impl Drop for Task {
    fn drop(&mut self) {
        self.abort.abort();
    }
}

/// Work of the runtime. Dropping it cancels the work.
#[pyclass(frozen)]
pub struct Pending {
    task: ForkGuarded<Task>,
}

impl Pending {
    /// Starts the work. The steps before its first wait, such as sending a command, are done before this
    /// function returns. So commands are sent in the order of their calls. The ticket is posted at the end.
    pub fn start(
        ticket: Option<Ticket>,
        work: impl Future<Output = Result<Outcome, Error>> + Send + 'static,
    ) -> Self {
        let slot = Arc::new(Slot { outcome: Mutex::default(), bell: Arc::default(), ticket });
        let filled = slot.clone();
        let mut work = Box::pin(work);
        let _runtime = runtime::handle().enter();
        let first = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let task = runtime::handle().spawn(async move {
            let outcome = match first {
                Poll::Ready(outcome) => outcome,
                Poll::Pending => work.await,
            };
            *filled.outcome() = Some(outcome);
            filled.bell.ring();
            if let Some(ticket) = &filled.ticket {
                ticket.post();
            }
        });
        Pending { task: ForkGuarded::new(Task { slot, abort: task.abort_handle() }) }
    }
}

#[pymethods]
impl Pending {
    /// Blocks until the work is done, at most `seconds`. Returns `true` if it is done.
    #[pyo3(signature = (seconds=None))]
    fn wait(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<bool> {
        let slot = &self.task.get(py)?.slot;
        let deadline = deadline(seconds);
        loop {
            let heard = slot.bell.rings();
            if slot.outcome().is_some() {
                return Ok(true);
            }
            if !slot.bell.wait(py, heard, deadline)? {
                return Ok(slot.outcome().is_some());
            }
        }
    }

    /// Takes the outcome: the decoded data, `None` without data, or the end of the connection. Raises if the
    /// work failed.
    #[pyo3(signature = (decoder=None))]
    fn take<'py>(
        &self,
        py: Python<'py>,
        decoder: Option<&Bound<'py, Decoder>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let outcome = self.task.get(py)?.slot.outcome().take();
        match outcome {
            None => Err(errors::usage(py, "the outcome is not there yet, or has been taken")),
            Some(Err(error)) => Err(errors::from_core(py, &error)),
            Some(Ok(Outcome::Over(end))) => errors::termination(py, &end),
            Some(Ok(Outcome::Data(data))) => match decoder {
                None => Ok(py.None().into_bound(py)),
                Some(decoder) => decoder.get().decode_shared(py, &data.unwrap_or_else(|| "null".into())),
            },
        }
    }

    /// `true` if the work is done.
    #[getter]
    fn done(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.task.get(py)?.slot.outcome().is_some())
    }

    /// Cancels the work.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        self.task.get(py)?.abort.abort();
        Ok(())
    }
}
