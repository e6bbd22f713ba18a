//! Making records of generated classes: an object and what it holds, without a call.

use agentese::framing::FrameText;
use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::once::Once;
use crate::places::Places;
use crate::record::Record;

/// A generated class, and how its instances are made.
pub struct RecordClass {
    class: Py<PyType>,
    /// None for classes whose instances are made by a call.
    layout: Option<Layout>,
}

/// What an instance is like.
#[derive(Clone, Copy)]
struct Layout {
    /// Where the record lies in it, in bytes.
    record_at: usize,
    /// Whether the cycle collector looks at it.
    is_collected: bool,
}

/// Where the record lies in an instance, in bytes, where an instance has nothing beside it.
pub fn record_at(class: &Bound<'_, PyType>) -> PyResult<Option<usize>> {
    // The layout is read off an instance that was made in the usual way.
    let made = Record::make(class, FrameText::default())?;
    let record = std::ptr::from_ref(made.cast::<Record>()?.get()) as usize;
    let at = record - made.as_ptr() as usize;
    let size: usize = class.getattr("__basicsize__")?.extract()?;
    let beside: [isize; 3] = [
        class.getattr("__itemsize__")?.extract()?,
        class.getattr("__dictoffset__")?.extract()?,
        class.getattr("__weakrefoffset__")?.extract()?,
    ];
    Ok((size == at + size_of::<Record>() && beside == [0; 3]).then_some(at))
}

impl RecordClass {
    /// Looks at a class: a subclass of `Record`.
    pub fn new(class: &Bound<'_, PyType>) -> PyResult<Self> {
        // SAFETY: it is a class.
        #[allow(unsafe_code)]
        let flags = unsafe { ffi::PyType_GetFlags(class.as_type_ptr()) };
        let is_collected = flags & ffi::Py_TPFLAGS_HAVE_GC != 0;
        let layout = record_at(class)?.map(|record_at| Layout { record_at, is_collected });
        Ok(RecordClass { class: class.clone().unbind(), layout })
    }

    /// The same.
    pub fn clone_ref(&self, py: Python<'_>) -> Self {
        RecordClass { class: self.class.clone_ref(py), layout: self.layout }
    }

    /// The class.
    pub fn class<'py>(&self, py: Python<'py>) -> &Bound<'py, PyType> {
        self.class.bind(py)
    }

    /// Makes an instance from its text; its members may have been looked up.
    #[inline]
    pub fn make<'py>(
        &self,
        py: Python<'py>,
        text: FrameText,
        places: Option<Places>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(Layout { record_at, is_collected }) = self.layout else {
            return Record::make(self.class(py), text);
        };
        let record = Record::new(text, places.map_or_else(Once::new, Once::from));
        let class: *mut ffi::PyTypeObject = self.class.as_ptr().cast();
        // SAFETY: the object is a new one of that class, and its memory is exactly that of an object with a record in it,
        // as `record_at` has seen.
        #[allow(unsafe_code)]
        unsafe {
            if is_collected {
                let made = Bound::from_owned_ptr_or_err(py, ffi::PyType_GenericAlloc(class, 0))?;
                made.as_ptr().byte_add(record_at).cast::<Record>().write(record);
                // The collector would only look at it in vain: it holds no Python object but its class, which outlives it, and
                // a record that is a part of it.
                ffi::PyObject_GC_UnTrack(made.as_ptr().cast());
                return Ok(made);
            }
            let made: *mut ffi::PyObject = ffi::PyObject_Malloc(record_at + size_of::<Record>()).cast();
            if made.is_null() {
                return Err(PyMemoryError::new_err(()));
            }
            made.byte_add(record_at).cast::<Record>().write(record);
            Ok(Bound::from_owned_ptr(py, ffi::PyObject_Init(made, class)))
        }
    }
}
