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
const SECRET_PREFIXES: &[&str] =
    &["sk-", "ghp_", "gho_", "ghu_", "github_pat_", "AIza", "xoxb-", "xoxp-", "AKIA"];

/// The frame with the values of members that hold keys, and strings that look like keys, replaced.
/// Borrowed where nothing had to be replaced.
pub fn redact(frame: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut secret_member = false;
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
                    secret_member = is_secret_member(text);
                    at = after + 1;
                    continue;
                }
                if !text.is_empty() && (secret_member || looks_like_key(text)) {
                    out.push_str(&frame[copied..start]);
                    out.push_str(REDACTED);
                    copied = end;
                }
                secret_member = false;
                at = end + 1;
            }
            b' ' | b'\t' => at += 1,
            b'{' | b'[' | b',' | b'}' | b']' => {
                secret_member = false;
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

fn is_secret_member(name: &str) -> bool {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    SECRET_MEMBERS.iter().any(|member| plain == *member || (member.len() >= 6 && plain.ends_with(member)))
}

fn looks_like_key(text: &str) -> bool {
    text.len() >= 20
        && SECRET_PREFIXES.iter().any(|prefix| text.starts_with(prefix))
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
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
        let plain = r#"{"text":"sk-short, and a sentence that goes on"}"#;
        assert!(matches!(redact(plain), Cow::Borrowed(_)));
    }

    #[test]
    fn broken_text_is_no_trouble() {
        for text in ["", "\"", "{\"apiKey\":\"", "{\"apiKey\":\"x\\", "\\\\\"", "{\"token\""] {
            let _ = redact(text);
        }
    }
}
