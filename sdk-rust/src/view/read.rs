//! Extraction of values from frames, and conversion to the neutral form. Null is treated as absent.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

use super::meaning::{Case, Condition, Meaning, Reader, Source, Sources};

/// The tag of a case for strings; `OTHER` is the tag of the case for all other values.
const STRING: &str = "(string)";
const OTHER: &str = "(other)";

/// Returns the value at a path. A path consists of names and list indices, separated by dots.
pub(crate) fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let mut found = value;
    for name in path.split('.').filter(|name| !name.is_empty()) {
        found = match found {
            Value::Array(items) => items.get(name.parse::<usize>().ok()?)?,
            Value::Object(members) => members.get(name)?,
            _ => return None,
        };
    }
    (!found.is_null()).then_some(found)
}

/// Returns `true` if all conditions hold.
pub(crate) fn holds(tests: &[Condition], value: &Value) -> bool {
    tests.iter().all(|test| match test {
        Condition::Is(path, wanted) => {
            at(value, path).and_then(scalar_text).is_some_and(|word| word == wanted.as_str())
        }
        Condition::Not(path, wanted) => {
            at(value, path).and_then(scalar_text).is_none_or(|word| word != wanted.as_str())
        }
        Condition::Has(path) => at(value, path).is_some(),
        Condition::Lacks(path) => at(value, path).is_none(),
    })
}

/// Reads all sources. Returns the values of those sources that have one.
pub(crate) fn read_all(meaning: &Meaning, sources: &Sources, value: &Value) -> Map<String, Value> {
    let found = |(name, source): (&String, &Source)| Some((name.clone(), read(meaning, source, value)?));
    sources.iter().filter_map(found).collect()
}

fn read(meaning: &Meaning, source: &Source, value: &Value) -> Option<Value> {
    match source {
        Source::At(path) => at(value, path).cloned(),
        Source::Is { is } => Some(is.clone()),
        Source::Read { read, of } => neutral(meaning, read, at(value, of)?),
        Source::Each { each, of } => Some(Value::Array(all(meaning, each, at(value, of)?))),
        Source::Map { map, to } => to.get(scalar_text(at(value, map)?)?.as_ref()).cloned(),
        Source::Times { times, of } => Number::from_f64(at(value, of)?.as_f64()? * times).map(Value::Number),
        Source::Text { text } => scalar_text(at(value, text)?).map(|word| Value::from(word.as_ref())),
        Source::Count { count } => at(value, count)?.as_array().map(|items| items.len().into()),
        Source::First { first } => first.iter().find_map(|source| read(meaning, source, value)),
        Source::Join { join } => {
            let lists = join.iter().filter_map(|source| match read(meaning, source, value)? {
                Value::Array(items) => Some(items),
                _ => None,
            });
            Some(Value::Array(lists.flatten().collect()))
        }
    }
}

fn all(meaning: &Meaning, reader: &str, value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items.iter().filter_map(|item| neutral(meaning, reader, item)).collect(),
        Value::String(text) if text.is_empty() => Vec::new(),
        value => neutral(meaning, reader, value).into_iter().collect(),
    }
}

fn neutral(meaning: &Meaning, name: &str, value: &Value) -> Option<Value> {
    if value.is_null() {
        return None;
    }
    let case = case_of(meaning.readers.get(name)?, value)?;
    Some(Value::Object(read_all(meaning, &case.gives, value)))
}

fn case_of<'m>(reader: &'m Reader, value: &Value) -> Option<&'m Case> {
    let kind = match value {
        Value::String(_) => Some(Cow::Borrowed(STRING)),
        _ if reader.tag.is_empty() => Some(Cow::Borrowed(OTHER)),
        value => at(value, &reader.tag).and_then(scalar_text),
    };
    let fits = |wanted: &str| reader.cases.iter().find(|case| case.tag == wanted && holds(&case.when, value));
    kind.and_then(|kind| fits(&kind)).or_else(|| fits(OTHER))
}

/// Returns a value as the text that tables use, or `None` for objects and lists.
fn scalar_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Bool(flag) => Some(Cow::Borrowed(if *flag { "true" } else { "false" })),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        _ => None,
    }
}
