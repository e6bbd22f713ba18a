//! Search for keys in texts before the texts are stored.
//!
//! Redaction removes known keys. This search is independent of it, and finds texts with the form of a key,
//! members that hold keys, and the secrets in this process's environment.

use std::sync::LazyLock;

use regex::Regex;

/// Shortest secret to search for, in bytes. Shorter values occur in texts by chance.
const SHORTEST_SECRET: usize = 8;

/// A text that looks like a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leak {
    /// Kind of the key.
    pub kind: String,
    /// First characters of the key. The rest is never shown.
    pub beginning: String,
}

static PATTERNS: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    let table = [
        ("a key of a model provider", r"\b(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}"),
        ("a key of a model provider", r"\b(?:gsk_|xai-|hf_|r8_|pplx-)[A-Za-z0-9_-]{16,}"),
        ("a GitHub token", r"\b(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{16,}"),
        ("a Google key", r"\bAIza[A-Za-z0-9_-]{20,}"),
        ("an AWS key", r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}"),
        ("a Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
        ("a JSON web token", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
        ("an authorization header", r"(?i)\bbearer\s+[A-Za-z0-9._~+/-]{16,}"),
        ("a private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
        ("a password in an address", r"\b[a-z][a-z0-9+.-]*://[^\s/:@]+:[^\s/@]{4,}@"),
    ];
    // A test compiles every expression, so all are used here.
    table.iter().filter_map(|(kind, pattern)| Some((*kind, Regex::new(pattern).ok()?))).collect()
});

/// Matches a member whose value is a key, in JSON and in JSON within JSON strings.
static MEMBER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = "api_?key|authorization|(?:access|refresh|auth|github|copilot|id)_?token|client_?secret|password|secret";
    Regex::new(&format!(r#"(?i)\\*"(?:[\w-]*[_-])?(?:{names})\\*"\s*:\s*\\*"([^"\\]{{8,}})"#)).ok()
});

/// Returns the texts that look like keys.
pub fn leaks(text: &str) -> Vec<Leak> {
    let mut found: Vec<Leak> = Vec::new();
    for (kind, pattern) in PATTERNS.iter() {
        found.extend(pattern.find_iter(text).map(|word| leak(kind, word.as_str())));
    }
    for member in MEMBER.iter().flat_map(|pattern| pattern.captures_iter(text)) {
        let value = member.get(1).map_or("", |value| value.as_str());
        let is_mask = value.bytes().all(|byte| byte == b'*');
        let is_replaced = value == agentese::redact::REDACTED || value.starts_with("<prose") || is_mask;
        if !is_replaced {
            found.push(leak("the value of a member with a secret name", value));
        }
    }
    found
}

/// Returns the secrets in this process's environment: values of variables whose names are typical of
/// secrets.
pub fn secrets_of_environment() -> Vec<(String, String)> {
    let named = |name: &str| {
        ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| name.to_uppercase().contains(word))
    };
    std::env::vars().filter(|(name, value)| named(name) && value.len() >= SHORTEST_SECRET).collect()
}

/// Returns the secrets that occur in the text.
pub fn known_leaks(text: &str, secrets: &[(String, String)]) -> Vec<Leak> {
    let standing = secrets.iter().filter(|(_, value)| text.contains(value.as_str()));
    standing.map(|(name, value)| leak(&format!("the value of the variable {name}"), value)).collect()
}

fn leak(kind: &str, secret: &str) -> Leak {
    Leak { kind: kind.to_owned(), beginning: secret.chars().take(6).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_look_like_keys_are_found() {
        let table = [
            ("sk-ant-api03-abcdefghijklmnop", "a key of a model provider"),
            ("x ghp_abcdefghijklmnopqrst y", "a GitHub token"),
            ("AIzaSyA-abcdefghijklmnopqrstu", "a Google key"),
            ("AKIAABCDEFGHIJKLMNOP", "an AWS key"),
            ("xoxb-1234567890-abc", "a Slack token"),
            ("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK", "a JSON web token"),
            ("Authorization: Bearer abcdefghijklmnopqrst", "an authorization header"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----", "a private key"),
            ("postgres://me:hunter22@host/db", "a password in an address"),
            (r#"{"apiKey":"averysecretvalue"}"#, "the value of a member with a secret name"),
            (
                r#"{"out":"{\"x-api_key\": \"averysecretvalue\"}"}"#,
                "the value of a member with a secret name",
            ),
        ];
        for (text, kind) in table {
            assert_eq!(leaks(text).first().map(|leak| leak.kind.as_str()), Some(kind), "{text}");
        }
        assert_eq!(PATTERNS.len(), 10);
    }

    #[test]
    fn redacted_and_ordinary_texts_are_not_reported() {
        for text in [
            r#"{"apiKey":"[redacted]","tokens":{"input":12345678}}"#,
            "the sk-learn package, task-1234567890123456, 3f2a9c70-5b1e-4a53-9a35-0f2f6a0c1b2d",
            "http://127.0.0.1:4010/v1 and user@example.invalid",
            r#"{"openai_api_key":"********"}"#,
            r#"{"type":"thinking","signature":"c2lnbmF0dXJlLW9mLXRoaW5raW5n"}"#,
        ] {
            assert_eq!(leaks(text), [], "{text}");
        }
        for dialect in ["omp", "opal"] {
            for (name, transcript) in crate::transcript::recorded(dialect).unwrap() {
                for line in transcript.received().take(25) {
                    // The case sets this fake key and reads it back.
                    let line = line.as_str().replace("sk-ant-fake", "");
                    assert_eq!(leaks(&line), [], "{name}");
                }
            }
        }
    }

    #[test]
    fn known_secrets_are_found_by_their_value() {
        let secrets = [("MY_TOKEN".to_owned(), "tooth-and-nail".to_owned())];
        let found = known_leaks(r#"{"text":"it is tooth-and-nail"}"#, &secrets);
        assert_eq!(found[0].kind, "the value of the variable MY_TOKEN");
        assert_eq!(found[0].beginning, "tooth-");
    }
}
