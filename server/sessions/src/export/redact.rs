//! Removal of keys from a session before it becomes HTML.

use std::borrow::Cow;

use agentese::redact::{REDACTED, holds_key, redact_text};
use memchr::memmem::Finder;
use serde_json::{Map, Value};

use super::fields::text;
use super::secret_encodings::secret_encodings;

/// The texts to find: every secret, and its encodings in URLs, JSON and base64.
pub(super) struct Secrets(Vec<Finder<'static>>);

impl Secrets {
    pub fn of(secrets: &[String]) -> Self {
        let mut forms: Vec<String> = secrets.iter().flat_map(|secret| secret_encodings(secret)).collect();
        // A form that contains another form precedes it.
        forms.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        forms.dedup();
        Self(forms.iter().map(|form| Finder::new(form.as_bytes()).into_owned()).collect())
    }
}

/// Replaces `secrets` and well-known keys in a text.
pub(super) fn redacted_text<'a>(text: &'a str, secrets: &Secrets) -> Cow<'a, str> {
    // The secrets come first: a match of a well-known key may end in the middle of a secret.
    let mut text = Cow::Borrowed(text);
    for finder in &secrets.0 {
        if finder.find(text.as_bytes()).is_some() {
            let form = String::from_utf8_lossy(finder.needle());
            text = Cow::Owned(text.replace(&*form, REDACTED));
        }
    }
    match text {
        Cow::Borrowed(text) => redact_text(text),
        Cow::Owned(text) => Cow::Owned(redact_text(&text).into_owned()),
    }
}

/// Replaces secrets in all texts of a value. If the name of a member shows that its value is a key, the whole
/// value is replaced. A value without secrets is borrowed, so that entries with large images are not copied.
pub(super) fn redacted<'a>(value: &'a Value, secrets: &Secrets) -> Cow<'a, Value> {
    changed(value, false, secrets).map_or(Cow::Borrowed(value), Cow::Owned)
}

/// Returns the value with secrets replaced, or `None` if it has no secrets.
fn changed(value: &Value, is_key: bool, secrets: &Secrets) -> Option<Value> {
    match value {
        Value::String(text) if is_key && !text.is_empty() => Some(Value::from(REDACTED)),
        Value::String(text) => match redacted_text(text, secrets) {
            Cow::Borrowed(_) => None,
            Cow::Owned(text) => Some(Value::from(text)),
        },
        Value::Array(items) => {
            let new: Vec<_> = items.iter().map(|item| changed(item, is_key, secrets)).collect();
            new.iter()
                .any(Option::is_some)
                .then(|| items.iter().zip(new).map(|(old, new)| new.unwrap_or_else(|| old.clone())).collect())
        }
        Value::Object(members) => {
            // Base64 text may resemble a key.
            let is_image = text(value, "type") == "image";
            let mut different = false;
            let new: Vec<_> = members
                .iter()
                .map(|(name, member)| {
                    let new_member = match is_image && name == "data" {
                        true => None,
                        false => changed(member, holds_key(name), secrets),
                    };
                    let new_name = redacted_text(name, secrets);
                    different |= new_member.is_some() || matches!(new_name, Cow::Owned(_));
                    (new_name, new_member)
                })
                .collect();
            different.then(|| {
                let pairs = members.values().zip(new);
                let pair = |(old, (name, new)): (&Value, (Cow<str>, Option<Value>))| {
                    (name.into_owned(), new.unwrap_or_else(|| old.clone()))
                };
                Value::Object(pairs.map(pair).collect::<Map<_, _>>())
            })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fm_f118_keys_are_replaced_everywhere() {
        let key = "sk-ant-0123456789abcdefghij";
        let secrets = Secrets::of(&["own-secret".to_owned(), String::new()]);
        let value = json!({
            "text": format!("first\n{key}\nlast own-secret"),
            "arguments": {"api_key": "abc", "nested": [{"password": ["a", ""]}, key], "tokens": 3, key: 1},
            "kept": "task-force-of-twenty-people",
        });
        assert_eq!(
            *redacted(&value, &secrets),
            json!({
                "text": "first\n[redacted]\nlast [redacted]",
                "arguments": {"api_key": "[redacted]", "nested": [{"password": ["[redacted]", ""]}, "[redacted]"],
                              "tokens": 3, "[redacted]": 1},
                "kept": "task-force-of-twenty-people",
            })
        );
    }

    #[test]
    fn images_and_harmless_values_are_left_alone() {
        let value = json!([{"type": "image", "data": "AKIA0123456789ABCDEFGHIJ"}, {"text": "x"}]);
        assert!(matches!(redacted(&value, &Secrets::of(&[])), Cow::Borrowed(_)));
    }
}
