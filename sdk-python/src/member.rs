//! A member of a generated class, as a descriptor.

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::errors;
use crate::kind::Kind;
use crate::record::Record;

/// A member of a record, decoded when it is read.
#[pyclass(frozen)]
pub struct Member {
    name: String,
    kind_text: String,
    required: bool,
    nullable: bool,
    doc: String,
    kind: PyOnceLock<Kind>,
}

#[pymethods]
impl Member {
    #[new]
    #[pyo3(signature = (name, kind, doc="", required=true, nullable=false))]
    fn new(name: String, kind: String, doc: &str, required: bool, nullable: bool) -> Self {
        Member { name, kind_text: kind, required, nullable, doc: doc.to_owned(), kind: PyOnceLock::new() }
    }

    #[getter]
    fn __doc__(&self) -> &str {
        &self.doc
    }

    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        record: Option<&Bound<'py, PyAny>>,
        _owner: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(record) = record else { return Ok(slf.clone().into_any()) };
        let py = slf.py();
        let record = record.cast::<Record>()?.get();
        let member = slf.get();
        let kind = member.kind.get_or_try_init(py, || Kind::parse(py, &member.kind_text))?;
        match record.member(py, &member.name)? {
            None if !member.required => Ok(py.None().into_bound(py)),
            None => Err(errors::decode(py, &format!("`{}` is missing", member.name), record.text().as_str())),
            Some("null") if member.nullable => Ok(py.None().into_bound(py)),
            Some(raw) => kind.decode(py, raw, record.text()).map_err(|error| {
                let reason = error.value(py).to_string();
                errors::decode(py, &format!("`{}`: {reason}", member.name), record.text().as_str())
            }),
        }
    }

    fn __set__(&self, _record: &Bound<'_, PyAny>, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyAttributeError::new_err(format!("`{}` cannot be set: a record never changes", self.name)))
    }
}
