//! The Python methods of records.

use agentese::framing::FrameText;
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};

use crate::interpreter_exit::call_python;
use crate::once_slot::OnceSlot;
use crate::path::Path;
use crate::record::Record;
use crate::{check, errors, json};

/// Calls a function of the Python package and returns its result.
fn helper<'py>(
    py: Python<'py>,
    module: &str,
    name: &str,
    arguments: impl PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    call_python(py, || py.import(module)?.getattr(name)?.call1(arguments))
}

#[pymethods]
impl Record {
    /// Creates a record from its members, by keyword.
    #[new]
    #[classmethod]
    #[pyo3(signature = (**members))]
    fn construct(class: &Bound<'_, PyType>, members: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        if let Some(text) = Record::take_next(class) {
            return Ok(Record::new(text, OnceSlot::new()));
        }
        let py = class.py();
        let text: String = helper(py, "agentese.members", "construct", (class, members))?.extract()?;
        check::record(py, class, &text, &Path::of(&class.name()?.to_string()))?;
        Ok(Record::new(FrameText::from(text), OnceSlot::new()))
    }

    /// Reads an object from its JSON text. Checks only its structure.
    #[classmethod]
    fn from_json<'py>(class: &Bound<'py, PyType>, text: &str) -> PyResult<Bound<'py, PyAny>> {
        let made = Record::make(class, FrameText::from(text))?;
        made.cast::<Record>()?.get().spans(class.py())?;
        Ok(made)
    }

    /// Reads an object from its JSON text and checks all its parts. Fails with `EncodeError`.
    #[classmethod]
    fn _checked<'py>(class: &Bound<'py, PyType>, text: &str) -> PyResult<Bound<'py, PyAny>> {
        if class.hasattr("_constants")? {
            check::record(class.py(), class, text, &Path::of(&class.name()?.to_string()))?;
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
        PyString::new(py, self.text().as_str())
    }

    /// Returns all members, decoded, including undeclared ones.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, self.text().as_str())
            .map_err(|error| errors::decode(py, &error.value(py).to_string(), self.text().as_str()))
    }

    fn __setattr__(&self, name: &str, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyAttributeError::new_err(format!("`{name}` cannot be set: records do not change")))
    }

    fn __delattr__(&self, name: &str) -> PyResult<()> {
        Err(PyAttributeError::new_err(format!("`{name}` cannot be deleted: records do not change")))
    }

    /// Returns `true` if the classes and the JSON values of two records are equal. Spaces and the order
    /// of members do not matter.
    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Record>() else { return Ok(false) };
        if !slf.get_type().is(other.get_type()) {
            return Ok(false);
        }
        let (ours, theirs) = (slf.get().text(), other.get().text());
        if ours == theirs {
            return Ok(true);
        }
        match (json::to_python(slf.py(), ours.as_str()), json::to_python(slf.py(), theirs.as_str())) {
            (Ok(ours), Ok(theirs)) => ours.eq(theirs),
            _ => Ok(false),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        json::to_python(py, self.text().as_str()).and_then(|value| json::hash(&value))
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        helper(slf.py(), "agentese.record_repr", "record_repr", (slf,))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().getattr("from_json")?, (slf.get().text().as_str().to_owned(),)))
    }
}
