//! Classes of records as a `class` statement makes them, but without the cycle collector: their instances take less memory and
//! come and go faster. No cycle can go through one, for a record holds no Python object but a record that is a part of it.

use std::ffi::CString;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::making::record_at;
use crate::record::Record;

/// Where the record lies in instances of these classes, in bytes.
static RECORD_AT: AtomicUsize = AtomicUsize::new(0);

/// Makes a class, as the metaclass of a `class` statement whose one base is `Record`. One with a member that has to be told of its
/// class while that is made (`__set_name__`, `super()`) is an ordinary class.
#[pyfunction]
pub fn plain_class<'py>(
    name: &str,
    bases: &Bound<'py, PyTuple>,
    members: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = bases.py();
    let record = py.get_type::<Record>();
    let is_plain = bases.len() == 1 && bases.get_item(0)?.is(&record) && !is_told(members)?;
    let Some(at) = record_at(&record)?.filter(|_| is_plain) else {
        return py.get_type::<PyType>().call1((name, bases, members));
    };
    RECORD_AT.store(at, Ordering::Relaxed);
    let module: Option<String> =
        members.get_item("__module__")?.map(|module| module.extract()).transpose()?;
    // Interpreters before 3.12 may keep the name as it is given: it lives as long as the class.
    let full = CString::new(format!("{}.{name}", module.as_deref().unwrap_or("builtins")))?.into_raw();
    let slot = |slot, pfunc| ffi::PyType_Slot { slot, pfunc };
    let mut slots = [
        slot(ffi::Py_tp_dealloc, dealloc as *mut _),
        slot(ffi::Py_tp_free, ffi::PyObject_Free as *mut _),
        // A class that has this one of its own and does not ask for the cycle collector does not inherit it.
        slot(ffi::Py_tp_traverse, traverse as *mut _),
        slot(0, null_mut()),
    ];
    let mut spec = ffi::PyType_Spec {
        name: full,
        basicsize: record.getattr("__basicsize__")?.extract()?,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_BASETYPE) as _,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the slots have the types that their numbers say; instances have the size of those of the base.
    #[allow(unsafe_code)]
    let class = unsafe {
        Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpecWithBases(&raw mut spec, bases.as_ptr()))?
    };
    for (name, value) in members {
        class.setattr(name.cast_into()?, value)?;
    }
    Ok(class)
}

/// Whether a class with these members tells one of them of itself.
fn is_told(members: &Bound<'_, PyDict>) -> PyResult<bool> {
    if members.contains(intern!(members.py(), "__classcell__"))? {
        return Ok(true);
    }
    for (_, value) in members {
        if value.get_type().hasattr(intern!(members.py(), "__set_name__"))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// For instances of a user's subclass, which are collected.
#[allow(unsafe_code)]
unsafe extern "C" fn traverse(
    object: *mut ffi::PyObject,
    visit: ffi::visitproc,
    arg: *mut std::ffi::c_void,
) -> std::ffi::c_int {
    // SAFETY: the collector gives an object that is alive, and what it wants to be told.
    unsafe { visit(ffi::Py_TYPE(object).cast(), arg) }
}

#[allow(unsafe_code)]
unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    // SAFETY: nobody has the object any more, and `make` or `__new__` has put a record there; its class is a heap type, of which
    // each instance holds a reference. That of a user's subclass may be collected.
    unsafe {
        let record = object.byte_add(RECORD_AT.load(Ordering::Relaxed)).cast::<Record>();
        if let Some(part) = (*record).take_part() {
            ffi::Py_DECREF(part.into_ptr());
        }
        record.drop_in_place();
        let class = ffi::Py_TYPE(object);
        if ffi::PyType_GetFlags(class) & ffi::Py_TPFLAGS_HAVE_GC != 0 {
            ffi::PyObject_GC_UnTrack(object.cast());
            ffi::PyObject_GC_Del(object.cast());
        } else {
            ffi::PyObject_Free(object.cast());
        }
        ffi::Py_DECREF(class.cast());
    }
}
