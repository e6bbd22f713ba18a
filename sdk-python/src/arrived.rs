//! An awaitable whose value is there: what an `async for` is given for each event that has come.
//!
//! Its type is written by hand, because an interpreter that can takes the value with `am_send`, without an exception to
//! carry it.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

#[repr(C)]
struct Layout {
    base: ffi::PyObject,
    /// Null where it has been taken. Owned.
    value: AtomicPtr<ffi::PyObject>,
}

/// An awaitable that gives its value at once, and can be used again when nobody else has it any more.
pub struct Arrived(Py<PyAny>);

impl Arrived {
    /// One with that value.
    pub fn new(value: Bound<'_, PyAny>) -> PyResult<Self> {
        let class = class(value.py())?;
        // SAFETY: the class is that of `Layout`, and not the base of another one; its memory comes zeroed.
        #[allow(unsafe_code)]
        let made = unsafe {
            let made = ffi::PyType_GenericAlloc(class.as_ptr().cast(), 0);
            Bound::from_owned_ptr_or_err(value.py(), made)?
        };
        let arrived = Arrived(made.unbind());
        arrived.layout().value.store(value.into_ptr(), Ordering::Release);
        Ok(arrived)
    }

    fn layout(&self) -> &Layout {
        // SAFETY: the object is one of `class`, which has this layout, and alive.
        #[allow(unsafe_code)]
        unsafe {
            &*self.0.as_ptr().cast::<Layout>()
        }
    }

    /// Gives it the next value, and then itself; gives the value back where somebody still has it.
    #[inline]
    pub fn again<'py>(&self, value: Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Bound<'py, PyAny>> {
        // Whoever comes second at the same time finds a value.
        // SAFETY: the object is alive.
        #[allow(unsafe_code)]
        let is_free = unsafe { ffi::Py_REFCNT(self.0.as_ptr()) } == 1;
        let slot = &self.layout().value;
        if !is_free
            || slot.compare_exchange(null_mut(), value.as_ptr(), Ordering::AcqRel, Ordering::Relaxed).is_err()
        {
            return Err(value);
        }
        let py = value.py();
        // It is the slot's now.
        let _ = value.into_ptr();
        Ok(self.0.bind(py).clone())
    }

    /// The awaitable.
    pub fn bind<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.0.bind(py).clone()
    }
}

/// The class of all of them.
fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let made = CLASS.get_or_try_init(py, || {
        let slot = |slot, pfunc| ffi::PyType_Slot { slot, pfunc };
        let mut slots = [
            slot(ffi::Py_tp_dealloc, dealloc as *mut _),
            slot(ffi::Py_tp_iter, itself as *mut _),
            slot(ffi::Py_tp_iternext, next as *mut _),
            slot(ffi::Py_am_await, itself as *mut _),
            slot(ffi::Py_am_send, send as *mut _),
            slot(0, null_mut()),
        ];
        let mut spec = ffi::PyType_Spec {
            name: c"agentese._native.Arrived".as_ptr(),
            basicsize: size_of::<Layout>() as _,
            itemsize: 0,
            flags: (ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION) as _,
            slots: slots.as_mut_ptr(),
        };
        // SAFETY: the slots have the types that their numbers say, and what they are given is of this class.
        #[allow(unsafe_code)]
        let class = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&raw mut spec))? };
        Ok::<_, PyErr>(class.cast_into::<PyType>()?.unbind())
    })?;
    Ok(made.bind(py))
}

/// What is in the slot, which is empty then: an owned object, or null.
#[allow(unsafe_code)]
unsafe fn taken(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: only slots of the class call this, with its instances.
    unsafe { (*object.cast::<Layout>()).value.swap(null_mut(), Ordering::AcqRel) }
}

#[allow(unsafe_code)]
unsafe extern "C" fn itself(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the interpreter holds the object while it asks.
    unsafe { ffi::Py_NewRef(object) }
}

#[allow(unsafe_code)]
unsafe extern "C" fn send(
    object: *mut ffi::PyObject,
    _sent: *mut ffi::PyObject,
    result: *mut *mut ffi::PyObject,
) -> ffi::PySendResult {
    // SAFETY: as `taken`; the interpreter gives a place for the result, which it owns then.
    unsafe {
        let value = taken(object);
        *result = if value.is_null() { ffi::Py_NewRef(ffi::Py_None()) } else { value };
    }
    ffi::PySendResult::PYGEN_RETURN
}

#[allow(unsafe_code)]
unsafe extern "C" fn next(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: as `taken`. An event is neither a tuple nor an exception, which would be taken for what the exception is
    // made of.
    unsafe {
        let value = taken(object);
        if value.is_null() {
            ffi::PyErr_SetNone(ffi::PyExc_StopIteration);
        } else {
            ffi::PyErr_SetObject(ffi::PyExc_StopIteration, value);
            ffi::Py_DECREF(value);
        }
    }
    null_mut()
}

#[allow(unsafe_code)]
unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    // SAFETY: nobody has the object any more; its class is a heap type, of which each instance holds a reference.
    unsafe {
        ffi::Py_XDECREF(taken(object));
        let class = ffi::Py_TYPE(object);
        ffi::PyObject_Free(object.cast());
        ffi::Py_DECREF(class.cast());
    }
}
