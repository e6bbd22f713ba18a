//! Validation of outgoing values against their declaration.

use agentese::scan;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::kind::Kind;
use crate::member::Member;
use crate::member_spans::MemberSpans;
use crate::path::Path;

impl Kind {
    /// Checks the raw JSON of a value at all levels. Fails with `EncodeError`, which contains the
    /// location of the first mismatch.
    pub fn check(&self, py: Python<'_>, raw: &str, at: &Path<'_>) -> PyResult<()> {
        let number = raw.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let whole = || raw.parse::<f64>().is_ok_and(|number| number.fract() == 0.0);
        match self {
            Kind::Any => Ok(()),
            Kind::Str if raw.starts_with('"') => Ok(()),
            Kind::Str => Err(at.expected(py, "a string", raw)),
            Kind::Bool if matches!(raw, "true" | "false") => Ok(()),
            Kind::Bool => Err(at.expected(py, "a boolean", raw)),
            Kind::Int if number && whole() => Ok(()),
            Kind::Int => Err(at.expected(py, "a whole number", raw)),
            Kind::Number if number => Ok(()),
            Kind::Number => Err(at.expected(py, "a number", raw)),
            Kind::Object if raw.starts_with('{') => Ok(()),
            Kind::Object => Err(at.expected(py, "an object", raw)),
            Kind::Strings { open, values } => match scan::string(raw) {
                Some(text) if *open || values.iter().any(|value| *value == text) => Ok(()),
                _ if *open => Err(at.expected(py, "a string", raw)),
                _ => {
                    let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
                    Err(at.expected(py, &format!("one of {}", values.join(", ")), raw))
                }
            },
            Kind::List(item) => {
                let mut index = 0;
                let sound = scan::items(raw, |raw| {
                    let here = at.item(index);
                    index += 1;
                    item.check(py, raw, &here)
                });
                sound.map_err(|_| at.expected(py, "an array", raw))?
            }
            Kind::Map(value) => {
                let mut result = Ok(());
                let sound = scan::members(raw, |name, raw| {
                    if result.is_ok() {
                        result = value.check(py, raw, &at.member(name));
                    }
                });
                sound.map_err(|_| at.expected(py, "an object", raw))?;
                result
            }
            Kind::Record(class) => record(py, class.class(py), raw, at),
            Kind::Union { tag, open, variants, .. } => {
                let places = MemberSpans::of(raw).map_err(|_| at.expected(py, "an object", raw))?;
                let value = places.find(raw, tag).and_then(scan::string);
                let found = variants.iter().find(|(known, _)| Some(known.as_str()) == value.as_deref());
                match (found, value) {
                    (Some((_, class)), _) => record(py, class.class(py), raw, at),
                    (None, Some(_)) if *open => Ok(()),
                    _ => {
                        let known: Vec<String> =
                            variants.iter().map(|(known, _)| format!("{known:?}")).collect();
                        Err(at.expected(
                            py,
                            &format!("an object whose `{tag}` is one of {}", known.join(", ")),
                            raw,
                        ))
                    }
                }
            }
            Kind::Choice(alternatives) => {
                for (kind, shape) in alternatives {
                    let fits = shape.as_ref().map_or_else(|| kind.looks_like(raw), |shape| shape.fits(raw));
                    if fits {
                        return kind.check(py, raw, at);
                    }
                }
                Err(at.expected(py, "one of the declared shapes", raw))
            }
        }
    }
}

/// Checks an object against a class of records.
pub fn record(py: Python<'_>, class: &Bound<'_, PyType>, raw: &str, at: &Path<'_>) -> PyResult<()> {
    let places = MemberSpans::of(raw).map_err(|_| at.expected(py, "an object", raw))?;
    for (name, value) in class.getattr("_constants")?.cast_into::<PyDict>()? {
        let (name, value): (String, String) = (name.extract()?, value.extract()?);
        let found = places.find(raw, &name);
        if found != Some(value.as_str()) {
            return Err(at.member(&name).expected(py, &value, found.unwrap_or("nothing")));
        }
    }
    for name in class.getattr("__match_args__")?.cast_into::<PyTuple>()? {
        let member = class.getattr(name.cast_into()?)?.cast_into::<Member>()?;
        member.get().check(py, places.find(raw, member.get().wire()), at)?;
    }
    Ok(())
}
