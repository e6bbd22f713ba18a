//! Taking keys out of text before anybody sees it.

use std::borrow::Cow;

/// What stands in place of a key.
pub const REDACTED: &str = "[redacted]";

/// Members whose values are keys, in lower case and without separators.
const SECRET_MEMBERS: &[&str] = &[
    "apikey",
    "authorization",
    "accesstoken",
    "refreshtoken",
    "githubtoken",
    "copilottoken",
    "password",
    "secret",
    "token",
    "xapikey",
];

/// Beginnings of well-known keys.
const SECRET_PREFIXES: &[&str] = &[
    "sk-",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "github_pat_",
    "AIza",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "gsk_",
    "xai-",
    "hf_",
];

/// How long a word has to be to be a key.
const SHORTEST_KEY: usize = 20;

/// The frame with the values of members that hold keys, and words that look like keys, replaced.
/// Borrowed where nothing had to be replaced.
pub fn redact(frame: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    // Whether the value that is read belongs to a member that holds a key, and stands in an array.
    let (mut secret, mut in_array) = (false, false);
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
                    (secret, in_array) = (holds_key(text), false);
                    at = after + 1;
                    continue;
                }
                let replacement = match secret && !text.is_empty() {
                    true => Some(REDACTED.to_owned()),
                    false => without_keys(text, true),
                };
                if let Some(replacement) = replacement {
                    out.push_str(&frame[copied..start]);
                    out.push_str(&replacement);
                    copied = end;
                }
                secret &= in_array;
                at = end + 1;
            }
            b'[' => {
                in_array = true;
                at += 1;
            }
            b',' => {
                secret &= in_array;
                at += 1;
            }
            b'{' | b'}' | b']' => {
                (secret, in_array) = (false, false);
                at += 1;
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(frame);
    }
    out.push_str(&frame[copied..]);
    Cow::Owned(out)
}

/// The text with the words that look like keys replaced. Borrowed where nothing had to be replaced.
///
/// The text is plain, without the escapes of JSON; see [`redact`] for frames.
pub fn redact_text(text: &str) -> Cow<'_, str> {
    without_keys(text, false).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// A string with the keys in it replaced; none where there are none. In escaped text, the letter of an escape is no
/// part of the word behind it.
fn without_keys(text: &str, escaped: bool) -> Option<String> {
    let is_key_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let mut out = String::new();
    let mut copied = 0;
    for prefix in SECRET_PREFIXES {
        // Most strings hold none of them.
        if !text.contains(prefix) {
            continue;
        }
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let length = bytes[at..].iter().take_while(|byte| is_key_byte(**byte)).count();
            let word = &text[at..at + length];
            if length >= SHORTEST_KEY && SECRET_PREFIXES.iter().any(|prefix| word.starts_with(prefix)) {
                out.push_str(&text[copied..at]);
                out.push_str(REDACTED);
                copied = at + length;
            }
            at += length;
            at += match &bytes[at..] {
                [b'\\', b'u', rest @ ..] if escaped => {
                    2 + rest.iter().take(4).take_while(|byte| byte.is_ascii_hexdigit()).count()
                }
                [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] if escaped => 2,
                // On to the next character: the text is cut at character boundaries only.
                _ => text[at..].chars().next().map_or(0, char::len_utf8),
            };
        }
        break;
    }
    (copied > 0).then(|| out + &text[copied..])
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

/// Whether a member of that name holds a key, by what names of such members look like.
pub fn holds_key(name: &str) -> bool {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    SECRET_MEMBERS.iter().any(|member| plain == *member || (member.len() >= 6 && plain.ends_with(member)))
}

#[cfg(test)]
mod tests {
    use super::*;

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
