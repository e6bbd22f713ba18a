//! Asynchronous work on the Rust runtime, and its outcome.

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
use crate::mailbox::WakeToken;
use crate::notifier::{Notifier, deadline};
use crate::{errors, runtime};

/// The successful outcome of an operation.
pub enum Outcome {
    /// The data of a response, if there is any.
    Data(Option<FrameText>),
    /// The end of the connection.
    Terminated(Termination),
}

struct OutcomeCell {
    outcome: Mutex<Option<Result<Outcome, Error>>>,
    notifier: Arc<Notifier>,
    token: Option<WakeToken>,
}

impl OutcomeCell {
    fn outcome(&self) -> MutexGuard<'_, Option<Result<Outcome, Error>>> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Task {
    cell: Arc<OutcomeCell>,
    abort: AbortHandle,
}

impl Drop for Task {
    fn drop(&mut self) {
        self.abort.abort();
    }
}

/// Asynchronous work on the Rust runtime. Dropping the object cancels the work.
#[pyclass(frozen)]
pub struct Operation {
    task: ForkGuarded<Task>,
}

impl Operation {
    /// Starts the work. The work runs up to its first wait before this function returns, so commands are
    /// sent in the order of their calls. The token is posted when the work is done.
    pub fn start(
        token: Option<WakeToken>,
        work: impl Future<Output = Result<Outcome, Error>> + Send + 'static,
    ) -> Self {
        let cell = Arc::new(OutcomeCell { outcome: Mutex::default(), notifier: Arc::default(), token });
        let filled = cell.clone();
        let mut work = Box::pin(work);
        let _runtime = runtime::handle().enter();
        let first = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let task = runtime::handle().spawn(async move {
            let outcome = match first {
                Poll::Ready(outcome) => outcome,
                Poll::Pending => work.await,
            };
            *filled.outcome() = Some(outcome);
            filled.notifier.notify();
            if let Some(token) = &filled.token {
                token.post();
            }
        });
        Operation { task: ForkGuarded::new(Task { cell, abort: task.abort_handle() }) }
    }
}

#[pymethods]
impl Operation {
    /// Blocks until the work is done, at most `seconds`. Returns `true` if it is done.
    #[pyo3(signature = (seconds=None))]
    fn wait(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<bool> {
        let cell = &self.task.get(py)?.cell;
        let deadline = deadline(seconds);
        loop {
            let seen_count = cell.notifier.count();
            if cell.outcome().is_some() {
                return Ok(true);
            }
            if !cell.notifier.wait(py, seen_count, deadline)? {
                return Ok(cell.outcome().is_some());
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
        let outcome = self.task.get(py)?.cell.outcome().take();
        match outcome {
            None => Err(errors::usage(py, "the outcome is not available yet, or was already taken")),
            Some(Err(error)) => Err(errors::from_core(py, &error)),
            Some(Ok(Outcome::Terminated(end))) => errors::termination(py, &end),
            Some(Ok(Outcome::Data(data))) => match decoder {
                None => Ok(py.None().into_bound(py)),
                Some(decoder) => decoder.get().decode_shared(py, &data.unwrap_or_else(|| "null".into())),
            },
        }
    }

    /// `true` if the work is done.
    #[getter]
    fn done(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.task.get(py)?.cell.outcome().is_some())
    }

    /// Cancels the work.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        self.task.get(py)?.abort.abort();
        Ok(())
    }
}
