//! A JSON object that is looked at when somebody asks: the base of all generated classes.

use std::cell::RefCell;
use std::sync::OnceLock;

use agentese::framing::FrameText;
use agentese::scan::{self, ScanError};
use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

use crate::{errors, json};

thread_local! {
    /// The text of the record that is being made. A class is called without arguments, which is the fastest
    /// way to make one, and `__new__` takes the text from here.
    static NEXT: RefCell<Option<(FrameText, Option<Places>)>> = const { RefCell::new(None) };
    static SCRATCH: RefCell<Vec<Place>> = const { RefCell::new(Vec::new()) };
}

/// Where a member stands: offsets into the text.
#[derive(Clone, Copy)]
struct Place {
    name: (u32, u32),
    value: (u32, u32),
}

/// Where all members of an object stand.
pub struct Places(Box<[Place]>);

impl Places {
    /// Looks through the text of an object.
    pub fn of(text: &str) -> Result<Self, ScanError> {
        // One list for all: only what is found is copied into memory of its own.
        SCRATCH.with(|scratch| {
            let mut places = scratch.borrow_mut();
            places.clear();
            let start = text.as_ptr() as usize;
            let place = |part: &str| {
                let from = part.as_ptr() as usize - start;
                (from as u32, (from + part.len()) as u32)
            };
            scan::members(text, |name, value| places.push(Place { name: place(name), value: place(value) }))?;
            Ok(Places(places.as_slice().into()))
        })
    }

    /// The raw JSON of a member of that text; of two with one name the last.
    #[inline]
    pub fn find<'a>(&self, text: &'a str, name: &str) -> Option<&'a str> {
        let part = |(from, to): (u32, u32)| text.get(from as usize..to as usize).unwrap_or_default();
        let found = self.0.iter().rev().find(|place| scan::is_named(part(place.name), name));
        found.map(|place| part(place.value))
    }
}

/// Takes a new record of a generated class out of the lists of the cycle collector, which would only look at it in
/// vain: such a record holds no Python object but its class, which outlives it.
#[inline]
fn untrack(made: &Bound<'_, PyAny>) {
    // SAFETY: the object is alive and nobody else has seen it yet. Only objects of classes that take part in the
    // collection have the header that is written to, and those may be untracked at any time.
    #[allow(unsafe_code)]
    unsafe {
        let object = made.as_ptr();
        if pyo3::ffi::PyType_GetFlags(pyo3::ffi::Py_TYPE(object)) & pyo3::ffi::Py_TPFLAGS_HAVE_GC != 0 {
            pyo3::ffi::PyObject_GC_UnTrack(object.cast());
        }
    }
}

/// A JSON object, decoded member by member when it is asked for. It never changes.
#[pyclass(frozen, subclass, name = "Record", module = "agentese._native")]
pub struct Record {
    text: FrameText,
    places: OnceLock<Places>,
}

impl Record {
    /// Makes an instance of any class.
    pub fn make<'py>(class: &Bound<'py, PyType>, text: FrameText) -> PyResult<Bound<'py, PyAny>> {
        NEXT.with(|next| *next.borrow_mut() = Some((text, None)));
        class.call0()
    }

    /// Makes an instance of a generated class, whose members may have been looked up.
    #[inline]
    pub fn make_generated<'py>(
        class: &Bound<'py, PyType>,
        text: FrameText,
        places: Option<Places>,
    ) -> PyResult<Bound<'py, PyAny>> {
        NEXT.with(|next| *next.borrow_mut() = Some((text, places)));
        let made = class.call0()?;
        untrack(&made);
        Ok(made)
    }

    /// The text.
    pub fn text(&self) -> &FrameText {
        &self.text
    }

    fn places(&self, py: Python<'_>) -> PyResult<&Places> {
        if let Some(places) = self.places.get() {
            return Ok(places);
        }
        let text = self.text.as_str();
        let places = Places::of(text).map_err(|error| errors::decode(py, &error.to_string(), text))?;
        Ok(self.places.get_or_init(|| places))
    }

    /// The raw JSON of a member; of two with one name the last.
    #[inline]
    pub fn member(&self, py: Python<'_>, name: &str) -> PyResult<Option<&str>> {
        Ok(self.places(py)?.find(self.text.as_str(), name))
    }
}

#[pymethods]
impl Record {
    #[new]
    fn new() -> PyResult<Self> {
        let given = NEXT.with(|next| next.borrow_mut().take());
        let (text, places) = given.ok_or_else(|| PyTypeError::new_err("use from_dict() or from_json()"))?;
        Ok(Record { text, places: places.map_or_else(OnceLock::new, OnceLock::from) })
    }

    /// Reads an object from its JSON text. Only its structure is checked now.
    #[classmethod]
    fn from_json<'py>(class: &Bound<'py, PyType>, text: &str) -> PyResult<Bound<'py, PyAny>> {
        let made = Record::make(class, FrameText::from(text))?;
        made.cast::<Record>()?.get().places(class.py())?;
        Ok(made)
    }

    /// Makes a record from members with their wire names.
    #[classmethod]
    fn from_dict<'py>(
        class: &Bound<'py, PyType>,
        members: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let encode = class.py().import("agentese.members")?.getattr("encode")?;
        let text: String = encode.call1((members,))?.extract()?;
        Record::from_json(class, &text)
    }

    /// The JSON text, as it came.
    #[getter]
    fn raw<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::new(py, self.text.as_str())
    }

    /// Everything, decoded, members that are not declared among it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, self.text.as_str())
            .map_err(|error| errors::decode(py, &error.value(py).to_string(), self.text.as_str()))
    }

    fn __setattr__(&self, name: &str, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyAttributeError::new_err(format!("`{name}` cannot be set: a record never changes")))
    }

    fn __delattr__(&self, name: &str) -> PyResult<()> {
        Err(PyAttributeError::new_err(format!("`{name}` cannot be deleted: a record never changes")))
    }

    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> bool {
        let same = |other: &Bound<'_, Record>| {
            slf.get_type().is(other.get_type()) && slf.get().text == other.get().text
        };
        other.cast::<Record>().is_ok_and(same)
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.text.hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let text = slf.get().text.as_str();
        let mut shown: String = text.chars().take(160).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        Ok(format!("{}({shown})", slf.get_type().name()?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().getattr("from_json")?, (slf.get().text.as_str().to_owned(),)))
    }
}
