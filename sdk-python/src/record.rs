//! A JSON object with lazily decoded members: the base of all generated classes.

use std::cell::RefCell;

use agentese::framing::FrameText;
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};

use crate::ending::call_python;
use crate::member::Member;
use crate::once::Once;
use crate::places::Places;
use crate::{check, errors, json};

thread_local! {
    /// The text of the record that is being created, and its class. The class is called without arguments,
    /// and only the `__new__` of this class takes the text from here.
    static NEXT: RefCell<Option<(usize, FrameText)>> = const { RefCell::new(None) };
}

/// Returns the result of a function of the package.
fn helper<'py>(
    py: Python<'py>,
    module: &str,
    name: &str,
    arguments: impl PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    call_python(py, || py.import(module)?.getattr(name)?.call1(arguments))
}

/// An immutable JSON object whose members are decoded when they are read.
#[pyclass(frozen, subclass, name = "Record", module = "agentese._native")]
pub struct Record {
    text: FrameText,
    places: Once<Places>,
    /// The first read member that is a record itself: the address of its descriptor, which lives as long as
    /// the class, and its value.
    part: Once<(usize, Py<PyAny>)>,
}

impl Record {
    /// Creates the content of an instance.
    #[inline]
    pub fn new(text: FrameText, places: Once<Places>) -> Self {
        Record { text, places, part: Once::new() }
    }

    /// Creates an instance of any class.
    pub fn make<'py>(class: &Bound<'py, PyType>, text: FrameText) -> PyResult<Bound<'py, PyAny>> {
        let before = NEXT.replace(Some((class.as_ptr() as usize, text)));
        let made = class.call0();
        // A class of a user may have failed before it took the text, or may have created other records.
        NEXT.set(before);
        made
    }

    /// Returns the text.
    pub fn text(&self) -> &FrameText {
        &self.text
    }

    /// Returns the value of a member that is a record, if it was read before.
    #[inline]
    pub fn part<'py>(&self, py: Python<'py>, member: &Member) -> Option<Bound<'py, PyAny>> {
        let (known, value) = self.part.get()?;
        (*known == std::ptr::from_ref(member) as usize).then(|| value.bind(py).clone())
    }

    /// Stores the value of a member that is a record. Only the first value is stored.
    pub fn keep_part(&self, member: &Member, value: &Bound<'_, PyAny>) {
        if self.part.get().is_none() {
            self.part.set((std::ptr::from_ref(member) as usize, value.clone().unbind()));
        }
    }

    /// Takes the value stored by `keep_part`.
    pub fn take_part(&mut self) -> Option<Py<PyAny>> {
        Some(self.part.take()?.1)
    }

    fn places(&self, py: Python<'_>) -> PyResult<&Places> {
        if let Some(places) = self.places.get() {
            return Ok(places);
        }
        let text = self.text.as_str();
        let places = Places::of(text).map_err(|error| errors::decode(py, &error, text))?;
        Ok(self.places.get_or_set(places))
    }

    /// Returns the places of the members of an object within this one, if they are known.
    #[inline]
    pub fn places_in(&self, part: &str) -> Option<Places> {
        self.places.get()?.inner(self.text.as_str(), part)
    }

    /// Returns the raw JSON of a member; of two with the same name, the last one.
    #[inline]
    pub fn member(&self, py: Python<'_>, name: &str) -> PyResult<Option<&str>> {
        Ok(self.places(py)?.find(self.text.as_str(), name))
    }
}

#[pymethods]
impl Record {
    /// Creates a record from its members, by keyword.
    #[new]
    #[classmethod]
    #[pyo3(signature = (**members))]
    fn construct(class: &Bound<'_, PyType>, members: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let given = NEXT.with_borrow_mut(|next| next.take_if(|(of, _)| *of == class.as_ptr() as usize));
        if let Some((_, text)) = given {
            return Ok(Record::new(text, Once::new()));
        }
        let py = class.py();
        let text: String = helper(py, "agentese.members", "construct", (class, members))?.extract()?;
        check::record(py, class, &text, &check::Path::of(&class.name()?.to_string()))?;
        Ok(Record::new(FrameText::from(text), Once::new()))
    }

    /// Reads an object from its JSON text. Checks only its structure.
    #[classmethod]
    fn from_json<'py>(class: &Bound<'py, PyType>, text: &str) -> PyResult<Bound<'py, PyAny>> {
        let made = Record::make(class, FrameText::from(text))?;
        made.cast::<Record>()?.get().places(class.py())?;
        Ok(made)
    }

    /// Reads an object from its JSON text and checks all its parts. Fails with `EncodeError`.
    #[classmethod]
    fn _checked<'py>(class: &Bound<'py, PyType>, text: &str) -> PyResult<Bound<'py, PyAny>> {
        if class.hasattr("_constants")? {
            check::record(class.py(), class, text, &check::Path::of(&class.name()?.to_string()))?;
        }
        Record::from_json(class, text)
    }

    /// Returns the schema with which pydantic reads and writes this class.
    #[classmethod]
    fn __get_pydantic_core_schema__<'py>(
        class: &Bound<'py, PyType>,
        _source: &Bound<'py, PyAny>,
        _handler: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        helper(class.py(), "agentese.interchange", "pydantic_schema", (class,))
    }

    /// Creates a record from members with their wire names.
    #[classmethod]
    fn from_dict<'py>(
        class: &Bound<'py, PyType>,
        members: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let text: String = helper(class.py(), "agentese.members", "encode", (members,))?.extract()?;
        Record::from_json(class, &text)
    }

    /// The JSON text, as received.
    #[getter]
    fn raw<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::new(py, self.text.as_str())
    }

    /// Returns all members, decoded, including undeclared ones.
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

    /// Records are equal if their classes and their JSON values are equal, independent of spaces and the
    /// order of members.
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
        helper(slf.py(), "agentese.showing", "show", (slf,))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().getattr("from_json")?, (slf.get().text.as_str().to_owned(),)))
    }
}
