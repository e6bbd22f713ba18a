//! Creation of records of generated classes without a call of the class.

use agentese::framing::FrameText;
use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::member_spans::MemberSpans;
use crate::once_slot::OnceSlot;
use crate::record::Record;

/// A generated class, and the layout of its instances.
pub struct RecordClass {
    class: Py<PyType>,
    /// The layout of instances; `None` for classes that must be called to create an instance.
    layout: Option<InstanceLayout>,
}

/// The layout of an instance.
#[derive(Clone, Copy)]
struct InstanceLayout {
    /// The offset of the record, in bytes.
    record_offset: usize,
    /// `true` if the cycle collector tracks the instances.
    is_collected: bool,
}

/// Returns the offset of the record in an instance, in bytes. Returns `None` if instances have content
/// besides the record.
pub fn record_offset(class: &Bound<'_, PyType>) -> PyResult<Option<usize>> {
    // The layout is taken from an instance that was created by a call.
    let made = Record::make(class, FrameText::default())?;
    let record = std::ptr::from_ref(made.cast::<Record>()?.get()) as usize;
    let at = record - made.as_ptr() as usize;
    let size: usize = class.getattr("__basicsize__")?.extract()?;
    let extra_sizes: [isize; 3] = [
        class.getattr("__itemsize__")?.extract()?,
        class.getattr("__dictoffset__")?.extract()?,
        class.getattr("__weakrefoffset__")?.extract()?,
    ];
    Ok((size == at + size_of::<Record>() && extra_sizes == [0; 3]).then_some(at))
}

impl RecordClass {
    /// Inspects a class, which must be a subclass of `Record`.
    pub fn new(class: &Bound<'_, PyType>) -> PyResult<Self> {
        // SAFETY: the object is a class.
        #[allow(unsafe_code)]
        let flags = unsafe { ffi::PyType_GetFlags(class.as_type_ptr()) };
        let is_collected = flags & ffi::Py_TPFLAGS_HAVE_GC != 0;
        let layout =
            record_offset(class)?.map(|record_offset| InstanceLayout { record_offset, is_collected });
        Ok(RecordClass { class: class.clone().unbind(), layout })
    }

    /// Returns a copy that refers to the same class.
    pub fn clone_ref(&self, py: Python<'_>) -> Self {
        RecordClass { class: self.class.clone_ref(py), layout: self.layout }
    }

    /// Returns the class.
    pub fn class<'py>(&self, py: Python<'py>) -> &Bound<'py, PyType> {
        self.class.bind(py)
    }

    /// Creates an instance from its text, with the positions of its members if they are known.
    #[inline]
    pub fn make<'py>(
        &self,
        py: Python<'py>,
        text: FrameText,
        places: Option<MemberSpans>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(InstanceLayout { record_offset, is_collected }) = self.layout else {
            return Record::make(self.class(py), text);
        };
        let record = Record::new(text, places.map_or_else(OnceSlot::new, OnceSlot::from));
        let class: *mut ffi::PyTypeObject = self.class.as_ptr().cast();
        // SAFETY: the object is a new instance of that class, and its memory is exactly that of an object
        // with a record, as verified by `record_offset`.
        #[allow(unsafe_code)]
        unsafe {
            if is_collected {
                let made = Bound::from_owned_ptr_or_err(py, ffi::PyType_GenericAlloc(class, 0))?;
                made.as_ptr().byte_add(record_offset).cast::<Record>().write(record);
                // Tracking by the collector would have no effect: the object refers only to its class, which
                // outlives it, and to a record inside it.
                ffi::PyObject_GC_UnTrack(made.as_ptr().cast());
                return Ok(made);
            }
            let made: *mut ffi::PyObject = ffi::PyObject_Malloc(record_offset + size_of::<Record>()).cast();
            if made.is_null() {
                return Err(PyMemoryError::new_err(()));
            }
            made.byte_add(record_offset).cast::<Record>().write(record);
            Ok(Bound::from_owned_ptr(py, ffi::PyObject_Init(made, class)))
        }
    }
}
