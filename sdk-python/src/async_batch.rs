//! A batch of events that an `async for` takes one by one, without a coroutine for each.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;

/// An asynchronous iterator over events that have come. Its Python subclass fetches the next batch: `_next` is a
/// coroutine that gives the first event of it.
#[pyclass(frozen, subclass)]
pub struct AsyncBatch {
    events: Mutex<VecDeque<Py<PyAny>>>,
}

impl AsyncBatch {
    fn events(&self) -> MutexGuard<'_, VecDeque<Py<PyAny>>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl AsyncBatch {
    #[new]
    #[pyo3(signature = (*_args, **_options))]
    fn new(_args: &Bound<'_, PyAny>, _options: Option<&Bound<'_, PyAny>>) -> Self {
        AsyncBatch { events: Mutex::default() }
    }

    fn __aiter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __anext__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let event = slf.get().events().pop_front();
        match event {
            Some(event) => Ok(Bound::new(slf.py(), Arrived(Mutex::new(Some(event))))?.into_any()),
            None => slf.call_method0("_next"),
        }
    }

    /// Replaces the batch.
    fn _put(&self, events: Vec<Py<PyAny>>) {
        *self.events() = events.into();
    }

    /// Takes what is left of the batch.
    fn _take(&self) -> Vec<Py<PyAny>> {
        self.events().drain(..).collect()
    }
}

/// An awaitable whose value is there.
#[pyclass(frozen)]
struct Arrived(Mutex<Option<Py<PyAny>>>);

#[pymethods]
impl Arrived {
    fn __await__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self) -> PyResult<Py<PyAny>> {
        let value = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        Err(PyStopIteration::new_err((value,)))
    }
}
