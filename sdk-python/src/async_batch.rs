//! Events that an `async for` takes one by one, without a coroutine for each.

use pyo3::prelude::*;

use crate::arrived::Arrived;
use crate::once::Once;
use crate::stream::Stream;

/// An asynchronous iterator over events that have come. Its Python subclass waits for more: `_next` is a coroutine that
/// gives the first of them.
#[pyclass(frozen, subclass)]
pub struct AsyncBatch {
    stream: Once<Py<Stream>>,
    /// Used again for each event, as long as nobody keeps it.
    arrived: Once<Arrived>,
}

#[pymethods]
impl AsyncBatch {
    #[new]
    #[pyo3(signature = (*_args, **_options))]
    fn new(_args: &Bound<'_, PyAny>, _options: Option<&Bound<'_, PyAny>>) -> Self {
        AsyncBatch { stream: Once::new(), arrived: Once::new() }
    }

    fn __aiter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __anext__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let batch = slf.get();
        let event = match batch.stream.get() {
            Some(stream) => stream.get().next_ready(slf.py())?,
            None => None,
        };
        let Some(mut event) = event else { return slf.call_method0("_next") };
        if let Some(arrived) = batch.arrived.get() {
            match arrived.again(event) {
                Ok(awaitable) => return Ok(awaitable),
                Err(back) => event = back,
            }
        }
        let arrived = Arrived::new(event)?;
        let awaitable = arrived.bind(slf.py());
        batch.arrived.set(arrived);
        Ok(awaitable)
    }

    /// Says where the events are.
    fn _read(&self, stream: Py<Stream>) {
        self.stream.set(stream);
    }
}
