//! Descriptor of a member in a generated class.

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::errors;
use crate::kind::Kind;
use crate::path::Path;
use crate::record::Record;

// This struct has no doc comment, because `help` displays the text of each member instead.
#[allow(missing_docs)]
#[pyclass(frozen)]
pub struct Member {
    name: String,
    kind_text: String,
    required: bool,
    nullable: bool,
    doc: String,
    kind: PyOnceLock<Kind>,
}

impl Member {
    fn kind(&self, py: Python<'_>) -> PyResult<&Kind> {
        self.kind.get_or_try_init(py, || Kind::parse(py, &self.kind_text))
    }

    /// Returns the wire name.
    pub fn wire(&self) -> &str {
        &self.name
    }

    /// Checks the raw JSON of this member at all levels.
    pub fn check(&self, py: Python<'_>, raw: Option<&str>, at: &Path<'_>) -> PyResult<()> {
        let at = at.member(&self.name);
        match raw {
            None if self.required => Err(at.mismatch(py, "is missing")),
            None => Ok(()),
            Some("null") if self.nullable => Ok(()),
            Some(raw) => self.kind(py)?.check(py, raw, &at),
        }
    }
}

#[pymethods]
impl Member {
    #[new]
    #[pyo3(signature = (name, kind, doc="", required=true, nullable=false), text_signature = None)]
    fn new(name: String, kind: String, doc: &str, required: bool, nullable: bool) -> Self {
        Member { name, kind_text: kind, required, nullable, doc: doc.to_owned(), kind: PyOnceLock::new() }
    }

    #[getter]
    fn __doc__(&self) -> &str {
        &self.doc
    }

    /// The wire name of the member.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// `true` if the member is required.
    #[getter]
    fn required(&self) -> bool {
        self.required
    }

    /// `true` if the member may be null.
    #[getter]
    fn nullable(&self) -> bool {
        self.nullable
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
        if let Some(part) = record.part(py, std::ptr::from_ref(member) as usize) {
            return Ok(part);
        }
        let kind = member.kind(py)?;
        let value = match record.member(py, &member.name)? {
            None if !member.required => Ok(py.None().into_bound(py)),
            None => Err(errors::decode(py, &format!("`{}` is missing", member.name), record.text().as_str())),
            Some("null") if member.nullable => Ok(py.None().into_bound(py)),
            Some(raw) => kind.decode_known(py, raw, record.text(), record.spans_in(raw)).map_err(|error| {
                let reason = error.value(py).to_string();
                errors::decode(py, &format!("`{}`: {reason}", member.name), record.text().as_str())
            }),
        }?;
        // A record is immutable, so all accesses can return the same object.
        if matches!(kind, Kind::Record(_) | Kind::Union { .. }) && !value.is_none() {
            record.cache_part(std::ptr::from_ref(member) as usize, &value);
        }
        Ok(value)
    }

    fn __set__(&self, _record: &Bound<'_, PyAny>, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyAttributeError::new_err(format!("`{}` cannot be set: records do not change", self.name)))
    }
}
