//! Parts of a request that not every server takes, and how a refusal names them.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use agentese::types::Model;
use serde_json::Value;

/// A part of a request that can be sent in another form, or left out.
#[derive(Debug)]
pub(crate) struct Form {
    /// Its name.
    pub name: &'static str,
    /// The words by which servers name it.
    pub words: &'static [&'static str],
    /// Words of a refusal that is about the value of the part and not about the part.
    pub except: &'static [&'static str],
}

impl Form {
    /// A part that servers name by these words.
    pub const fn new(name: &'static str, words: &'static [&'static str]) -> Self {
        Self { name, words, except: &[] }
    }

    /// Returns the same part, which is not meant by refusals that contain one of these lower-case texts.
    pub const fn except(self, except: &'static [&'static str]) -> Self {
        Self { except, ..self }
    }
}

/// The parts that a server is sent in their other form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OtherForms(BTreeSet<&'static str>);

impl OtherForms {
    /// Returns true if that part is sent in its other form.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Returns a flag of that part, turned around if the part is sent in its other form.
    pub fn turned(&self, name: &str, flag: bool) -> bool {
        flag != self.has(name)
    }

    /// Adds the parts of a format that a refusal names. Returns `None` if it names no new part, so that each changes at most
    /// once. `body` is the body of the refusal, `text` its message.
    pub fn with_named(&self, forms: &[Form], body: &str, text: &str) -> Option<Self> {
        let named = |text: &str| -> Vec<&Form> {
            forms.iter().filter(|form| form.words.iter().any(|word| has_word(text, word))).collect()
        };
        // A server that names the part in a member of its own may repeat the whole request in the message.
        let places = serde_json::from_str(body).map(|body| places(&body)).unwrap_or_default();
        let mut found: Vec<&Form> = places.iter().flat_map(|place| named(place)).collect();
        if found.is_empty() {
            found = named(text);
        }
        let text = text.to_lowercase();
        found.retain(|form| !form.except.iter().any(|word| text.contains(word)));
        let names: BTreeSet<_> = found.into_iter().map(|form| form.name).collect();
        (!names.is_subset(&self.0)).then(|| Self(&self.0 | &names))
    }
}

/// Members in which servers put the name of what they refuse: `param` of OpenAI, `loc` of servers in Python.
const PLACES: &[&str] = &["param", "loc"];

/// Returns the names that a refusal has in members of their own.
fn places(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(places).collect(),
        Value::Object(members) => {
            let mut found = Vec::new();
            for (name, value) in members {
                match value {
                    Value::String(text) if PLACES.contains(&name.as_str()) => found.push(text.clone()),
                    Value::Array(parts) if PLACES.contains(&name.as_str()) => {
                        let parts = parts
                            .iter()
                            .map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned));
                        found.push(parts.collect::<Vec<_>>().join("."));
                    }
                    value => found.extend(places(value)),
                }
            }
            found
        }
        _ => Vec::new(),
    }
}

/// Returns true if a word stands in a text, not as a part of a longer word.
fn has_word(text: &str, word: &str) -> bool {
    let inner = |character: char| character.is_ascii_alphanumeric() || character == '_';
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        !before.ends_with(inner) && !after.starts_with(inner)
    })
}

/// The forms in which servers take requests, by API, address and model.
#[derive(Debug, Default)]
pub(crate) struct KnownForms(Mutex<HashMap<(String, String, String), OtherForms>>);

impl KnownForms {
    pub fn of(&self, model: &Model) -> OtherForms {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&Self::key(model)).cloned().unwrap_or_default()
    }

    pub fn keep(&self, model: &Model, forms: OtherForms) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(Self::key(model), forms);
    }

    fn key(model: &Model) -> (String, String, String) {
        (model.api.clone(), model.base_url.clone(), model.id.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMS: &[Form] = &[
        Form::new("role", &["developer", "role"]),
        Form::new("store", &["store"]),
        Form::new("limit", &["max_tokens", "max_completion_tokens"]),
        Form::new("effort", &["reasoning_effort"]).except(&["value"]),
    ];

    fn named(body: &str, text: &str) -> Vec<&'static str> {
        let found = OtherForms::default().with_named(FORMS, body, text);
        found.map(|found| found.0.into_iter().collect()).unwrap_or_default()
    }

    #[test]
    fn a_part_is_named_by_a_member_or_by_the_text() {
        for (body, text, expected) in [
            ("", "400 Unexpected message role.", vec!["role"]),
            ("", "'developer' is not one of ['system', 'assistant', 'user', 'tool']", vec!["role"]),
            ("", "Unrecognized request argument supplied: store", vec!["store"]),
            ("", "Extra fields: store, max_completion_tokens", vec!["limit", "store"]),
            (r#"{"error":{"message":"no","param":"store"}}"#, "no", vec!["store"]),
            (
                r#"{"detail":[{"loc":["body","store"],"msg":"Extra inputs are not permitted","input":{"role":"x"}}]}"#,
                r#"{"detail":[{"loc":["body","store"],"input":{"role":"x"}}]}"#,
                vec!["store"],
            ),
            (r#"{"detail":[{"loc":["body","messages",0,"role"]}]}"#, "?", vec!["role"]),
            (r#"{"error":{"param":"messages","message":"x"}}"#, "store is unknown", vec!["store"]),
            ("", "reasoning_effort is not supported", vec!["effort"]),
            ("", "Unsupported value: 'reasoning_effort' does not support 'minimal'", vec![]),
            (r#"{"error":{"param":"reasoning_effort"}}"#, "Unsupported value: 'minimal'", vec![]),
            ("", "the request could not be restored; roles must alternate; max_tokens_total", vec![]),
            ("not json", "messages: bad", vec![]),
        ] {
            assert_eq!(named(body, text), expected, "{body} {text}");
        }
    }

    #[test]
    fn a_part_is_turned_around_once() {
        let first = OtherForms::default().with_named(FORMS, "", "store").unwrap();
        assert!(first.has("store") && !first.turned("store", true) && first.turned("role", true));
        assert_eq!(first.with_named(FORMS, "", "store"), None);
        let second = first.with_named(FORMS, "", "store and role").unwrap();
        assert!(second.has("store") && second.has("role"));
    }
}
