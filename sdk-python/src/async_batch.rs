//! Events for an `async for`, without a coroutine for each event.
//!
//! Each step of the loop receives an awaitable object. The event is taken when the object is awaited, so a
//! dropped one takes no event. Like a coroutine, the object can be awaited only once.
//!
//! The type of the awaitable is written by hand. It implements `am_send`, so that the interpreter receives
//! the event without a `StopIteration` exception.

use std::ffi::{c_char, c_int};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::exceptions::{PyMemoryError, PyRuntimeError};
use pyo3::ffi::{self, PySendResult};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};

use crate::once_slot::OnceSlot;
use crate::stream::Stream;

/// An asynchronous iterator over available events. Its Python subclass waits for further events: `_next` is a
/// coroutine that returns the next event.
#[pyclass(frozen, subclass)]
pub struct AsyncBatch {
    stream: OnceSlot<Py<Stream>>,
}

#[pymethods]
impl AsyncBatch {
    #[new]
    #[pyo3(signature = (*_args, **_options))]
    fn new(_args: &Bound<'_, PyAny>, _options: Option<&Bound<'_, PyAny>>) -> Self {
        AsyncBatch { stream: OnceSlot::new() }
    }

    fn __aiter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __anext__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let is_there = slf.get().stream.get().map_or(Ok(false), |stream| stream.get().has_ready(slf.py()))?;
        if is_there { awaitable(slf) } else { slf.call_method0(intern!(slf.py(), "_next")) }
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

/// The awaitable of one event. Accessed only under the interpreter's lock.
#[repr(C)]
struct EventAwaitable {
    base: ffi::PyObject,
    /// The iterator that supplies the event; null after the await. Owned.
    batch: *mut ffi::PyObject,
    /// The coroutine that waits for an event because another await took the available one; otherwise null.
    /// Owned.
    waiting: *mut ffi::PyObject,
}

/// The memory of a freed instance, reused by the next one.
static SPARE: AtomicPtr<EventAwaitable> = AtomicPtr::new(null_mut());

/// Creates an awaitable of the next event.
#[inline]
fn awaitable<'py>(batch: &Bound<'py, AsyncBatch>) -> PyResult<Bound<'py, PyAny>> {
    let py = batch.py();
    let class: *mut ffi::PyTypeObject = class(py)?.as_ptr().cast();
    // SAFETY: the memory has no other owner and is large enough. It is initialised before the object is
    // visible.
    #[allow(unsafe_code)]
    unsafe {
        let mut made = SPARE.swap(null_mut(), Ordering::Relaxed);
        if made.is_null() {
            made = ffi::PyObject_Malloc(size_of::<EventAwaitable>()).cast();
        }
        if made.is_null() {
            return Err(PyMemoryError::new_err(()));
        }
        (*made).batch = batch.clone().into_ptr();
        (*made).waiting = null_mut();
        Ok(Bound::from_owned_ptr(py, ffi::PyObject_Init(made.cast(), class)))
    }
}

/// Returns the class of all instances.
#[inline]
fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    Ok(CLASS.get_or_try_init(py, || make_class(py))?.bind(py))
}

fn make_class(py: Python<'_>) -> PyResult<Py<PyType>> {
    let method = |name: &'static std::ffi::CStr, function| ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: function },
        ml_flags: ffi::METH_VARARGS,
        ml_doc: null_mut::<c_char>(),
    };
    // The interpreter requires that the method table lives as long as the class.
    let methods = Box::leak(Box::new([
        method(c"throw", throw as ffi::PyCFunction),
        method(c"close", close as ffi::PyCFunction),
        ffi::PyMethodDef::zeroed(),
    ]));
    let slot = |slot, pfunc| ffi::PyType_Slot { slot, pfunc };
    let mut slots = [
        slot(ffi::Py_tp_dealloc, dealloc as *mut _),
        slot(ffi::Py_tp_iter, itself as *mut _),
        slot(ffi::Py_tp_iternext, next as *mut _),
        slot(ffi::Py_am_await, itself as *mut _),
        slot(ffi::Py_am_send, send as *mut _),
        slot(ffi::Py_tp_methods, methods.as_mut_ptr().cast()),
        slot(0, null_mut()),
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"agentese._native.EventAwaitable".as_ptr(),
        basicsize: size_of::<EventAwaitable>() as c_int,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION) as _,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: each slot has the type that its number requires, and its functions receive instances of this
    // class.
    #[allow(unsafe_code)]
    let class = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&raw mut spec))? };
    Ok(class.cast_into::<PyType>()?.unbind())
}

/// Takes the object out of a pointer field, which is null afterwards.
#[allow(unsafe_code)]
unsafe fn take_pointer<'py>(py: Python<'py>, place: *mut *mut ffi::PyObject) -> Option<Bound<'py, PyAny>> {
    // SAFETY: the callers are slots of the class, which pass fields of an instance. Each field is null or
    // owns its object.
    unsafe { Bound::from_owned_ptr_or_opt(py, place.replace(null_mut())) }
}

/// The next step of an await: an available event, or the coroutine that waits for one.
enum AwaitStep<'py> {
    Event(Bound<'py, PyAny>),
    Wait(Bound<'py, PyAny>),
}

#[allow(unsafe_code)]
unsafe fn next_step<'py>(py: Python<'py>, event_awaitable: *mut EventAwaitable) -> PyResult<AwaitStep<'py>> {
    // SAFETY: as in `take_pointer`.
    unsafe {
        if let Some(waiting) = Bound::from_borrowed_ptr_or_opt(py, (*event_awaitable).waiting) {
            return Ok(AwaitStep::Wait(waiting));
        }
        let Some(batch) = take_pointer(py, &raw mut (*event_awaitable).batch) else {
            return Err(already_awaited());
        };
        if let Some(event) = batch.cast::<AsyncBatch>()?.get().next_ready(py)? {
            return Ok(AwaitStep::Event(event));
        }
        let waiting = batch.call_method0(intern!(py, "_next"))?;
        (*event_awaitable).waiting = waiting.clone().into_ptr();
        Ok(AwaitStep::Wait(waiting))
    }
}

fn already_awaited() -> PyErr {
    PyRuntimeError::new_err("cannot reuse already awaited event")
}

#[allow(unsafe_code)]
unsafe extern "C" fn itself(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the interpreter holds the object during the call.
    unsafe { ffi::Py_NewRef(object) }
}

#[allow(unsafe_code)]
unsafe extern "C" fn send(
    object: *mut ffi::PyObject,
    sent: *mut ffi::PyObject,
    result: *mut *mut ffi::PyObject,
) -> PySendResult {
    let event_awaitable: *mut EventAwaitable = object.cast();
    // SAFETY: the interpreter calls this function under its lock with an instance that it holds. It provides
    // a place for the result, and then owns the result.
    unsafe {
        let py = Python::assume_attached();
        match next_step(py, event_awaitable) {
            Ok(AwaitStep::Event(event)) => {
                *result = event.into_ptr();
                PySendResult::PYGEN_RETURN
            }
            Ok(AwaitStep::Wait(waiting)) => {
                let sent = ffi::PyIter_Send(waiting.as_ptr(), sent, result);
                if !matches!(sent, PySendResult::PYGEN_NEXT) {
                    drop(take_pointer(py, &raw mut (*event_awaitable).waiting));
                }
                sent
            }
            Err(error) => {
                *result = null_mut();
                error.restore(py);
                PySendResult::PYGEN_ERROR
            }
        }
    }
}

#[allow(unsafe_code)]
unsafe extern "C" fn next(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    let mut result = null_mut();
    // SAFETY: as in `send`. An event is neither a tuple nor an exception, which `PyErr_SetObject` would
    // unpack.
    unsafe {
        match send(object, ffi::Py_None(), &raw mut result) {
            PySendResult::PYGEN_NEXT => result,
            PySendResult::PYGEN_RETURN => {
                ffi::PyErr_SetObject(ffi::PyExc_StopIteration, result);
                ffi::Py_DECREF(result);
                null_mut()
            }
            PySendResult::PYGEN_ERROR => null_mut(),
        }
    }
}

/// Raises an exception in the waiting coroutine, or in the caller if no coroutine waits.
#[allow(unsafe_code)]
unsafe extern "C" fn throw(object: *mut ffi::PyObject, given: *mut ffi::PyObject) -> *mut ffi::PyObject {
    let event_awaitable: *mut EventAwaitable = object.cast();
    // SAFETY: as in `send`; `given` is a tuple.
    unsafe {
        let py = Python::assume_attached();
        let given = Bound::from_borrowed_ptr(py, given).cast_into_unchecked::<PyTuple>();
        let thrown = match Bound::from_borrowed_ptr_or_opt(py, (*event_awaitable).waiting) {
            Some(waiting) => waiting
                .call_method1(intern!(py, "throw"), given)
                .inspect_err(|_| drop(take_pointer(py, &raw mut (*event_awaitable).waiting))),
            None => Err(take_pointer(py, &raw mut (*event_awaitable).batch)
                .map_or_else(already_awaited, |_| exception(&given))),
        };
        result_of(py, thrown)
    }
}

/// Returns the exception from the arguments of `throw`: the exception itself, or its class and arguments.
fn exception(given: &Bound<'_, PyTuple>) -> PyErr {
    let made = || -> PyResult<Bound<'_, PyAny>> {
        let first = given.get_item(0)?;
        let value = given.get_item(1).ok().filter(|value| !value.is_none());
        match (first.is_instance_of::<PyType>(), value) {
            (true, Some(value)) if value.is_instance(&first)? => Ok(value),
            (true, Some(value)) => first.call1((value,)),
            (true, None) => first.call0(),
            (false, _) => Ok(first),
        }
    };
    made().map_or_else(|error| error, PyErr::from_value)
}

/// Ends the waiting coroutine. An awaitable that was not awaited can no longer be awaited.
#[allow(unsafe_code)]
unsafe extern "C" fn close(object: *mut ffi::PyObject, _given: *mut ffi::PyObject) -> *mut ffi::PyObject {
    let event_awaitable: *mut EventAwaitable = object.cast();
    // SAFETY: as in `send`.
    unsafe {
        let py = Python::assume_attached();
        drop(take_pointer(py, &raw mut (*event_awaitable).batch));
        let closed = match take_pointer(py, &raw mut (*event_awaitable).waiting) {
            Some(waiting) => waiting.call_method0(intern!(py, "close")),
            None => Ok(py.None().into_bound(py)),
        };
        result_of(py, closed)
    }
}

fn result_of(py: Python<'_>, result: PyResult<Bound<'_, PyAny>>) -> *mut ffi::PyObject {
    match result {
        Ok(value) => value.into_ptr(),
        Err(error) => {
            error.restore(py);
            null_mut()
        }
    }
}

#[allow(unsafe_code)]
unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    let event_awaitable: *mut EventAwaitable = object.cast();
    // SAFETY: the object has no references any more. Its class is a heap type, to which each instance holds a
    // reference. All instances have the same size.
    unsafe {
        ffi::Py_XDECREF((*event_awaitable).batch);
        ffi::Py_XDECREF((*event_awaitable).waiting);
        let class = ffi::Py_TYPE(object);
        let spare = SPARE.swap(event_awaitable, Ordering::Relaxed);
        if !spare.is_null() {
            ffi::PyObject_Free(spare.cast());
        }
        ffi::Py_DECREF(class.cast());
    }
}
