//! Record classes without support for the cycle collector, created by ordinary `class` statements. Their
//! instances take less memory and are created and freed faster. The only Python objects that an instance
//! refers to are records inside it, so it cannot be part of a cycle.

use std::ffi::CString;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::record::Record;
use crate::record_class::record_offset;

/// The offset of the Rust record in instances of these classes, in bytes.
static RECORD_OFFSET: AtomicUsize = AtomicUsize::new(0);

/// Creates a class; called as the metaclass of a `class` statement whose only base is `Record`. Creates an
/// ordinary class if a member needs the class during its creation (`__set_name__`, `super()`).
#[pyfunction]
pub fn plain_class<'py>(
    name: &str,
    bases: &Bound<'py, PyTuple>,
    members: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = bases.py();
    let record = py.get_type::<Record>();
    let is_plain = bases.len() == 1 && bases.get_item(0)?.is(&record) && !needs_class(members)?;
    let Some(at) = record_offset(&record)?.filter(|_| is_plain) else {
        return py.get_type::<PyType>().call1((name, bases, members));
    };
    RECORD_OFFSET.store(at, Ordering::Relaxed);
    let module: Option<String> =
        members.get_item("__module__")?.map(|module| module.extract()).transpose()?;
    // Interpreters before 3.12 may keep a pointer to the name, so the name must live as long as the class.
    let full = CString::new(format!("{}.{name}", module.as_deref().unwrap_or("builtins")))?.into_raw();
    let slot = |slot, pfunc| ffi::PyType_Slot { slot, pfunc };
    let mut slots = [
        slot(ffi::Py_tp_dealloc, dealloc as *mut _),
        slot(ffi::Py_tp_free, ffi::PyObject_Free as *mut _),
        // A class inherits the flag for the cycle collector, unless it defines this slot without the flag.
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
    // SAFETY: each slot has the type that its number requires. Instances have the size of those of the base.
    #[allow(unsafe_code)]
    let class = unsafe {
        Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpecWithBases(&raw mut spec, bases.as_ptr()))?
    };
    for (name, value) in members {
        class.setattr(name.cast_into()?, value)?;
    }
    Ok(class)
}

/// Returns `true` if a member of the class body needs the class during its creation.
fn needs_class(members: &Bound<'_, PyDict>) -> PyResult<bool> {
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

/// Traverses an instance for the cycle collector. Only instances of a user's subclass are tracked.
#[allow(unsafe_code)]
unsafe extern "C" fn traverse(
    object: *mut ffi::PyObject,
    visit: ffi::visitproc,
    arg: *mut std::ffi::c_void,
) -> std::ffi::c_int {
    // SAFETY: the collector passes a live object and its own callback.
    unsafe { visit(ffi::Py_TYPE(object).cast(), arg) }
}

#[allow(unsafe_code)]
unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    // SAFETY: the object has no references any more, and `make` or `__new__` has initialised its record. Its
    // class is a heap type, to which each instance holds a reference. Instances of a user's subclass may be
    // tracked.
    unsafe {
        let record = object.byte_add(RECORD_OFFSET.load(Ordering::Relaxed)).cast::<Record>();
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
