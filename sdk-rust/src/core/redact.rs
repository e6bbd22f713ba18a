//! Redaction of API keys in text, before a tap or a log receives the text.
//!
//! The shapes of keys are declared: [`generated::secrets`](crate::generated::secrets).

mod payload;
use std::borrow::Cow;

pub use payload::strip_payload;
pub(crate) use payload::{may_have_secret_payload, strip_payload_by_outline};

pub use crate::generated::secrets::REDACTED;
use crate::generated::secrets::{KEYS, MEMBERS, SUFFIX_LENGTH};

/// Pattern of a well-known kind of key. The key begins with `prefix`, which does not follow an ASCII letter or
/// digit. At least `rest` characters follow: ASCII letters, digits, `-`, `_` and the characters in `also`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyShape {
    /// Beginning of the key.
    pub prefix: &'static str,
    /// Minimum number of characters after the prefix.
    pub rest: usize,
    /// Further characters that may occur after the prefix, besides letters, digits, `-` and `_`.
    pub also: &'static str,
    /// `true` if the prefix is not part of the key. It then stays in the text, and its case does not matter.
    pub scheme: bool,
}

/// Table of the bytes with which key prefixes begin. For most positions of a text, one look-up shows that no
/// key begins there.
static KEY_FIRST_BYTES: [bool; 256] = {
    let mut first = [false; 256];
    let mut at = 0;
    while at < KEYS.len() {
        let byte = KEYS[at].prefix.as_bytes()[0];
        first[byte as usize] = true;
        if KEYS[at].scheme {
            first[byte.to_ascii_lowercase() as usize] = true;
            first[byte.to_ascii_uppercase() as usize] = true;
        }
        at += 1;
    }
    first
};

/// Properties of a text that affect the search for keys.
#[derive(Debug, Clone, Copy)]
struct SearchOptions {
    /// `true` for the content of a JSON string: the letter of an escape is no part of the following key.
    escaped: bool,
    /// `true` if the end of the text was cut off. A shorter text after a prefix then suffices for a key at the
    /// end.
    cut: bool,
}

/// Replaces the strings of members that contain keys, and texts that look like keys. Returns the same frame if
/// nothing is replaced.
pub fn redact(frame: &str) -> Cow<'_, str> {
    redact_frame(frame, false)
}

/// Works like [`redact`], for a frame of which only the beginning is known.
pub(crate) fn redact_beginning(frame: &str) -> Cow<'_, str> {
    redact_frame(frame, true)
}

fn redact_frame(frame: &str, cut: bool) -> Cow<'_, str> {
    if let Some(shown) = strip_payload(frame) {
        return Cow::Owned(shown);
    }
    let mut out = String::new();
    let mut copied = 0;
    // `is_next`: the next value belongs to a key member. `depth`: nesting inside such a value.
    let (mut is_next, mut depth) = (false, 0usize);
    let bytes = frame.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let start = at + 1;
                let end = string_end(bytes, start);
                let text = frame.get(start..end).unwrap_or_default();
                let after = skip_space(bytes, end + 1);
                if bytes.get(after) == Some(&b':') {
                    is_next = holds_key(&unescaped(text));
                    at = after + 1;
                    continue;
                }
                let replacement = match (is_next || depth > 0) && !text.is_empty() {
                    true => Some(REDACTED.to_owned()),
                    false => string_without_keys(text, cut && end == bytes.len()),
                };
                if let Some(replacement) = replacement {
                    out.push_str(&frame[copied..start]);
                    out.push_str(&replacement);
                    copied = end;
                }
                is_next = false;
                at = end + 1;
                continue;
            }
            b'[' | b'{' => {
                depth += usize::from(is_next || depth > 0);
                is_next = false;
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => is_next = false,
            _ => {}
        }
        at += 1;
    }
    if copied == 0 {
        return Cow::Borrowed(frame);
    }
    out.push_str(&frame[copied..]);
    Cow::Owned(out)
}

/// Replaces parts of the text that look like keys. Returns the same text if nothing is replaced.
///
/// The text is plain, without the escapes of JSON; see [`redact`] for frames.
pub fn redact_text(text: &str) -> Cow<'_, str> {
    without_keys(text, SearchOptions { escaped: false, cut: false }).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Redacts the raw content of a JSON string, or returns `None` if it contains no keys. If escapes are part of a
/// key, the whole string is replaced.
fn string_without_keys(text: &str, cut: bool) -> Option<String> {
    let shown = without_keys(text, SearchOptions { escaped: true, cut });
    if memchr::memchr(b'\\', text.as_bytes()).is_none() {
        return shown;
    }
    match without_keys(&unescaped(text), SearchOptions { escaped: false, cut }) {
        Some(expected) if unescaped(shown.as_deref().unwrap_or(text)) != expected => {
            Some(REDACTED.to_owned())
        }
        _ => shown,
    }
}

/// Resolves the escapes of a string. An invalid escape is replaced by the letter after the backslash.
fn unescaped(text: &str) -> Cow<'_, str> {
    let Some(mut at) = text.find('\\') else { return Cow::Borrowed(text) };
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        plain.push_str(&rest[..at]);
        let mut letters = rest[at + 1..].chars();
        let letter = letters.next();
        rest = letters.as_str();
        match letter {
            Some('u') => {
                let digits = rest.bytes().take(4).take_while(u8::is_ascii_hexdigit).count();
                let (code, after) = rest.split_at(digits);
                if digits == 4 {
                    let code = u32::from_str_radix(code, 16).ok().and_then(char::from_u32);
                    plain.push(code.unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                rest = after;
            }
            Some('b') => plain.push('\u{8}'),
            Some('f') => plain.push('\u{c}'),
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('t') => plain.push('\t'),
            letter => plain.extend(letter),
        }
        let Some(next) = rest.find('\\') else { break };
        at = next;
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// Returns the string with its keys replaced, or `None` if it contains no keys.
fn without_keys(text: &str, options: SearchOptions) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    let mut at_word = true;
    while let Some(&byte) = bytes.get(at) {
        if at_word
            && KEY_FIRST_BYTES[usize::from(byte)]
            && let Some((start, end)) = key_at(bytes, at, options.cut)
        {
            out.push_str(&text[copied..start]);
            out.push_str(REDACTED);
            (copied, at, at_word) = (end, end, false);
        } else if options.escaped && byte == b'\\' {
            at += if bytes.get(at + 1) == Some(&b'u') { 6 } else { 2 };
            at_word = true;
        } else {
            at_word = !byte.is_ascii_alphanumeric();
            at += 1;
        }
    }
    (copied > 0).then(|| out + &text[copied..])
}

/// Returns the start and the end of the key that begins at a position, or `None` if there is no key. Both are
/// valid positions to split the text.
fn key_at(bytes: &[u8], at: usize, cut: bool) -> Option<(usize, usize)> {
    KEYS.iter().find_map(|shape| {
        let rest_at = at + shape.prefix.len();
        let found = bytes.get(at..rest_at)?;
        let is_prefix = match shape.scheme {
            true => found.eq_ignore_ascii_case(shape.prefix.as_bytes()),
            false => found == shape.prefix.as_bytes(),
        };
        if !is_prefix {
            return None;
        }
        let is_part = |byte: &u8| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'-' | b'_')
                || shape.also.as_bytes().contains(byte)
        };
        let end = rest_at + bytes[rest_at..].iter().take_while(|byte| is_part(byte)).count();
        let is_key = end - rest_at >= shape.rest || (cut && end == bytes.len() && end > rest_at);
        is_key.then_some((if shape.scheme { rest_at } else { at }, end))
    })
}

fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    at
}

/// Returns `true` if members with the given name contain keys, according to the declared names.
pub fn holds_key(name: &str) -> bool {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    MEMBERS
        .iter()
        .any(|member| plain == *member || (member.len() >= SUFFIX_LENGTH && plain.ends_with(member)))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::frame::ServerFrame;
    use crate::framing::FrameText;
    use crate::operator::Operator;
    use crate::spec::Dialect;

    /// Runs the test cases that the clients of all languages share.
    #[test]
    fn the_vectors_of_all_languages() {
        let cases: Vec<Value> =
            serde_json::from_str(include_str!("../../../conformance/vectors/redaction.json")).unwrap();
        assert!(cases.len() > 40);
        for case in cases {
            let name = &case["name"];
            let redacted = match (case["frame"].as_str(), case["text"].as_str()) {
                (Some(frame), None) if case["cut"] == true => redact_beginning(frame),
                (Some(frame), None) => redact(frame),
                (None, Some(text)) => redact_text(text),
                _ => panic!("{name} is neither a frame nor a text"),
            };
            assert_eq!(redacted, case["expect"].as_str().unwrap(), "{name}");
            if let Some(revision) = case["decoded"].as_str() {
                let spec = Operator::REVISIONS.iter().find(|spec| spec.id() == revision).unwrap();
                let frame = FrameText::from(case["frame"].as_str().unwrap());
                let decoded = ServerFrame::<Operator>::decode(&frame, |_| None).unwrap();
                let shown = (format!("{decoded:?}"), decoded.encode_in(spec).unwrap());
                assert_eq!(shown.1, case["expect"], "{name}");
                assert!(!shown.0.contains("very-pri"), "{name}: {}", shown.0);
            }
            let is_same = case["expect"] == case["frame"] || case["expect"] == case["text"];
            assert_eq!(matches!(redacted, Cow::Borrowed(_)), is_same, "{name}");
        }
    }

    #[test]
    fn values_of_secret_members() {
        let frame = r#"{"method":"auth/set_key","params":{"provider":"anthropic","api_key":"very-secret"}}"#;
        assert_eq!(redact(frame), frame.replace("very-secret", REDACTED));
        let frame = r#"{"settings":{"anthropic_api_key" : "a\"b","tokens":3,"totalTokens":4}}"#;
        assert_eq!(
            redact(frame),
            r#"{"settings":{"anthropic_api_key" : "[redacted]","tokens":3,"totalTokens":4}}"#
        );
    }

    #[test]
    fn strings_that_look_like_keys() {
        let frame = r#"{"text":"sk-ant-0123456789abcdefghij"}"#;
        assert_eq!(redact(frame), r#"{"text":"[redacted]"}"#);
        let frame = r#"{"output":"export KEY=ghp_0123456789abcdefghij; écho done","n":1}"#;
        assert_eq!(redact(frame), r#"{"output":"export KEY=[redacted]; écho done","n":1}"#);
        let frame = r#"{"authorization":["Bearer one","two"],"other":["three"]}"#;
        assert_eq!(redact(frame), r#"{"authorization":["[redacted]","[redacted]"],"other":["three"]}"#);
        let plain = r#"{"text":"sk-short, and a sentence that goes on"}"#;
        assert!(matches!(redact(plain), Cow::Borrowed(_)));
    }

    #[test]
    fn keys_behind_escapes() {
        let frame = r#"{"a":"one\nsk-ant-0123456789abcdefghij\tghp_0123456789abcdefghij","b":"\u000ask-ant-0123456789abcdefghij"}"#;
        assert_eq!(redact(frame), r#"{"a":"one\n[redacted]\t[redacted]","b":"\u000a[redacted]"}"#);
        assert_eq!(redact_text("C:\\sk-ant-0123456789abcdefghij\nx"), "C:\\[redacted]\nx");
        assert!(matches!(redact_text("a task-force of people"), Cow::Borrowed(_)));
    }

    #[test]
    fn broken_text_is_no_trouble() {
        for text in ["", "\"", "{\"apiKey\":\"", "{\"apiKey\":\"x\\", "\\\\\"", "{\"token\"", "\"sk-\\uä\""]
        {
            let _ = redact(text);
        }
    }
}
