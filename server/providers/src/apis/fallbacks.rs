//! Parts of a request that some servers reject, and detection of these parts in error messages.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use agentese::types::Model;
use serde_json::Value;

/// A part of a request that has an alternative form or can be left out.
#[derive(Debug)]
pub(crate) struct Fallback {
    /// Name of the part.
    pub name: &'static str,
    /// Names of the part that servers use in error messages about it.
    pub refusal_names: &'static [&'static str],
    /// Texts in error messages that reject the value of the part instead of the part itself.
    pub except: &'static [&'static str],
}

impl Fallback {
    /// Creates a part with the names that servers use for it.
    pub const fn new(name: &'static str, refusal_names: &'static [&'static str]) -> Self {
        Self { name, refusal_names, except: &[] }
    }

    /// Adds exceptions: an error message with one of these lower-case texts does not reject the part.
    pub const fn except(self, except: &'static [&'static str]) -> Self {
        Self { except, ..self }
    }
}

/// The parts that a server receives in their alternative form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ActiveFallbacks(BTreeSet<&'static str>);

impl ActiveFallbacks {
    /// Returns true if the part is sent in its alternative form.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Returns `flag`, inverted if the part is sent in its alternative form.
    pub fn apply(&self, name: &str, flag: bool) -> bool {
        flag != self.has(name)
    }

    /// Adds the parts that an error response rejects. Returns `None` if it names no further part, so each part changes
    /// at most once. `body` is the body of the response, `text` its message.
    pub fn with_refused(&self, fallbacks: &[Fallback], body: &str, text: &str) -> Option<Self> {
        let named = |text: &str, is_named: fn(&str, &str) -> bool| -> Vec<&Fallback> {
            fallbacks
                .iter()
                .filter(|form| form.refusal_names.iter().any(|word| is_named(text, word)))
                .collect()
        };
        // A server that names the part in a separate member may repeat the whole request in the message.
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let mut found: Vec<&Fallback> = places(&body).iter().flat_map(|text| named(text, has_word)).collect();
        if found.is_empty() {
            found = named(text, if is_of_parameters(&body) { has_word } else { is_refused });
        }
        let text = text.to_lowercase();
        found.retain(|form| !form.except.iter().any(|word| text.contains(word)));
        let names: BTreeSet<_> = found.into_iter().map(|form| form.name).collect();
        (!names.is_subset(&self.0)).then(|| Self(&self.0 | &names))
    }
}

/// Members of an error response that contain the name of the rejected part: `param` at OpenAI, `loc` at servers written
/// in Python.
const NAME_MEMBERS: &[&str] = &["param", "loc"];

/// Returns the names of the request parts that an error response contains in [`NAME_MEMBERS`].
fn places(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(places).collect(),
        Value::Object(members) => {
            let mut found = Vec::new();
            for (name, value) in members {
                match value {
                    Value::String(text) if NAME_MEMBERS.contains(&name.as_str()) => found.push(text.clone()),
                    Value::Array(parts) if NAME_MEMBERS.contains(&name.as_str()) => {
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

/// Returns true if the code of an error response states that a parameter was rejected.
fn is_of_parameters(body: &Value) -> bool {
    let code = body.pointer("/error/code").or_else(|| body.get("code")).and_then(Value::as_str);
    code.is_some_and(|code| ["parameter", "field", "argument"].iter().any(|word| code.contains(word)))
}

/// Returns true if a text contains a word on its own, not within a longer word.
fn has_word(text: &str, word: &str) -> bool {
    occurrences(text, word).next().is_some()
}

/// Returns the text before and the text after each occurrence of a word. Occurrences within longer words are skipped.
fn occurrences<'a>(text: &'a str, word: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let inner = |character: char| character.is_ascii_alphanumeric() || character == '_';
    text.match_indices(word)
        .map(|(at, found)| (&text[..at], &text[at + found.len()..]))
        .filter(move |(before, after)| !before.ends_with(inner) && !after.starts_with(inner))
}

/// Words that precede the name of a rejected part in a message, directly or at a small distance.
const PRECEDING_WORDS: &[&str] = &[
    "parameter",
    "parameters",
    "field",
    "fields",
    "argument",
    "arguments",
    "property",
    "properties",
    "unknown",
    "unsupported",
    "unrecognized",
    "unrecognised",
    "unexpected",
    "unpermitted",
    "extra",
    "invalid",
    "support",
];

/// Nouns that may occur between the name of a part and the verb that rejects it.
const NOUNS: &[&str] = &[
    "parameter",
    "field",
    "argument",
    "property",
    "option",
    "input",
    "value",
    "mode",
    "role",
    "roles",
    "message",
    "messages",
    "thinking",
    "content",
];

/// Words that follow the name of a rejected part in a message.
const FOLLOWING_WORDS: &[&str] = &[
    "unknown",
    "unsupported",
    "unrecognized",
    "unrecognised",
    "unexpected",
    "invalid",
    "extra input",
    "not supported",
    "not permitted",
    "not allowed",
    "not known",
    "not recognized",
    "not recognised",
    "not valid",
    "not a valid",
    "not one of",
    "not enabled",
    "not accepted",
    "not expected",
    "not available",
];

/// Returns true if a text rejects the part with the name `word`. An ordinary word must be recognizable as a name,
/// because it may occur in any sentence.
fn is_refused(text: &str, word: &str) -> bool {
    let is_ordinary = word.bytes().all(|byte| byte.is_ascii_lowercase());
    occurrences(text, word).any(|(before, after)| !is_ordinary || is_marked(before, after))
}

fn is_marked(before: &str, after: &str) -> bool {
    is_quoted(before, after) || is_in_path(before, after) || is_announced(before) || is_followed(after)
}

/// Returns true if the word between `before` and `after` is in quotes and is not a member of JSON text.
fn is_quoted(before: &str, after: &str) -> bool {
    let is_member = before.ends_with(":\"") || after.starts_with("\":");
    let quotes = [('\'', '\''), ('"', '"'), ('`', '`'), ('\u{2018}', '\u{2019}'), ('\u{201c}', '\u{201d}')];
    !is_member && quotes.iter().any(|(open, close)| before.ends_with(*open) && after.starts_with(*close))
}

/// Returns true if the word between `before` and `after` is a part of a path, as in `tools.0.strict` or
/// `messages[0].role`.
fn is_in_path(before: &str, after: &str) -> bool {
    let goes_on =
        after.strip_prefix('.').is_some_and(|rest| rest.starts_with(|next: char| next.is_alphanumeric()));
    // The address of a page is no path.
    let is_address =
        before.rsplit(char::is_whitespace).next().is_some_and(|token| token.contains(['/', '@']));
    !is_address && (before.ends_with(['.', ']']) || goes_on || after.starts_with('['))
}

/// Returns true if the text before a name announces it: directly, at a distance of at most two words, or before a list
/// of names.
fn is_announced(before: &str) -> bool {
    let sentence = before.rsplit(['\n', ';']).next().unwrap_or(before);
    let sentence = sentence.rsplit(". ").next().unwrap_or(sentence).to_lowercase();
    let (head, list) = sentence.rsplit_once(':').unwrap_or((&sentence, ""));
    let letters = |word: &str| word.trim_matches(|character: char| !character.is_alphanumeric()).to_owned();
    let near = |text: &str| text.split_whitespace().rev().take(3).map(letters).collect::<Vec<_>>();
    let introduces = |words: &[String]| {
        let at = words.iter().position(|word| PRECEDING_WORDS.contains(&word.as_str()));
        // The word `support` alone means a help desk or a feature of a model.
        at.is_some_and(|at| words[at] != "support" || words.get(at + 1).is_some_and(|word| word == "not"))
    };
    let is_list = list.split_whitespace().all(|word| word.ends_with(',') || word == "and");
    introduces(&near(&sentence)) || (is_list && introduces(&near(head)))
}

/// Returns true if the text after a name states that the part is rejected.
fn is_followed(after: &str) -> bool {
    let mut rest = after.trim_start_matches([':', ',', ' ', ')']).to_lowercase();
    for _ in 0..2 {
        let noun = NOUNS.iter().find_map(|noun| rest.strip_prefix(noun)?.strip_prefix(' '));
        if let Some(behind) = noun {
            rest = behind.to_owned();
        }
    }
    let rest = ["is ", "are "].iter().find_map(|verb| rest.strip_prefix(verb)).unwrap_or(&rest);
    FOLLOWING_WORDS.iter().any(|words| rest.starts_with(words))
}

/// Accepted forms of requests for each API, address and model.
#[derive(Debug, Default)]
pub(crate) struct FallbackCache(Mutex<HashMap<(String, String, String), ActiveFallbacks>>);

impl FallbackCache {
    pub fn get(&self, model: &Model) -> ActiveFallbacks {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&Self::key(model)).cloned().unwrap_or_default()
    }

    pub fn insert(&self, model: &Model, fallbacks: ActiveFallbacks) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(Self::key(model), fallbacks);
    }

    fn key(model: &Model) -> (String, String, String) {
        (model.api.clone(), model.base_url.clone(), model.id.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FALLBACKS: &[Fallback] = &[
        Fallback::new("role", &["developer", "role"]),
        Fallback::new("store", &["store"]),
        Fallback::new("limit", &["max_tokens", "max_completion_tokens"]),
        Fallback::new("effort", &["reasoning_effort"]).except(&["value"]),
    ];

    fn named(body: &str, text: &str) -> Vec<&'static str> {
        let found = ActiveFallbacks::default().with_refused(FALLBACKS, body, text);
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
            ("", "messages[0].role: unknown variant, expected one of", vec!["role"]),
            ("", "This model does not support store.", vec!["store"]),
            ("", "developer role is not supported", vec!["role"]),
            ("", "The developer of this app has run out of credit", vec![]),
            ("", "Unsupported plan. The developer of this app has run out of credit", vec![]),
            ("", "See https://developer.example.com/store.html or ask support: developer", vec![]),
            ("", "The role is not authorized to call this model", vec![]),
            ("", r#"{"text":"no","request":{"store":false,"messages":[{"role":"developer"}]}}"#, vec![]),
            (r#"{"error":{"code":"unknown_parameter"}}"#, "No store here", vec!["store"]),
            (r#"{"error":{"param":"reasoning_effort"}}"#, "Unsupported value: 'minimal'", vec![]),
            ("", "the request could not be restored; roles must alternate; max_tokens_total", vec![]),
            ("not json", "messages: bad", vec![]),
        ] {
            assert_eq!(named(body, text), expected, "{body} {text}");
        }
    }

    #[test]
    fn a_fallback_is_applied_once() {
        let first = ActiveFallbacks::default().with_refused(FALLBACKS, "", "unknown field: store").unwrap();
        assert!(first.has("store") && !first.apply("store", true) && first.apply("role", true));
        assert_eq!(first.with_refused(FALLBACKS, "", "`store` is unknown"), None);
        let second = first.with_refused(FALLBACKS, "", "unknown fields: store, role").unwrap();
        assert!(second.has("store") && second.has("role"));
    }
}
