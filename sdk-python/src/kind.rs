//! The declared kind of a value, and its decoding.
//!
//! The generated tables contain kinds as text: `str`, `bool`, `int`, `number`, `any`, `object`,
//! `[KIND]` for a list, `{KIND}` for a map, and otherwise the name of a declared type.

use agentese::framing::FrameText;
use agentese::scan;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString, PyTuple, PyType};

use crate::interpreter_exit::call_python;
use crate::member_spans::MemberSpans;
use crate::path::Path;
use crate::record_class::RecordClass;
use crate::{errors, json};

/// The size in bytes below which a part of a frame is copied instead of shared.
const COPIED: usize = 512;

/// The features by which records of a class are recognised.
pub struct Shape {
    /// The names and the raw JSON of constant members.
    constants: Vec<(String, String)>,
    required: Vec<String>,
}

/// The declared kind of a value.
pub enum Kind {
    Str,
    Bool,
    Int,
    Number,
    Any,
    Object,
    Strings { open: bool, values: Vec<String> },
    List(Box<Kind>),
    Map(Box<Kind>),
    Record(RecordClass),
    Union { tag: String, open: bool, variants: Vec<(String, RecordClass)>, unknown: RecordClass },
    Choice(Vec<(Kind, Option<Shape>)>),
}

static TABLES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Returns an item of the generated tables.
fn table<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    TABLES
        .get_or_try_init(py, || {
            call_python(py, || py.import("agentese.generated.types")).map(|m| m.into_any().unbind())
        })?
        .bind(py)
        .getattr(name)
}

fn entry<'py>(py: Python<'py>, of: &str, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    table(py, of)?.cast_into::<PyDict>()?.get_item(name)
}

fn class(py: Python<'_>, name: &str) -> PyResult<RecordClass> {
    RecordClass::new(table(py, name)?.cast::<PyType>()?)
}

impl Kind {
    /// Parses the text of a kind.
    pub fn parse(py: Python<'_>, text: &str) -> PyResult<Self> {
        let inner = |open: char, close: char| text.strip_prefix(open)?.strip_suffix(close);
        if let Some(item) = inner('[', ']') {
            return Ok(Kind::List(Box::new(Kind::parse(py, item)?)));
        }
        if let Some(value) = inner('{', '}') {
            return Ok(Kind::Map(Box::new(Kind::parse(py, value)?)));
        }
        Ok(match text {
            "str" => Kind::Str,
            "bool" => Kind::Bool,
            "int" => Kind::Int,
            "number" => Kind::Number,
            "any" => Kind::Any,
            "object" => Kind::Object,
            name => return Kind::named(py, name),
        })
    }

    fn named(py: Python<'_>, name: &str) -> PyResult<Self> {
        if let Some(union) = entry(py, "UNIONS", name)? {
            let (tag, open, names): (String, bool, Bound<'_, PyDict>) = union.extract()?;
            let mut variants = Vec::new();
            for (value, name) in names {
                variants.push((value.extract()?, class(py, &name.extract::<String>()?)?));
            }
            return Ok(Kind::Union { tag, open, variants, unknown: class(py, "UnknownVariant")? });
        }
        if let Some(kinds) = entry(py, "CHOICES", name)? {
            let mut alternatives = Vec::new();
            for text in kinds.cast_into::<PyTuple>()? {
                let text: String = text.extract()?;
                let kind = Kind::parse(py, &text)?;
                let shape = match &kind {
                    Kind::Record(_) => Some(Shape::of(py, &text)?),
                    _ => None,
                };
                alternatives.push((kind, shape));
            }
            return Ok(Kind::Choice(alternatives));
        }
        if let Some(strings) = entry(py, "STRINGS", name)? {
            let (open, values) = strings.extract()?;
            return Ok(Kind::Strings { open, values });
        }
        class(py, name).map(Kind::Record).map_err(|_| PyKeyError::new_err(name.to_owned()))
    }

    /// Decodes a raw JSON text; `shared` is the text that contains it.
    pub fn decode<'py>(&self, py: Python<'py>, raw: &str, shared: &FrameText) -> PyResult<Bound<'py, PyAny>> {
        self.decode_known(py, raw, shared, None)
    }

    /// Decodes like `decode`. `places` are the positions of the members, if known.
    pub fn decode_known<'py>(
        &self,
        py: Python<'py>,
        raw: &str,
        shared: &FrameText,
        places: Option<MemberSpans>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // Copying a few bytes costs less than a shared reference to the frame.
        let part = || match raw.len() < COPIED {
            true => FrameText::from(raw),
            false => shared.slice_of(raw).unwrap_or_else(|| FrameText::from(raw)),
        };
        match self {
            Kind::Str | Kind::Strings { .. } => {
                let text = scan::string(raw).ok_or_else(|| mismatch(py, "a string", raw))?;
                Ok(PyString::new(py, &text).into_any())
            }
            Kind::Bool => match raw {
                "true" | "false" => scalar(py, raw),
                _ => Err(mismatch(py, "a boolean", raw)),
            },
            Kind::Int if raw.starts_with(|c: char| c == '-' || c.is_ascii_digit()) && json::is_exact(raw) => {
                let value = scalar(py, raw)?;
                if raw.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
                    return Ok(value);
                }
                // `1e3` and `2.0` are integers in JSON too.
                let number: f64 = value.extract()?;
                if number.fract() == 0.0 {
                    return py.get_type::<pyo3::types::PyInt>().call1((number,));
                }
                Err(mismatch(py, "a whole number", raw))
            }
            Kind::Int => Err(mismatch(py, "a whole number", raw)),
            Kind::Number if raw.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => scalar(py, raw),
            Kind::Number => Err(mismatch(py, "a number", raw)),
            Kind::Any => json::to_python(py, raw)
                .map_err(|error| errors::decode(py, &error.value(py).to_string(), raw)),
            Kind::Object if raw.starts_with('{') => Kind::Any.decode(py, raw, shared),
            Kind::Object => Err(mismatch(py, "an object", raw)),
            Kind::List(item) => {
                let items = PyList::empty(py);
                let sound = scan::items(raw, |raw| items.append(item.decode(py, raw, shared)?));
                match sound {
                    Ok(Ok(())) => Ok(items.into_any()),
                    Ok(Err(error)) => Err(error),
                    Err(_) => Err(mismatch(py, "an array", raw)),
                }
            }
            Kind::Map(value) => {
                let members = PyDict::new(py);
                let mut result = Ok(());
                let sound = scan::members(raw, |name, raw| {
                    if result.is_ok() {
                        let name = scan::string(&format!("\"{name}\""))
                            .map_or_else(|| name.to_owned(), |n| n.into_owned());
                        result =
                            value.decode(py, raw, shared).and_then(|value| members.set_item(name, value));
                    }
                });
                result?;
                sound.map_err(|_| mismatch(py, "an object", raw))?;
                Ok(members.into_any())
            }
            Kind::Record(class) if raw.starts_with('{') => class.make(py, part(), places),
            Kind::Record(_) => Err(mismatch(py, "an object", raw)),
            Kind::Union { tag, open, variants, unknown } => {
                let places = match places {
                    Some(places) => places,
                    None => MemberSpans::of(raw).map_err(|_| mismatch(py, "an object", raw))?,
                };
                let value = places
                    .find(raw, tag)
                    .and_then(scan::string)
                    .ok_or_else(|| mismatch(py, &format!("an object with `{tag}`"), raw))?;
                match variants.iter().find(|(known, _)| *known == value) {
                    Some((_, class)) => class.make(py, part(), Some(places)),
                    None if *open => unknown.make(py, part(), Some(places)),
                    None => Err(mismatch(py, &format!("a declared `{tag}`"), raw)),
                }
            }
            Kind::Choice(alternatives) => {
                for (kind, shape) in alternatives {
                    let fits = match shape {
                        Some(shape) => shape.fits(raw),
                        None => kind.looks_like(raw),
                    };
                    if fits {
                        return kind.decode(py, raw, shared);
                    }
                }
                Err(mismatch(py, "one of the declared shapes", raw))
            }
        }
    }

    /// Returns `true` if the text, judged by its beginning, can be a value of this kind.
    pub fn looks_like(&self, raw: &str) -> bool {
        match self {
            Kind::Str | Kind::Strings { .. } => raw.starts_with('"'),
            Kind::Bool => matches!(raw, "true" | "false"),
            Kind::Int | Kind::Number => raw.starts_with(|c: char| c == '-' || c.is_ascii_digit()),
            Kind::List(_) => raw.starts_with('['),
            Kind::Any | Kind::Choice(_) => true,
            Kind::Object | Kind::Map(_) | Kind::Record(_) | Kind::Union { .. } => raw.starts_with('{'),
        }
    }
}

impl Shape {
    fn of(py: Python<'_>, name: &str) -> PyResult<Self> {
        let shape = entry(py, "SHAPES", name)?.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        let (constants, required): (Vec<(String, String)>, Vec<String>) = shape.extract()?;
        Ok(Shape { constants, required })
    }

    /// Returns `true` if the text is an object with these features.
    pub fn fits(&self, raw: &str) -> bool {
        let mut wanted = vec![false; self.constants.len() + self.required.len()];
        let sound = scan::members(raw, |name, value| {
            for (at, (constant, expected)) in self.constants.iter().enumerate() {
                if scan::is_named(name, constant) {
                    wanted[at] = value == expected;
                }
            }
            for (at, required) in self.required.iter().enumerate() {
                if scan::is_named(name, required) {
                    wanted[self.constants.len() + at] = true;
                }
            }
        });
        sound.is_ok() && wanted.iter().all(|found| *found)
    }
}

fn scalar<'py>(py: Python<'py>, raw: &str) -> PyResult<Bound<'py, PyAny>> {
    match json::scalar(py, raw) {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) => Err(errors::decode(py, &error.value(py).to_string(), raw)),
        None => Err(mismatch(py, "a value", raw)),
    }
}

fn mismatch(py: Python<'_>, expected: &str, raw: &str) -> PyErr {
    let shown: String = raw.chars().take(80).collect();
    errors::decode(py, &format!("expected {expected}, found {shown}"), raw)
}

/// A decoder for values of one kind.
#[pyclass(frozen)]
pub struct Decoder {
    text: String,
    nullable: bool,
    kind: PyOnceLock<Kind>,
}

#[pymethods]
impl Decoder {
    #[new]
    #[pyo3(signature = (kind, nullable=false))]
    fn new(kind: String, nullable: bool) -> Self {
        Decoder { text: kind, nullable, kind: PyOnceLock::new() }
    }

    /// Decodes a JSON text.
    fn decode<'py>(&self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
        self.decode_shared(py, &FrameText::from(text))
    }

    /// Checks an outgoing JSON text at all levels; `what` is the start of the error message.
    fn check(&self, py: Python<'_>, text: &str, what: &str) -> PyResult<()> {
        if self.nullable && text == "null" {
            return Ok(());
        }
        self.kind(py)?.check(py, text, &Path::of(what))
    }
}

impl Decoder {
    fn kind(&self, py: Python<'_>) -> PyResult<&Kind> {
        self.kind.get_or_try_init(py, || Kind::parse(py, &self.text))
    }

    /// Decodes a JSON text, parts of which the result may share.
    pub fn decode_shared<'py>(&self, py: Python<'py>, text: &FrameText) -> PyResult<Bound<'py, PyAny>> {
        if self.nullable && text.as_str() == "null" {
            return Ok(py.None().into_bound(py));
        }
        self.kind(py)?.decode(py, text.as_str(), text)
    }
}
