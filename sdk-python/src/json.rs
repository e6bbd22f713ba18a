//! Conversion of JSON text to Python values, in one pass.
//!
//! The parser accepts the input of real agents: a lone surrogate escape becomes U+FFFD, as everywhere in
//! agentese. Of two members with the same name, the last one applies. A number too large for a double is read
//! as the largest double.

use agentese::scan::{self, MAX_DEPTH};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

/// Returns the value of a JSON text. Fails with `ValueError` if the text is invalid.
pub fn to_python<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let mut reader = Parser { py, text, at: 0 };
    let value = reader.value(0)?;
    reader.skip_whitespace();
    if reader.at < text.len() {
        return Err(reader.error("the end of the text"));
    }
    Ok(value)
}

struct Parser<'py, 'a> {
    py: Python<'py>,
    text: &'a str,
    at: usize,
}

impl<'py> Parser<'py, '_> {
    fn error(&self, expected: &str) -> PyErr {
        PyValueError::new_err(format!("expected {expected} at byte {}", self.at))
    }

    fn skip_whitespace(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(self.at) {
            self.at += 1;
        }
    }

    fn peek(&mut self) -> u8 {
        self.skip_whitespace();
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn value(&mut self, depth: usize) -> PyResult<Bound<'py, PyAny>> {
        if depth > MAX_DEPTH {
            return Err(self.error("fewer levels of nesting"));
        }
        match self.peek() {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => Ok(self.string()?.into_any()),
            _ => self.scalar(),
        }
    }

    fn object(&mut self, depth: usize) -> PyResult<Bound<'py, PyAny>> {
        let members = PyDict::new(self.py);
        self.at += 1;
        if self.peek() == b'}' {
            self.at += 1;
            return Ok(members.into_any());
        }
        loop {
            if self.peek() != b'"' {
                return Err(self.error("a member's name"));
            }
            let name = self.string()?;
            if self.peek() != b':' {
                return Err(self.error("`:`"));
            }
            self.at += 1;
            members.set_item(name, self.value(depth + 1)?)?;
            match self.peek() {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(members.into_any());
                }
                _ => return Err(self.error("`,` or `}`")),
            }
        }
    }

    fn array(&mut self, depth: usize) -> PyResult<Bound<'py, PyAny>> {
        let items = PyList::empty(self.py);
        self.at += 1;
        if self.peek() == b']' {
            self.at += 1;
            return Ok(items.into_any());
        }
        loop {
            items.append(self.value(depth + 1)?)?;
            match self.peek() {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Ok(items.into_any());
                }
                _ => return Err(self.error("`,` or `]`")),
            }
        }
    }

    fn string(&mut self) -> PyResult<Bound<'py, PyString>> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        self.at += 1;
        loop {
            match bytes.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(0..0x20) | None => return Err(self.error("a string's end")),
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        let raw = self.text.get(start..self.at).unwrap_or_default();
        match scan::string(raw) {
            Some(text) => Ok(PyString::new(self.py, &text)),
            None => Err(self.error("a valid escape")),
        }
    }

    fn scalar(&mut self) -> PyResult<Bound<'py, PyAny>> {
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest
            .iter()
            .position(|byte| !matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'+' | b'-' | b'.'))
            .unwrap_or(rest.len());
        let raw = self.text.get(self.at..self.at + length).unwrap_or_default();
        let value = scalar(self.py, raw).ok_or_else(|| self.error("a value"))??;
        self.at += length;
        Ok(value)
    }
}

/// Returns a number, `true`, `false` or `null`. Returns `None` for any other value.
pub fn scalar<'py>(py: Python<'py>, raw: &str) -> Option<PyResult<Bound<'py, PyAny>>> {
    match raw {
        "null" => return Some(Ok(py.None().into_bound(py))),
        "true" => return Some(Ok(true.into_pyobject(py).ok()?.to_owned().into_any())),
        "false" => return Some(Ok(false.into_pyobject(py).ok()?.to_owned().into_any())),
        _ => {}
    }
    if !is_number(raw) {
        return None;
    }
    if raw.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) || raw == "-0" {
        let number: f64 = raw.parse().ok()?;
        let number = number.clamp(-f64::MAX, f64::MAX);
        return Some(number.into_pyobject(py).map(Bound::into_any).map_err(PyErr::from));
    }
    if let Ok(number) = raw.parse::<i64>() {
        return Some(number.into_pyobject(py).map(Bound::into_any).map_err(PyErr::from));
    }
    if !is_exact(raw) {
        let largest = if raw.starts_with('-') { -f64::MAX } else { f64::MAX };
        return Some(largest.into_pyobject(py).map(Bound::into_any).map_err(PyErr::from));
    }
    let int = py.get_type::<pyo3::types::PyInt>();
    Some(int.call1((raw,)))
}

/// Returns `true` if Python represents a number exactly. Longer integers are not parsed, because that takes too long.
pub fn is_exact(raw: &str) -> bool {
    const DIGITS: usize = 4300;
    match raw.contains(['.', 'e', 'E']) {
        true => raw.parse::<f64>().is_ok_and(f64::is_finite),
        false => raw.trim_start_matches('-').len() <= DIGITS,
    }
}

fn is_number(raw: &str) -> bool {
    fn digits(bytes: &[u8]) -> usize {
        bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
    }
    let bytes = raw.strip_prefix('-').unwrap_or(raw).as_bytes();
    let whole = digits(bytes);
    if whole == 0 || (whole > 1 && bytes[0] == b'0') {
        return false;
    }
    let mut rest = &bytes[whole..];
    if let [b'.', fraction @ ..] = rest {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = &fraction[count..];
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = match exponent {
            [b'+' | b'-', exponent @ ..] => exponent,
            other => other,
        };
        let count = digits(exponent);
        if count == 0 {
            return false;
        }
        rest = &exponent[count..];
    }
    rest.is_empty()
}

/// Returns a hash of a decoded value: equal for equal values, independent of the order of members.
pub fn hash(value: &Bound<'_, PyAny>) -> PyResult<isize> {
    if let Ok(members) = value.cast::<PyDict>() {
        let mut sum = 0isize;
        for (name, member) in members {
            sum = sum.wrapping_add(name.hash()?.rotate_left(7) ^ hash(&member)?.wrapping_mul(31));
        }
        return Ok(sum);
    }
    if let Ok(items) = value.cast::<PyList>() {
        let mut all = 17isize;
        for item in items {
            all = all.wrapping_mul(31).wrapping_add(hash(&item)?);
        }
        return Ok(all);
    }
    value.hash()
}
