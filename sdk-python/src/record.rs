//! A JSON object that is looked at when somebody asks: the base of all generated classes.

use std::cell::RefCell;
use std::sync::OnceLock;

use agentese::framing::FrameText;
use agentese::scan;
use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

use crate::{errors, json};

thread_local! {
    /// The text of the record that is being made. A class is called without arguments, which is the fastest
    /// way to make one, and `__new__` takes the text from here.
    static NEXT: RefCell<Option<FrameText>> = const { RefCell::new(None) };
}

/// Where a member stands: offsets into the text.
#[derive(Clone, Copy)]
struct Place {
    name: (u32, u32),
    value: (u32, u32),
}

/// A JSON object, decoded member by member when it is asked for. It never changes.
#[pyclass(frozen, subclass, name = "Record", module = "agentese._native")]
pub struct Record {
    text: FrameText,
    places: OnceLock<Box<[Place]>>,
}

impl Record {
    /// Makes an instance of a generated class.
    #[inline]
    pub fn make<'py>(class: &Bound<'py, PyType>, text: FrameText) -> PyResult<Bound<'py, PyAny>> {
        NEXT.with(|next| *next.borrow_mut() = Some(text));
        class.call0()
    }

    /// The text.
    pub fn text(&self) -> &FrameText {
        &self.text
    }

    fn places(&self, py: Python<'_>) -> PyResult<&[Place]> {
        if let Some(places) = self.places.get() {
            return Ok(places);
        }
        let text = self.text.as_str();
        let start = text.as_ptr() as usize;
        let place = |part: &str| {
            let from = part.as_ptr() as usize - start;
            (from as u32, (from + part.len()) as u32)
        };
        let mut places = Vec::with_capacity(8);
        scan::members(text, |name, value| places.push(Place { name: place(name), value: place(value) }))
            .map_err(|error| errors::decode(py, &error.to_string(), text))?;
        Ok(self.places.get_or_init(|| places.into_boxed_slice()))
    }

    /// The raw JSON of a member; of two with one name the last.
    #[inline]
    pub fn member(&self, py: Python<'_>, name: &str) -> PyResult<Option<&str>> {
        let text = self.text.as_str();
        let part = |(from, to): (u32, u32)| text.get(from as usize..to as usize).unwrap_or_default();
        let found = self.places(py)?.iter().rev().find(|place| scan::is_named(part(place.name), name));
        Ok(found.map(|place| part(place.value)))
    }
}

#[pymethods]
impl Record {
    #[new]
    fn new() -> PyResult<Self> {
        let text = NEXT.with(|next| next.borrow_mut().take());
        let text = text.ok_or_else(|| PyTypeError::new_err("use from_dict() or from_json()"))?;
        Ok(Record { text, places: OnceLock::new() })
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
