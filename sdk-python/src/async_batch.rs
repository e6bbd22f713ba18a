//! Events for an `async for`, without a coroutine for each event.

use pyo3::intern;
use pyo3::prelude::*;

use crate::arrived;
use crate::once::Once;
use crate::stream::Stream;

/// An asynchronous iterator over available events. Its Python subclass waits for more: `_next` is a coroutine
/// that returns the first of them.
#[pyclass(frozen, subclass)]
pub struct AsyncBatch {
    stream: Once<Py<Stream>>,
}

#[pymethods]
impl AsyncBatch {
    #[new]
    #[pyo3(signature = (*_args, **_options))]
    fn new(_args: &Bound<'_, PyAny>, _options: Option<&Bound<'_, PyAny>>) -> Self {
        AsyncBatch { stream: Once::new() }
    }

    fn __aiter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __anext__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let is_there = slf.get().stream.get().map_or(Ok(false), |stream| stream.get().has_ready(slf.py()))?;
        if is_there { arrived::new(slf) } else { slf.call_method0(intern!(slf.py(), "_next")) }
    }

    /// Sets the source of the events.
    fn _read(&self, stream: Py<Stream>) {
        self.stream.set(stream);
    }
}

impl AsyncBatch {
    /// Returns the next available event, if there is one.
    #[inline]
    pub fn next_ready<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.stream.get().map_or(Ok(None), |stream| stream.get().next_ready(py))
    }
}
