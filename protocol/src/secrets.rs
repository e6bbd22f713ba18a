//! The recognition of keys: names of members that hold them, and the shapes of well-known keys.
//!
//! Clients replace keys that match these tables before a frame reaches an observer, the report about the end of a
//! connection, or a log. The tables of all languages are generated from these. `conformance/vectors/redaction.json`
//! shows the expected results.

/// The replacement for a key.
pub const REDACTED: &str = "[redacted]";

/// Names of members whose values are keys, in lower case, with letters and digits only.
///
/// A member holds a key if its normalized name equals an entry, or ends with an entry of at least [`SUFFIX_LENGTH`]
/// characters: `x-api-key`, `anthropicApiKey`. The strings in its value are replaced, including those in arrays and
/// objects.
pub const MEMBERS: &[&str] = &[
    "accesskey",
    "accesstoken",
    "apikey",
    "apikeys",
    "apitoken",
    "authorization",
    "authtoken",
    "bearer",
    "bearertoken",
    "clientsecret",
    "cookie",
    "cookies",
    "copilottoken",
    "credential",
    "credentials",
    "encryptionkey",
    "githubtoken",
    "idtoken",
    "jwt",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "refreshtoken",
    "secret",
    "secretkey",
    "secrets",
    "sessiontoken",
    "signingkey",
    "token",
];

/// Minimum length of an entry of [`MEMBERS`] that also matches the end of a longer name. The entry `token` is shorter,
/// so `maxToken` holds no key.
pub const SUFFIX_LENGTH: usize = 6;

/// The shape of a well-known key.
///
/// A key starts with `prefix`, not preceded by an ASCII letter or digit. It continues with at least `rest` ASCII
/// letters, digits, `-`, `_` and characters of `also`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyShape {
    /// Description of the key.
    pub name: &'static str,
    /// Start of the key.
    pub prefix: &'static str,
    /// Minimum number of characters after the prefix.
    pub rest: usize,
    /// Characters that are allowed in addition to letters, digits, `-` and `_`.
    pub also: &'static str,
    /// `true` if the prefix is not part of the key. Such a prefix is preserved, and matched in upper and lower case.
    pub scheme: bool,
}

const fn key(name: &'static str, prefix: &'static str, rest: usize) -> KeyShape {
    KeyShape { name, prefix, rest, also: "", scheme: false }
}

const fn scheme(name: &'static str, prefix: &'static str, rest: usize) -> KeyShape {
    KeyShape { name, prefix, rest, also: "._~+/=", scheme: true }
}

/// Events that can carry a key in any member. Clients keep only the type of such an event and discard its other members
/// on arrival.
pub const SECRET_EVENTS: &[&str] = &["before_provider_request"];

/// Members that hold the event in frames with an envelope: `event`, or `params` of a notification. `event` is also the
/// `type` of its frame.
pub const ENVELOPES: &[&str] = &["event", "params"];

/// The shapes of well-known keys, which are replaced at any position of a text.
pub const KEYS: &[KeyShape] = &[
    key("a key of a model API", "sk-", 17),
    key("a key of Stripe", "sk_live_", 12),
    key("a key of Stripe", "rk_live_", 12),
    key("a token of GitHub", "ghp_", 16),
    key("a token of GitHub", "gho_", 16),
    key("a token of GitHub", "ghu_", 16),
    key("a token of GitHub", "ghs_", 16),
    key("a token of GitHub", "ghr_", 16),
    key("a token of GitHub", "github_pat_", 9),
    key("a token of GitLab", "glpat-", 14),
    key("a token of npm", "npm_", 30),
    key("a token of PyPI", "pypi-AgE", 16),
    key("a key of Google", "AIza", 16),
    key("an access token of Google", "ya29.", 15),
    key("a token of Slack", "xoxa-", 10),
    key("a token of Slack", "xoxb-", 10),
    key("a token of Slack", "xoxe-", 10),
    key("a token of Slack", "xoxe.", 10),
    key("a token of Slack", "xoxp-", 10),
    key("a token of Slack", "xoxr-", 10),
    key("a token of Slack", "xoxs-", 10),
    key("a key of AWS", "AKIA", 16),
    key("a key of AWS", "ASIA", 16),
    key("a key of Groq", "gsk_", 16),
    key("a key of xAI", "xai-", 16),
    key("a token of Hugging Face", "hf_", 30),
    key("a token of Replicate", "r8_", 30),
    key("a key of Perplexity", "pplx-", 30),
    scheme("the token of an authorization header", "Bearer ", 16),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_written_as_they_are_read() {
        for member in MEMBERS {
            assert!(member.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()), "{member}");
        }
        assert!(MEMBERS.is_sorted(), "the members are sorted");
        for shape in KEYS {
            assert!(shape.prefix.starts_with(|c: char| c.is_ascii_alphanumeric()), "{}", shape.prefix);
            assert!(shape.rest >= 9, "{} would match ordinary text", shape.prefix);
            assert!(shape.also.is_ascii() && !shape.also.contains(['"', '\\']), "{}", shape.prefix);
        }
        let prefixes: std::collections::BTreeSet<_> = KEYS.iter().map(|shape| shape.prefix).collect();
        assert_eq!(prefixes.len(), KEYS.len(), "each prefix occurs once");
    }

    /// Of all declared members, only those that hold keys match an entry of [`MEMBERS`].
    #[test]
    fn no_declared_member_but_those_with_keys_is_hidden() {
        let plain = |name: &str| -> String {
            name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
        };
        let mut hidden = std::collections::BTreeSet::new();
        for index in crate::Index::all() {
            for def in index.types.values() {
                let crate::model::Shape::Record { fields, .. } = def.shape else { continue };
                for field in fields {
                    let name = plain(field.name);
                    let is_key = MEMBERS.iter().any(|member| {
                        name == *member || (member.len() >= SUFFIX_LENGTH && name.ends_with(member))
                    });
                    if is_key {
                        hidden.insert(field.name);
                    }
                }
            }
        }
        assert_eq!(hidden.into_iter().collect::<Vec<_>>(), ["api_key"]);
    }
}
