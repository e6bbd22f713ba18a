//! A JSON object that is looked at when somebody asks: the base of all generated classes.

use std::cell::RefCell;
use std::sync::OnceLock;

use agentese::framing::FrameText;
use agentese::scan::{self, ScanError};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};

use crate::member::Member;
use crate::{check, errors, json};

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
/// vain: such a record holds no Python object but its class, which outlives it, and a record that is a part of it.
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

/// A JSON object whose members are decoded when they are read. It does not change.
#[pyclass(frozen, subclass, name = "Record", module = "agentese._native")]
pub struct Record {
    text: FrameText,
    places: OnceLock<Places>,
    /// The member that was read first of those that are records themselves, by the place of its descriptor, which lives
    /// as long as the class; and its value.
    part: OnceLock<(usize, Py<PyAny>)>,
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

    /// The value of a member that is a record, where it was read before.
    #[inline]
    pub fn part<'py>(&self, py: Python<'py>, member: &Member) -> Option<Bound<'py, PyAny>> {
        let (known, value) = self.part.get()?;
        (*known == std::ptr::from_ref(member) as usize).then(|| value.bind(py).clone())
    }

    /// Remembers the value of a member that is a record. Only the first one is kept.
    pub fn keep_part(&self, member: &Member, value: &Bound<'_, PyAny>) {
        self.part.get_or_init(|| (std::ptr::from_ref(member) as usize, value.clone().unbind()));
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
    /// Makes a record from its members, by keyword.
    #[new]
    #[classmethod]
    #[pyo3(signature = (**members))]
    fn new(class: &Bound<'_, PyType>, members: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let given = NEXT.with(|next| next.borrow_mut().take());
        if let Some((text, places)) = given {
            let places = places.map_or_else(OnceLock::new, OnceLock::from);
            return Ok(Record { text, places, part: OnceLock::new() });
        }
        let py = class.py();
        let construct = py.import("agentese.members")?.getattr("construct")?;
        let text: String = construct.call1((class, members))?.extract()?;
        check::record(py, class, &text, &check::Path::of(&class.name()?.to_string()))?;
        Ok(Record { text: FrameText::from(text), places: OnceLock::new(), part: OnceLock::new() })
    }

    /// Reads an object from its JSON text. Only its structure is checked now.
    #[classmethod]
    fn from_json<'py>(class: &Bound<'py, PyType>, text: &str) -> PyResult<Bound<'py, PyAny>> {
        let made = Record::make(class, FrameText::from(text))?;
        made.cast::<Record>()?.get().places(class.py())?;
        Ok(made)
    }

    /// Reads an object from its JSON text and checks everything in it; fails with `EncodeError`.
    #[classmethod]
    fn _checked<'py>(class: &Bound<'py, PyType>, text: &str) -> PyResult<Bound<'py, PyAny>> {
        if class.hasattr("_constants")? {
            check::record(class.py(), class, text, &check::Path::of(&class.name()?.to_string()))?;
        }
        Record::from_json(class, text)
    }

    /// How pydantic reads and writes this class.
    #[classmethod]
    fn __get_pydantic_core_schema__<'py>(
        class: &Bound<'py, PyType>,
        _source: &Bound<'py, PyAny>,
        _handler: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        class.py().import("agentese.interchange")?.getattr("pydantic_schema")?.call1((class,))
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
        Err(PyAttributeError::new_err(format!("`{name}` cannot be set: records do not change")))
    }

    fn __delattr__(&self, name: &str) -> PyResult<()> {
        Err(PyAttributeError::new_err(format!("`{name}` cannot be deleted: records do not change")))
    }

    /// Records are equal where their classes are the same and their JSON values are: spaces and the order of
    /// members do not count.
    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Record>() else { return Ok(false) };
        if !slf.get_type().is(other.get_type()) {
            return Ok(false);
        }
        let (ours, theirs) = (&slf.get().text, &other.get().text);
        if ours == theirs {
            return Ok(true);
        }
        match (json::to_python(slf.py(), ours.as_str()), json::to_python(slf.py(), theirs.as_str())) {
            (Ok(ours), Ok(theirs)) => ours.eq(theirs),
            _ => Ok(false),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        json::to_python(py, self.text.as_str()).and_then(|value| json::hash(&value))
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("agentese.showing")?.getattr("show")?.call1((slf,))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().getattr("from_json")?, (slf.get().text.as_str().to_owned(),)))
    }
}
